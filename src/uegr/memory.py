"""Memory that is freed is kept for the next step.

glibc gives a large block back to the system when it is freed, and a training step on a CPU frees and asks for the same
blocks again and again: the system then clears every page anew, which was a seventh to a fifth of a step measured alone
(benchmarks/perf/freed_memory.py). The price: a process held 3 to 10% more at its peak (docs/results.md).
"""

import ctypes
import os
import sys

SETTINGS = {  # glibc's name in the environment: (its number in malloc.h, value)
    "MALLOC_MMAP_MAX_": (-4, 0),  # no block is a mapping of its own
    "MALLOC_TRIM_THRESHOLD_": (-1, 2**31 - 1),  # bytes at the heap's end that may lie idle
    "MALLOC_TOP_PAD_": (-2, 2**26),  # and are asked for at once
}


def keep_freed() -> bool:
    """Keep freed memory, here and in processes that are started from here; whether that was done.

    Who has set one of glibc's own variables is left alone, and so is any other C library.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or not sys.platform.startswith("linux"):
        return False
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    os.environ.update({name: str(value) for name, (_, value) in SETTINGS.items()})
    return all(set_option(number, value) == 1 for number, value in SETTINGS.values())
