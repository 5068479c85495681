"""Where a fault happens: whole runs, a cut one, a grid and a cache that are made once, and copies to damage."""

import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.faults.processes import Ended, Running, killed_at_step, nothing
from tests.tiny_run import data_folder, model_folder
from uegr.report.build import Report
from uegr.runs.attack import attack_run
from uegr.runs.evaluate import evaluate_run
from uegr.runs.train import train
from uegr.training.config import RunConfig

SETTINGS = ["--batch-size", "8", "--learning-rate", "0.01", "--set", "training.checkpoint_steps=3", "--quiet"]
STEPS = 12  # 32 rows, 3 epochs
CUT = 8  # in the second epoch, after the checkpoints 3 and 6
ATTACK = ["--attack", "deepwordbug", "--quiet"]
EVALUATE = ["--rows", "8", "--quiet"]
GRID = {
    "title": "faults",
    "shared": {"training": {"max_steps": 4, "batch_size": 8, "learning_rate": 0.01, "checkpoint_steps": 2}},
    "methods": ["vanilla", "rdrop"],
    "seeds": 1,
    "measure": {"evaluate": False, "attacks": [{"attack": "deepwordbug", "examples": 2}]},
}


class World:
    """`home` has what was made once and never changes; `place` is the folder of one fault."""

    def __init__(self, home: Path, place: Path, seed: object = 0) -> None:
        self.home, self.place, self.cache = home, place, home / "cache"
        self.draw = random.Random(str(seed))
        self.ended: list[Ended] = []
        self.counts: Counter[str] = Counter()  # kills, files damaged, pairs
        self.kept: dict[Path, bytes] = {}  # result.json of the runs that were finished before the fault
        self.damaged: list[Path] = []
        self.codes: set[int] = {0, 2}
        self.logs = 0
        place.mkdir(parents=True, exist_ok=True)

    def train(self, output: Path, method: str = "uegr") -> list[object]:
        """The words of the training that `home/whole` is."""
        own = ["--model", self.home / "model", "--dataset", self.home / "data", "--epochs", "3"]
        return ["train", "--method", method, *own, *SETTINGS, "--output", output]

    def benchmark(self, output: Path) -> list[object]:
        """The words of the grid that `home/grid` is, its cells in the process itself, which is warm."""
        return ["benchmark", self.home / "grid.yaml", "--output", output, "--workers", "0", "--quiet"]

    def start(self, *words: object, before: Callable[[], object] = nothing) -> Running:
        self.logs += 1

        def prepared() -> None:
            os.environ["XDG_CACHE_HOME"] = str(self.cache)
            before()

        return Running(words, self.place / f"{self.logs}.log", prepared)

    def end(self, running: Running) -> Ended:
        self.ended.append(running.ended())
        return self.ended[-1]

    def uegr(self, *words: object, before: Callable[[], object] = nothing) -> Ended:
        """A command, from its start to its end."""
        return self.end(self.start(*words, before=before))

    def killed(self, *words: object, before: Callable[[], object]) -> bool:
        """Whether a command that `before` makes kill itself did so; the other way to end is an end of its own."""
        ended = self.start(*words, before=before).ended()
        if ended.code == -9 and not ended.hung:
            self.counts["kills"] += 1
            return True
        self.ended.append(ended)
        return False

    def copy(self, name: str, called: str | None = None) -> Path:
        """A copy of something at home; the results in it must survive."""
        target = self.place / (called or name)
        shutil.copytree(self.home / name, target, symlinks=True)
        self.watch(target)
        return target

    def watch(self, folder: Path) -> None:
        """From now on the finished runs below a folder must not lose anything."""
        self.kept |= {path: path.read_bytes() for path in folder.rglob("result.json")}

    def damage(self, path: Path, change: Callable[[Path, random.Random], None]) -> None:
        """Damage a file; a result that is damaged cannot survive."""
        change(path, self.draw)
        self.damaged.append(path)
        self.counts["files damaged"] += 1
        self.kept.pop(path, None)


def build(home: Path) -> None:
    """Everything that faults need, each part by the command that makes it."""
    model_folder(home / "model")
    data_folder(home / "data", train=32, other=12)
    content = GRID | {"models": [{"name": str(home / "model"), "label": "tiny"}]}
    content |= {"datasets": [{"name": str(home / "data"), "label": "films"}]}
    (home / "grid.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    warm(home)
    world = World(home, home / "logs")
    done(world.uegr(*world.train(home / "whole")))
    assert world.killed(*world.train(home / "cut"), before=killed_at_step(CUT))
    shutil.copytree(home / "whole", home / "finished")
    done(world.uegr("attack", home / "finished", *ATTACK, "--examples", "2"))
    done(world.uegr(*world.benchmark(home / "grid")))
    asked = done(world.uegr("predict", home / "finished", "--text", "a fine film"))
    (home / "answer.txt").write_text(asked.output, encoding="utf-8")


def warm(home: Path) -> None:
    """Do once in this process what its children will do: libraries import most of their modules at the first use."""
    own = {"model": {"name": str(home / "model")}, "dataset": {"name": str(home / "data")}}
    config = RunConfig.model_validate(own | {"training": {"max_steps": 1, "checkpoint_steps": 1}})
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        train(config, run, quiet=True)
        attack_run(run, attack="deepwordbug", examples=1, quiet=True)
        evaluate_run(run, rows=2, quiet=True)
        Report([run], Path(folder) / "page.html").build()


def done(ended: Ended) -> Ended:
    assert ended.code == 0, ended
    return ended


def attacks_of(run: Path) -> list[str]:
    """The names of the attacks in the result of a run."""
    return list(json.loads((run / "result.json").read_bytes())["tasks"]["data"]["attacks"])
