"""The one table of attacks: a name, and the frozen dataclass whose fields are its settings."""

from dataclasses import fields
from typing import Any

from uegr.attacks.checklist import CheckList
from uegr.attacks.deepwordbug import DeepWordBug
from uegr.attacks.genetic import Genetic
from uegr.attacks.pwws import PWWS
from uegr.attacks.search import Attack
from uegr.attacks.textfooler import TextFooler
from uegr.errors import InputError, did_you_mean

ATTACKS: dict[str, Any] = {
    "pwws": PWWS,
    "genetic": Genetic,
    "textfooler": TextFooler,
    "deepwordbug": DeepWordBug,
    "checklist": CheckList,
}

SUMMARIES = {
    "pwws": "replaces words in the order of saliency times effect (Ren 2019)",
    "genetic": "breeds texts with replaced words (Alzantot 2018)",
    "textfooler": "replaces important words while sentences stay similar (Jin 2020)",
    "deepwordbug": "makes typos in the most important words (Gao 2018)",
    "checklist": "single harmless edits: contractions, typos, neutral phrases (Ribeiro 2020)",
}


def entries() -> list[dict[str, Any]]:
    """Every attack with what it does and its settings with their defaults, for listings.

    >>> entries()[0]["name"], entries()[0]["settings"]["variant"]
    ('pwws', 'ren')
    """
    return [
        {
            "name": name,
            "summary": SUMMARIES[name],
            "surface": kind.lexical,  # whether --surface decides what may replace what
            "settings": {field.name: field.default for field in fields(kind)},
        }
        for name, kind in ATTACKS.items()
    ]


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
    if "unknown" in known and predict is not None:
        from uegr.attacks.victim import Victim  # with torch, which the listing does not need

        settings = {"unknown": predict.unknown, **settings} if isinstance(predict, Victim) else settings
    made: Attack = ATTACKS[attack](**settings)
    return made
