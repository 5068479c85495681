"""What every test shares: no hub, no progress bars, one thread, and the tiny models of `tests/models/families.py`."""

import gc
import logging
import os
from collections.abc import Iterator
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import pytest
import torch  # the variables above must be set before anything reads them
import transformers
from hypothesis import settings

gc.disable()  # until the test modules are imported: they make a million objects that stay
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()

settings.register_profile("uegr", deadline=None, derandomize=True, database=None)  # the same on a slow machine, twice
settings.load_profile("uegr")


@pytest.fixture(autouse=True, scope="session")
def _settled_heap() -> None:
    """Leave what the imports made, a million objects, out of every later garbage collection.

    Trainer collects garbage after each training, which would take longer than a tiny model trains.
    """
    import peft  # noqa: F401

    transformers.Trainer  # noqa: B018  imported on first use
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def no_deprecated_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """transformers logs its deprecations where others warn: each is an error here, whatever the level of its logger."""
    seen: list[str] = []
    warn = logging.Logger.warning

    def warning(logger: logging.Logger, message: object, *args: object, **kwargs: Any) -> None:
        if logger.name.startswith("transformers") and "deprecated" in str(message):
            seen.append(str(message))
        warn(logger, message, *args, **kwargs)

    monkeypatch.setattr(logging.Logger, "warning", warning)
    yield
    assert not seen, f"transformers says that this is deprecated: {seen}"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a tiny model and a data set of 64 rows to train on and 16 to hold out."""
    from tests.tiny_run import data_folder, model_folder

    folder = tmp_path_factory.mktemp("home")
    model_folder(folder / "model")
    data_folder(folder / "data", train=64, other=16)
    return folder
