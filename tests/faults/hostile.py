"""Folders and files from somebody who means harm: none of their code is run, none exhausts the machine."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import yaml

from tests.faults.laws import NOTHING_RAN, REFUSED
from tests.faults.table import Fault
from tests.faults.world import World
from uegr.runs import manifest

KIND = "hostile folder or file"
CODE = """
from pathlib import Path
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
Path({mark!r}).touch()

class EvilConfig(BertConfig):
    model_type = "evil"

class EvilModel(BertForSequenceClassification):
    config_class = EvilConfig

class EvilTokenizer(PreTrainedTokenizerFast):
    pass
"""
MAPS = {"AutoConfig": "evil.EvilConfig", "AutoModelForSequenceClassification": "evil.EvilModel"}
COMMANDS: dict[str, list[object]] = {
    "predict": ["--text", "a fine film"],
    "evaluate": ["--all", "--quiet"],
    "attack": ["--attack", "deepwordbug", "--examples", "2", "--quiet"],
    "export": ["--onnx"],
    "interpolate": ["--weight", "0.5"],
    "compare": ["."],
}


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file, and make the manifest fit, as whoever sends it would."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    edit(stored)
    path.write_text(json.dumps(stored), encoding="utf-8")
    manifest.write(path.parent, manifest.read(path.parent).origin)


def with_code(world: World) -> Path:
    """A run whose model is Python code, and which says that this is fine."""
    run = world.copy("finished")
    (run / "evil.py").write_text(CODE.format(mark=str(world.place / "ran")))
    change(run / "config.json", lambda config: config.update(model_type="evil", auto_map=MAPS))
    change(run / "result.json", lambda result: result["config"]["model"].update(trust_remote_code=True))
    world.kept.clear()
    return run


def code_of_a_run(command: str) -> Callable[[World], None]:
    """The command at such a run; `.` stands for a run without code."""

    def cause(world: World) -> None:
        words = [world.home / "finished" if word == "." else word for word in COMMANDS[command]]
        world.uegr(command, with_code(world), *words)

    return cause


def resumed_by_a_command(world: World) -> None:
    """The configuration of an unfinished run names a command as its method, and all else is as it was."""
    run = world.copy("cut", "run")
    stored = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    stored["method"] = {"name": "os:system", "command": f"touch {world.place / 'ran'}"}
    (run / "config.yaml").write_text(yaml.safe_dump(stored), encoding="utf-8")
    world.uegr("train", run, "--resume", "--quiet")


def trained_on(world: World) -> None:
    run = with_code(world)
    world.uegr("train", "--model", run, "--dataset", world.home / "data", "--output", world.place / "new", "--quiet")


class Evil:
    """Unpickling it makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (os.mknod, (str(self.mark),))


def pickled(name: str) -> Callable[[World], None]:
    """A checkpoint with a pickle that runs code, and a manifest that fits."""

    def cause(world: World) -> None:
        run = world.copy("cut", "run")
        for checkpoint in run.glob("checkpoint-*"):
            torch.save(Evil(world.place / "ran"), checkpoint / name)
            manifest.write(checkpoint, manifest.read(checkpoint).origin)
        world.uegr("train", run, "--resume", "--quiet")

    return cause


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def yamls(world: World) -> dict[str, str]:
    """Files that would run something, or fill the memory."""
    touch = f"touch {world.place / 'ran'}"
    own = {"model": {"name": str(world.home / "model")}, "dataset": {"name": str(world.home / "data")}}
    called = {"name": "os:system", "command": touch}
    return {
        "a command as a method": yaml.safe_dump(own | {"method": called}),
        "a command as a method of a grid": yaml.safe_dump({"title": "t", "methods": [{"name": "os:system"}]}),
        "a Python object": f"method: !!python/object/apply:os.system ['{touch}']\n",
        "aliases that stand for a billion values": BOMB,
        "a hundred thousand brackets": "a: " + "[" * 100_000,
        "an alias that contains itself": "a: &a [*a]\n",
        "not text": "\x00\x01",
    }


def from_yaml(name: str, command: str) -> Callable[[World], None]:
    """A file given to a command."""

    def cause(world: World) -> None:
        file = world.place / "file.yaml"
        file.write_text(yamls(world)[name], encoding="utf-8")
        output = ["--output", world.place / "out"]
        words = ["train", "--config", file, "--quiet"] if command == "train" else ["benchmark", file, "--dry-run"]
        world.uegr(*words, *output)

    return cause


def run_with_yaml(name: str) -> Callable[[World], None]:
    """The same as the configuration of a run that is resumed."""

    def cause(world: World) -> None:
        run = world.copy("cut", "run")
        (run / "config.yaml").write_text(yamls(world)[name], encoding="utf-8")
        world.uegr("train", run, "--resume", "--quiet")

    return cause


def instead_of_a_result(what: str) -> Callable[[World], None]:
    """Something else is where result.json should be."""

    def cause(world: World) -> None:
        path = world.copy("finished") / "result.json"
        world.kept.clear()
        path.unlink()
        if what == "a pipe":
            os.mkfifo(path)
        elif what == "a device":
            path.symlink_to("/dev/zero")
        elif what == "a link to itself":
            path.symlink_to(path)
        else:
            path.write_text("[" * 1_000_000)
        world.uegr("report", path.parent, "--output", world.place / "page.html")
        world.uegr("predict", path.parent, "--text", "a fine film")

    return cause


HARMLESS = (REFUSED, NOTHING_RAN)
NAMES = (
    "a command as a method", "a command as a method of a grid", "a Python object",
    "aliases that stand for a billion values", "a hundred thousand brackets", "an alias that contains itself",
    "not text",
)  # fmt: skip
ROWS = [
    *(Fault(KIND, f"a run with code: {one}", code_of_a_run(one), HARMLESS) for one in COMMANDS),
    Fault(KIND, "a run with code: train --model", trained_on, HARMLESS),
    *(Fault(KIND, f"a pickle that runs code as `{one}`", pickled(one), (NOTHING_RAN,))
      for one in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin")),
    *(Fault(KIND, f"YAML, {one}: train --config", from_yaml(one, "train"), HARMLESS) for one in NAMES),
    *(Fault(KIND, f"YAML, {one}: benchmark --dry-run", from_yaml(one, "benchmark"), HARMLESS) for one in NAMES),
    *(Fault(KIND, f"YAML, {one}: train --resume", run_with_yaml(one), HARMLESS) for one in NAMES[2:5]),
    Fault(KIND, "YAML, a command as a method: train --resume", resumed_by_a_command, HARMLESS),
    *(Fault(KIND, f"{one} as `result.json`", instead_of_a_result(one), (REFUSED,))
      for one in ("a pipe", "a device", "a link to itself", "a million brackets")),
]  # fmt: skip
