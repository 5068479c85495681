"""How the figures were made: commands, configurations, seeds, machines and versions."""

import json
from collections.abc import Sequence
from typing import Any

import yaml

from uegr.report.groups import Group
from uegr.report.reading import Run

try:
    from yaml import CSafeDumper as Dumper
except ImportError:  # a PyYAML without libyaml
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]


def machines(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Each machine with its versions, and how many of the runs it made."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        machine = {str(key): value for key, value in (run.result.get("machine") or {}).items()}
        entry = found.setdefault(json.dumps(machine, sort_keys=True, default=str), {"machine": machine, "runs": 0})
        entry["runs"] += 1
    return sorted(found.values(), key=lambda entry: -entry["runs"])


def recipes(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """For each setting its configuration without the seed, and the command of every run."""
    return [
        {
            "group": group,
            "config": configuration(group.runs[0]),
            "commands": [(run.seed, run.name, str(run.result.get("command", ""))) for run in group.runs],
        }
        for group in groups
    ]


def configuration(run: Run) -> str:
    """As YAML."""
    plain = {key: value for key, value in run.config.items() if key != "seed"}
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True)


def summary(groups: Sequence[Group]) -> str:
    """What is compared, in a line.

    >>> summary([])
    'No finished run yet.'
    """
    if not groups:
        return "No finished run yet."
    counts = {
        "run": sum(len(group.runs) for group in groups),
        "method": len({group.method for group in groups}),
        "data set": len({group.dataset for group in groups}),
        "model": len({group.model for group in groups}),
    }
    seeds = sorted({len(group.seeds) for group in groups})
    each = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seed{'s' * (seeds[0] != 1)}"
    return ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items()) + f"; {each} a setting."
