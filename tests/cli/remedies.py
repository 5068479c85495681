"""Every flag that an error, a warning or a page names, and the commands that must have it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from uegr.cli import app

SOURCE = Path(__file__).parents[2] / "src" / "uegr"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
QUOTED = re.compile(r"`([^`]*)`")  # a whole command, such as `uegr evaluate RUN --all`
READ_LABELS = ("train", "init", "evaluate", "attack", "data show", "data check", "data stats")
READ = (*READ_LABELS, "predict", "compare")

# Where a message is raised -> the commands that can show it; the longest match counts. `uegr benchmark` is not among
# them for messages about one run: a cell is configured by the keys of its YAML, which have the flags' names.
RAISED_BY: dict[str, tuple[str, ...]] = {
    "data": READ,
    "data/duplicates": ("evaluate", "attack", "compare"),
    "data/labels": READ_LABELS,
    "data/load": READ_LABELS,
    "data/sanity": ("train",),
    "data/writing": ("predict",),
    "evaluation/metrics": ("train",),
    "attacks": ("attack",),
    "training": ("train",),
    "models": ("train",),
    "models/device": ("train", "evaluate", "attack", "predict", "playground"),
    "models/loaded": ("train", "evaluate", "attack", "predict", "export", "compare", "interpolate", "playground"),
    "doctor": ("doctor",),
    "playground": ("playground",),
    "result": ("predict", "attack", "compare", "playground"),
    "runs": ("train",),
    "runs/attack": ("attack",),
    "runs/calibrate": ("attack",),
    "runs/compare": ("compare",),
    "runs/replay": ("attack",),
    "runs/evaluate": ("evaluate",),
    "runs/hub": ("export",),
    "runs/finished": ("attack", "evaluate"),
    "runs/interpolate": ("interpolate",),
    "runs/predict": ("predict",),
    "benchmark": ("benchmark",),
    "report/build": ("report",),
    "cli/attack": ("attack",),
    "cli/benchmark": ("benchmark",),
    "cli/compare": ("compare",),
    "cli/data": ("data show", "data check", "data stats"),
    "cli/evaluate": ("evaluate",),
    "cli/export": ("export",),
    "cli/predict": ("predict",),
    "cli/program": ("",),
    "cli/recommend": ("recommend",),
    "cli/train": ("train",),
}
NOT_SHOWN_BY = {("data/local", "--label-column", "predict"): "predict reads no labels"}
OTHER_PROGRAMS = ("packages", "benchmark/processes", "cli/interruption")  # they name options of pip and torchrun
NAMES = ("InputError", "warn", "ValueError", "TrainingWarning", "DataWarning")


@dataclass(frozen=True)
class Named:
    """A flag in a message."""

    module: str  # such as data/labels
    line: int
    flag: str
    command: str | None  # where the message names the command as well

    def commands(self) -> tuple[str, ...]:
        """The commands that must have the flag."""
        if self.command is not None:
            return (self.command,)
        places = [place for place in RAISED_BY if self.module == place or self.module.startswith(f"{place}/")]
        assert places, f"{self.module}:{self.line} names {self.flag}: add {self.module} to RAISED_BY"
        found = RAISED_BY[max(places, key=len)]
        return tuple(one for one in found if (self.module, self.flag, one) not in NOT_SHOWN_BY)


def named_in(text: str, module: str, line: int) -> Iterator[Named]:
    """The flags of one message: those of a quoted command belong to it, and those of other programs do not count."""
    for quoted in QUOTED.findall(text):
        words = quoted.split()
        if words[:1] == ["uegr"] and len(words) > 1:
            command = " ".join(words[1:3]) if " ".join(words[1:3]) in flags() else words[1]
            yield from (Named(module, line, flag, command) for flag in FLAG.findall(quoted))
    yield from (Named(module, line, flag, None) for flag in FLAG.findall(QUOTED.sub("", text)))


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts in calls that raise or warn, and in what functions return; what an f-string fills in is left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in NAMES:
            yield node.lineno, "".join(texts(node))
        elif isinstance(node, ast.Return | ast.Dict) and node is not None:
            yield node.lineno, " ".join(texts(node))


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def texts(node: ast.AST) -> Iterator[str]:
    """The string constants below a node, in their order."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


@cache
def flags() -> dict[str, frozenset[str]]:
    """The flags of every command, such as `train` and `data show`."""

    def below(command: Any, name: str) -> Iterator[tuple[str, frozenset[str]]]:
        own = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
        yield name, frozenset({*own, "--help"})
        for part, inner in getattr(command, "commands", {}).items():
            yield from below(inner, f"{name} {part}".strip())

    return dict(below(typer.main.get_command(app), ""))


def named_in_source() -> list[Named]:
    """The flags in all messages of the package, each once per line."""
    found: dict[Named, None] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        if module not in OTHER_PROGRAMS:
            for line, text in messages(ast.parse(path.read_text(encoding="utf-8"))):
                found |= dict.fromkeys(named_in(text, module, line))
    return list(found)
