"""Python's garbage collector: it runs rarely while libraries are imported, and as usual while a model is trained.

Importing torch, datasets and transformers makes a million objects that stay. Searching them again and again takes a
sixth of the time of the imports and finds nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

USUAL = gc.get_threshold()


def rare() -> None:
    """For a process of our own: long-lived objects are no longer searched."""
    gc.set_threshold(1_000_000, 30, 100)


@contextmanager
def usual() -> Iterator[None]:
    """Collect as often as Python does by default, but only objects that are made inside the block.

    Where the caller has frozen objects already, they stay so.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(*USUAL)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
