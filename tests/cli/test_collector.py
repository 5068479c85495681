"""Garbage is collected rarely while libraries are imported, and as usual while a command works."""

import gc
from collections.abc import Iterator

import pytest

from uegr.cli import collector


@pytest.fixture
def rare() -> Iterator[tuple[int, int, int]]:
    """The thresholds of a command, in a process that has frozen nothing."""
    before = gc.get_threshold()
    gc.unfreeze()
    collector.rare()
    yield gc.get_threshold()
    gc.freeze()  # as tests/conftest.py leaves it
    gc.set_threshold(*before)


def interrupt(seen: list[tuple[tuple[int, int, int], bool]]) -> None:
    """Note the thresholds inside of the block, and whether older objects are left out."""
    with collector.usual():
        seen.append((gc.get_threshold(), gc.get_freeze_count() > 0))
        raise KeyboardInterrupt


def seen_inside() -> tuple[tuple[int, int, int], bool]:
    seen: list[tuple[tuple[int, int, int], bool]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupt(seen)
    return seen[0]


def test_work_has_the_usual_collector_and_gives_back_the_one_it_found(rare: tuple[int, int, int]) -> None:
    assert seen_inside() == (collector.USUAL, True)
    assert gc.get_threshold() == rare != collector.USUAL
    assert gc.get_freeze_count() == 0


def test_what_the_caller_has_frozen_stays_frozen(rare: tuple[int, int, int]) -> None:
    gc.freeze()
    assert seen_inside() == (collector.USUAL, True)
    assert gc.get_threshold() == rare
    assert gc.get_freeze_count() > 0
