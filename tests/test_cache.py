"""The cache heals itself: what is damaged is named, set aside and made again; a kill leaves nothing half made."""

import hashlib
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from tests.forks import end_of, forked
from uegr import cache, packages
from uegr.attacks import lexicons
from uegr.data import load, vocabulary
from uegr.data.duplicates import text_hashes
from uegr.errors import DataWarning
from uegr.files import machine
from uegr.models import vectors
from uegr.models.tokens import tokenized

TEXTS = ["a good film", "a bad film , a very bad film", "", "Good!"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "uegr"


def rows() -> datasets.Dataset:
    return datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0, 0, 1]})


def table(tmp_path: Path) -> Any:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"text {number},{number % 2}\n" for number in range(40)))
    return {name: part[:] for name, part in load(path).splits.items()}


def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: dict[str, str]) -> packages.PackageSource:
    import zipfile

    def download(source: packages.PackageSource, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "archive.whl", "w") as bundle:
            for name, text in content.items():
                bundle.writestr(name, text)
        return folder / "archive.whl"

    monkeypatch.setattr(packages, "download", download)
    return packages.PackageSource(name="p", version="1", file="inner/", sha256="0" * 64)


def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = packages.fetch(archive(tmp_path, monkeypatch, {"inner/a": "one", "inner/deep/b": "two", "other": "x"}))
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def lexicon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(lexicons, "download", lambda source, folder: folder)
    monkeypatch.setattr(lexicons, "texts", lambda archive, wanted: {})
    made = lexicons.Lexicon(
        name="x",
        language="en",
        readings={"film": (lexicons.Reading("n", 1, ("movie",)),)},
        stop_words=frozenset({"the"}),
        irregular={},
    )
    return lexicons.cached(lexicons.WORDNET, "wordnet", lambda texts: made)


def looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "glove.txt").write_text("film 1 2\nthe 3 4\n")
    monkeypatch.setattr(vectors, "fetch", lambda source: tmp_path / "glove.txt")
    return [part.tolist() for part in vectors.lookup("glove", ["film", "absent"])]


KEPT: dict[str, Callable[[Path, pytest.MonkeyPatch], Any]] = {
    "rows": lambda tmp_path, _: table(tmp_path),
    "tokens": lambda *_: tokenized(rows(), vocabulary(rows(), min_frequency=1), 8)[:],
    "facts": lambda *_: cache.remembered("key", lambda: {"counted": 3}),
    "hashes": lambda *_: text_hashes(rows()).tolist(),
    "vocabularies": lambda *_: vocabulary(rows(), min_frequency=1).get_vocab(),
    "packages": fetched,
    "lexicons": lexicon,
    "vectors": looked_up,
}
DAMAGE: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda content, draw: content[: draw.randrange(len(content))],
    "empty": lambda content, draw: b"",
    "longer": lambda content, draw: content + b"\0",
    "flipped": lambda content, draw: flipped(content, draw.randrange(8 * len(content))),
}


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def contents(folder: Path, what: str) -> list[Path]:
    """The files of one kind that are kept, without their seals."""
    found = [path for path in folder.rglob("*") if path.is_file() and what in path.parts]
    return sorted(path for path in found if path.suffix != ".seal" and "damaged-" not in str(path))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("what", KEPT)
