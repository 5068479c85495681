"""The one table of attacks: a name, and the frozen dataclass whose fields are its settings."""

from dataclasses import fields
from typing import Any

from uegr.attacks.checklist import CheckList
from uegr.attacks.deepwordbug import DeepWordBug
from uegr.attacks.genetic import Genetic
from uegr.attacks.pwws import PWWS
from uegr.attacks.search import Attack
from uegr.attacks.textfooler import TextFooler
from uegr.attacks.victim import Victim
from uegr.errors import InputError, did_you_mean

ATTACKS: dict[str, Any] = {
    "pwws": PWWS,
    "genetic": Genetic,
    "textfooler": TextFooler,
    "deepwordbug": DeepWordBug,
    "checklist": CheckList,
}


def make(attack: str | Attack, settings: dict[str, Any], predict: Any = None) -> Attack:
    """The attack of a name with its settings; PWWS takes the unknown word of a `Victim`'s tokenizer.

    >>> make("pwws", {"variant": "greedy"})
    PWWS(variant='greedy', unknown='[UNK]')
    >>> make("pwws", {"variants": "greedy"})
    Traceback (most recent call last):
    ...
    uegr.errors.InputError: pwws has no setting variants; did you mean variant?
    """
    if not isinstance(attack, str):
        if settings:
            raise InputError(f"expected the settings inside {attack}, got also {', '.join(settings)}")
        return attack
    if attack in ("fgm", "pgd"):
        raise InputError(f"{attack} moves embeddings, not words; `uegr evaluate RUN --all` measures accuracy under it")
    if attack not in ATTACKS:
        raise InputError(f"no attack {attack!r}; {did_you_mean(attack, ATTACKS)}")
    known = {field.name for field in fields(ATTACKS[attack])}
    for name in settings:
        if name not in known:
            raise InputError(f"{attack} has no setting {name}; {did_you_mean(name, known)}")
    if "unknown" in known and isinstance(predict, Victim):
        settings = {"unknown": predict.unknown, **settings}
    made: Attack = ATTACKS[attack](**settings)
    return made
