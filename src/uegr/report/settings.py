"""The settings of a run by their paths, and how people read them."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

NOT_A_SETTING = {"seed", "method.name", "model.name", "training.report_to", "training.checkpoint_steps"}


def leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a nested configuration by their paths.

    >>> dict(leaves({"method": {"name": "uegr", "submodels": 3}, "seed": 1}))
    {'method.submodels': 3}
    """
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        elif f"{prefix}{key}" not in NOT_A_SETTING:
            yield f"{prefix}{key}", value


def short(path: str) -> str:
    """The last word of a path.

    >>> short("method.divergence_weight"), short("dataset.name")
    ('divergence weight', 'trained on')
    """
    if path == "dataset.name":
        return "trained on"  # it differs only where the run had other tasks beside this one
    return path.rpartition(".")[2].replace("_", " ")


def spoken(value: Any) -> str:
    """A setting's value.

    >>> spoken([0.1, 0.3]), spoken(None), spoken(0.50)
    ('0.1/0.3', 'default', '0.5')
    """
    if value is None:
        return "default"
    if isinstance(value, list | tuple):
        return "/".join(spoken(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def shown_names(names: set[str]) -> dict[str, str]:
    """Files and folders by their last part, unless that would make two the same.

    >>> shown_names({"/data/reviews.csv", "owner/reviews"})["/data/reviews.csv"]
    'reviews.csv'
    """
    last = {name: PurePath(name).name or name for name in names}
    unique = len(set(last.values())) == len(names)
    return {name: last[name] if unique and name.startswith(("/", ".", "~")) else name for name in names}
