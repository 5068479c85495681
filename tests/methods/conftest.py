"""Quick trainings: Trainer collects garbage after each one, which takes longer than a tiny model trains."""

import gc

import pytest


@pytest.fixture(autouse=True, scope="session")
def _settled_heap() -> None:
    """Leave what the imports made, a million objects, out of every later collection."""
    import peft  # noqa: F401
    import transformers

    transformers.Trainer  # noqa: B018  imported on first use
    gc.collect()
    gc.freeze()
