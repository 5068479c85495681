"""What a training leaves behind in the process that it ran in."""

import gc
from pathlib import Path
from typing import Any

import pytest

from uegr import collector
from uegr.benchmark.run import fitted


class Interrupted:
    """A trainer that notes how the collector is set, and is stopped."""

    def train(self, **_: Any) -> None:
        self.seen = gc.get_threshold(), gc.get_freeze_count() > 0
        raise KeyboardInterrupt

    def close(self) -> None:
        """As a progress bar."""


def test_a_training_has_the_usual_collector_and_gives_back_the_one_it_found(tmp_path: Path) -> None:
    before = gc.get_threshold()
    collector.rare()
    rare = gc.get_threshold()
    trainer = Interrupted()
    try:
        with pytest.raises(KeyboardInterrupt):
            fitted(trainer, trainer, tmp_path)
        assert trainer.seen == (collector.USUAL, True)
        assert gc.get_threshold() == rare != collector.USUAL
        assert gc.get_freeze_count() == 0
    finally:
        gc.set_threshold(*before)
