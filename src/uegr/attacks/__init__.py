"""Attacks on text classifiers: searches for a text that means the same to a reader and something else to the model.

    from uegr.attacks import Victim, attack
    results = attack(Victim(model, tokenizer), [("a fine film", 1)], attack="pwws")
    results.summary.accuracy_after, results.outcomes[0].found

torch is imported when an attack is asked for: the surface alone stays quick.
"""

from typing import TYPE_CHECKING, Any

from uegr.attacks.surface import Surface, load_surface

if TYPE_CHECKING:
    from uegr.attacks.catalogue import ATTACKS
    from uegr.attacks.engine import AttackStopped, attack
    from uegr.attacks.outcome import Example, Outcome, Results, Summary
    from uegr.attacks.victim import Victim

__all__ = [
    "ATTACKS",
    "AttackStopped",
    "Example",
    "Outcome",
    "Results",
    "Summary",
    "Surface",
    "Victim",
    "attack",
    "load_surface",
]
HOMES = {
    "ATTACKS": "catalogue",
    "AttackStopped": "engine",
    "attack": "engine",
    "Example": "outcome",
    "Outcome": "outcome",
    "Results": "outcome",
    "Summary": "outcome",
    "Victim": "victim",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"uegr.attacks has no {name}")
    from importlib import import_module

    return getattr(import_module(f"uegr.attacks.{HOMES[name]}"), name)
