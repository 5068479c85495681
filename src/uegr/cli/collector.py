"""Python's garbage collector: rare while the libraries are imported, usual while a model is trained.

Importing torch, datasets and transformers makes a million objects that stay. To look through them again and again takes
a sixth of the time of the imports and finds nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

USUAL = gc.get_threshold()


def rare() -> None:
    """For a process of our own: objects that live long are looked through no more."""
    gc.set_threshold(1_000_000, 30, 100)


@contextmanager
def usual() -> Iterator[None]:
    """Collections as often as Python means them to be, but only among objects that are made in here."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*USUAL)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
