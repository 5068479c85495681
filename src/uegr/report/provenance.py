"""How the figures were made: commands, configurations, seeds, machines and versions."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from uegr.report.groups import Group
from uegr.report.reading import Run
from uegr.result import Config

try:
    from yaml import CSafeDumper as Dumper
except ImportError:  # a PyYAML without libyaml
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]


@dataclass(frozen=True)
class Place:
    """A machine with its versions, and how many runs were made there."""

    facts: dict[str, Any]
    runs: int


@dataclass(frozen=True)
class Recipe:
    """How one setting was made."""

    group: Group
    config: str  # YAML, without the seed
    commands: list[tuple[int, str, str]]  # seed, name and command of every run


def machines(runs: Sequence[Run]) -> list[Place]:
    """Each machine with its versions, the one with the most runs first."""
    facts = [run.result.machine.model_dump() | run.result.versions for run in runs]
    counts = Counter(json.dumps(one) for one in facts)
    return [Place(json.loads(text), count) for text, count in counts.most_common()]


def recipes(groups: Sequence[Group]) -> list[Recipe]:
    """For each setting its configuration without the seed, and the command of every run."""
    found = []
    for group in groups:
        commands = [(run.seed, run.run.name, run.run.result.command) for run in group.runs]
        found.append(Recipe(group, configuration(group.runs[0].config), commands))
    return found


def configuration(config: Config) -> str:
    """As YAML."""
    return yaml.dump(config.model_dump(exclude={"seed"}), Dumper=Dumper, sort_keys=False, allow_unicode=True)


def datasets(groups: Sequence[Group]) -> list[str]:
    """The data sets; the folds of one are not several."""
    return list(dict.fromkeys(group.dataset.removesuffix(group.runs[0].fold) for group in groups))


def summary(groups: Sequence[Group]) -> str:
    """What is compared, in a line.

    >>> summary([])
    'No finished run yet.'
    """
    if not groups:
        return "No finished run yet."
    counts = {
        "run": len({id(run.run) for group in groups for run in group.runs}),
        "method": len({run.config.method.name for group in groups for run in group.runs}),  # not its variants
        "data set": len(datasets(groups)),
        "model": len({group.model for group in groups}),
    }
    seeds = sorted({len(group.seeds) for group in groups})
    each = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seed{'s' * (seeds[0] != 1)}"
    listed = ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items())
    return f"{listed}; {each} per setting."