def test_what_is_damaged_is_named_set_aside_and_made_again(
    what: str, damage: str, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = KEPT[what](tmp_path, monkeypatch)
    draw = random.Random(f"{what} {damage}")
    victims = contents(own_cache, what)
    assert victims
    for victim in victims:
        whole = victim.read_bytes()
        victim.write_bytes(DAMAGE[damage](whole, draw))
        with pytest.warns(DataWarning, match=r"is damaged \(its bytes have changed .*set aside as damaged-") as told:
            assert KEPT[what](tmp_path, monkeypatch) == first
        assert len(told) == 1
        assert victim.read_bytes() == whole
        assert any("damaged-" in str(path) for path in own_cache.rglob("*"))


def test_a_lost_or_damaged_seal_costs_one_more_making(own_cache: Path) -> None:
    for change in (Path.unlink, lambda path: path.write_bytes(b"\xff")):
        cache.remembered("key", lambda: 1)
        (sealed,) = own_cache.rglob("*.seal")
        change(sealed)
        cache._sound.clear()
        with pytest.warns(DataWarning, match="is damaged"):
            assert cache.remembered("key", lambda: 1) == 1
        assert cache.remembered("key", lambda: pytest.fail("made again")) == 1


@pytest.mark.parametrize("place", range(2))
def test_a_kill_before_each_rename_leaves_a_cache_that_works(place: int, own_cache: Path) -> None:
    """The seal and the file get their names by one rename each; a child is killed before the first or the second."""

    def killed() -> None:
        real, seen = os.replace, iter(range(2))

        def replace(*paths: Any) -> None:
            if next(seen) == place:
                os.kill(os.getpid(), signal.SIGKILL)
            real(*paths)

        os.replace = replace  # type: ignore[assignment]
        vocabulary(rows(), min_frequency=1)

    assert end_of(forked(killed)) == -signal.SIGKILL
    assert list(own_cache.rglob(f"*{cache.BOX}"))
    assert "film" in vocabulary(rows(), min_frequency=1).get_vocab()
    assert not list(own_cache.rglob(f"*{cache.BOX}"))  # what the killed process left is gone


def test_a_box_of_a_living_process_or_of_another_machine_stays(tmp_path: Path) -> None:
    numbers = (f"{machine()}-{os.getppid()}", "00000000-99999999")
    kept = [tmp_path / f".{number}-{'0' * 12}{cache.BOX}" for number in numbers]
    for folder in kept:
        folder.mkdir()
    with cache.box(tmp_path):
        pass
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_what_was_checked_once_is_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.remembered("key", lambda: 1)
    cache.remembered("key", lambda: 1)
    monkeypatch.setattr(cache, "digest", lambda path: pytest.fail("hashed again"))
    assert cache.remembered("key", lambda: 1) == 1


def test_a_making_that_fails_leaves_nothing(own_cache: Path) -> None:
    with pytest.raises(TypeError):
        cache.remembered("key", lambda: json)
    assert [path for path in own_cache.rglob("*") if path.is_file() or path.name.endswith(cache.BOX)] == []


def test_processes_that_find_the_same_damage_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.arrow" for number in range(10)]
    for path in paths:
        path.write_text("wrong")
    start = time.time() + 0.3

    def make(path: Path) -> None:
        time.sleep(0.02)
        path.write_text(f"right {time.time()}")

    def find() -> None:
        warnings.simplefilter("ignore")
        while time.time() < start:
            pass
        for path in paths:
            assert cache.kept(path, make).read_text().startswith("right")

    assert [end_of(process) for process in [forked(find) for _ in range(3)]] == [0, 0, 0]


def test_what_another_process_sets_aside_in_the_meantime_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.arrow"
    cache.kept(path, lambda made: made.write_text("right") and None)
    path.write_text("wrong")
    real = cache.digest

    def slow(some: Path) -> str:
        found = real(some)
        some.unlink()  # as another process does between the look and the renaming
        monkeypatch.setattr(cache, "digest", real)
        return found

    monkeypatch.setattr(cache, "digest", slow)
    assert cache.kept(path, lambda made: made.write_text("right") and None).read_text() == "right"


@pytest.mark.parametrize("place", [0, 9, 10, 19, 20, 24])
def test_a_changed_byte_in_any_piece_of_a_large_file_changes_its_hash(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PIECE", 10)
    (tmp_path / "large").write_bytes(bytes(25))
    before = cache.digest(tmp_path / "large")
    assert cache.digest(tmp_path / "large") == before
    (tmp_path / "large").write_bytes(bytes(place) + b"x" + bytes(24 - place))
    assert cache.digest(tmp_path / "large") != before


def test_a_file_that_is_not_large_has_the_sha256_of_its_bytes(tmp_path: Path) -> None:
    for content in (b"", b"abc"):
        (tmp_path / "small").write_bytes(content)
        assert cache.digest(tmp_path / "small") == hashlib.sha256(content).hexdigest()
