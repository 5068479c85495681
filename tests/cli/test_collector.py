"""Garbage is collected rarely while libraries are imported, and as usual while a command works."""

import gc

import pytest

from uegr.cli import collector


def test_work_has_the_usual_collector_and_gives_back_the_one_it_found() -> None:
    before = gc.get_threshold()
    collector.rare()
    rare = gc.get_threshold()
    seen: list[tuple[tuple[int, int, int], bool]] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt_work(seen)
        assert seen == [(collector.USUAL, True)]
        assert gc.get_threshold() == rare != collector.USUAL
        assert gc.get_freeze_count() == 0
    finally:
        gc.set_threshold(*before)


def interrupt_work(seen: list[tuple[tuple[int, int, int], bool]]) -> None:
    with collector.usual():
        seen.append((gc.get_threshold(), gc.get_freeze_count() > 0))
        raise KeyboardInterrupt
