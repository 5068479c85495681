"""What the machine refuses: a full disk, a limit of file sizes, a read-only folder, impossible paths."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.faults.laws import FINISHES, REFUSED, SAME_RUN, Law, is_refused
from tests.faults.table import Fault
from tests.faults.world import ATTACK, EVALUATE, World

KIND = "refused by the machine"
KILOBYTES = (20, 60, 110, 160, 240)  # an unfinished run is about 500
MORE_KILOBYTES = (4, 40, 80, 130, 200, 300, 400, 480)


def limited(kilobytes: int) -> Callable[[], None]:
    """No file of the process can be larger: the error of a full disk in the middle of a write, without being root."""

    def before() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000 * kilobytes, 1000 * kilobytes))

    return before


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Callable[..., None]]:
    """A disk of its own for a folder, if we are root; gives a function that changes it."""
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder)
    try:
        yield lambda options: mount("-o", f"remount,{options}", folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True, capture_output=True)


def can_mount() -> bool:
    return os.geteuid() == 0 and os.path.exists("/proc/mounts")


def full_disk(kilobytes: int) -> Callable[[World], None]:
    """A training on a disk that is full after so much, then on one with space again."""

    def cause(world: World) -> None:
        words = world.train(world.place / "disk" / "run")
        with small_disk(world.place / "disk", kilobytes) as changed:
            world.uegr(*words)
            changed("size=100m")
            resume = ["--resume"] if (world.place / "disk" / "run" / "config.yaml").exists() else []
            world.uegr(*words, *resume)
            shutil.copytree(world.place / "disk" / "run", world.place / "run")

    return cause


def limited_files(kilobytes: int) -> Callable[[World], None]:
    """The same with a limit of the size of a file."""

    def cause(world: World) -> None:
        words = world.train(world.place / "run")
        world.uegr(*words, before=limited(kilobytes))
        world.uegr(*words, *(["--resume"] if (world.place / "run" / "config.yaml").exists() else []))

    return cause


def full_cache(world: World) -> None:
    """The disk of the cache is full, then not."""
    world.cache = world.place / "disk"
    with small_disk(world.cache, 8) as changed:
        world.uegr(*world.train(world.place / "run"))
        changed("size=100m")
        world.uegr(*world.train(world.place / "run"))


def full_for(*words: object) -> Callable[[World], None]:
    """A command on a finished run on a full disk: it is refused and the run is as it was; with space it works."""

    def cause(world: World) -> None:
        with small_disk(world.place / "disk", 100_000) as changed:
            run = world.copy("finished", "disk/finished")
            changed(f"size={used(world.place / 'disk') + 8}k")
            world.uegr(words[0], run, *words[1:])
            changed("size=100m")
            world.uegr(words[0], run, *words[1:], *(["--resume"] if words[0] == "attack" else []))
            shutil.copytree(run, world.place / "finished")
        (before,) = world.kept.values()
        world.kept = {world.place / "finished" / "result.json": before}

    return cause


def used(folder: Path) -> int:
    """Kilobytes that are in use on the disk of a folder."""
    about = os.statvfs(folder)
    return (about.f_blocks - about.f_bfree) * about.f_frsize // 1024


def read_only(*words: object) -> Callable[[World], None]:
    """A command on a run on a disk that cannot be written."""

    def cause(world: World) -> None:
        with small_disk(world.place / "disk", 100_000) as changed:
            run = world.copy("cut" if words[0] == "train" else "finished", "disk/run")
            changed("ro")
            world.uegr(words[0], run, *words[1:])
            world.kept = {}  # the disk is about to go; nothing could change on it

    return cause


def impossible(command: str, where: str) -> Callable[[World], None]:
    """An output below a file, or with a name that is too long."""

    def cause(world: World) -> None:
        (world.place / "file").write_text("")
        path = {"below a file": world.place / "file" / "run", "a name too long": world.place / ("n" * 300)}[where]
        words = {"train": world.train(path), "report": ["report", world.home / "finished", "--output", path]}
        world.uegr(*words[command])

    return cause


def first_refused(remedy: str) -> Callable[[World], str | None]:
    """The first command is one line with a path in the folder of the fault and the remedy, or it had space enough."""

    def check(world: World) -> str | None:
        first = World(world.home, world.place)
        first.ended = world.ended[:1]
        if first.ended[0].code == 0:
            return None
        said = first.ended[0].output
        missing = [part for part in (f"cannot use {world.place}", remedy) if part not in said]
        return is_refused(first) or (f"expected {missing} in: {said[-500:]}" if missing else None)

    return check


SAYS = "one line with the path and the remedy, and exit code 2"
FULL, LIMITED = (
    Law(SAYS, first_refused("free some space")),
    Law(SAYS, first_refused("raise the limit of a file's size")),
)
AGAIN = (FULL, FINISHES, SAME_RUN)
ATTACKED, EVALUATED = ("attack", *ATTACK, "--examples", "3"), ("evaluate", *EVALUATE)
ON_A_DISK = [
    *(Fault(KIND, "a disk that fills up during a training", full_disk(size), AGAIN, f"{size} kB")
      for size in KILOBYTES[1::2]),
    *(Fault(KIND, "a disk that fills up during a training", full_disk(size), AGAIN, f"{size} kB", slow=True)
      for size in (*KILOBYTES[::2], *MORE_KILOBYTES)),
    Fault(KIND, "a full disk of the cache", full_cache, AGAIN),
    Fault(KIND, "a full disk during an attack", full_for(*ATTACKED), (FULL, FINISHES)),
    Fault(KIND, "a full disk during an evaluation", full_for(*EVALUATED), (FULL, FINISHES)),
    Fault(KIND, "a read-only disk: attack", read_only(*ATTACKED), (REFUSED,)),
    Fault(KIND, "a read-only disk: evaluate", read_only(*EVALUATED), (REFUSED,)),
    Fault(KIND, "a read-only disk: train --resume", read_only("train", "--resume", "--quiet"), (REFUSED,)),
    Fault(KIND, "a read-only disk: predict", read_only("predict", "--text", "a fine film"), (FINISHES,)),
]  # fmt: skip
ROWS = [
    *(Fault(KIND, "a limit of file sizes", limited_files(size), (LIMITED, FINISHES, SAME_RUN), f"{size} kB")
      for size in (2, 12, 17, 40)),
    *(Fault(KIND, f"an output {where}: {command}", impossible(command, where), (REFUSED,))
      for command in ("train", "report") for where in ("below a file", "a name too long")),
    *(replace(row, possible=can_mount) for row in ON_A_DISK),
]  # fmt: skip
