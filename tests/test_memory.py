"""Freed memory is kept by a process that asked for it, and by nobody else."""

import os
import subprocess
import sys

import pytest

TURNS = """
import resource, sys
import torch
from uegr.memory import keep_freed
if "keep" in sys.argv:
    assert keep_freed()
for _ in range(20):  # the heap finds its size
    torch.ones(10_000_000)  # 40 MB
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    torch.ones(10_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
ELSEWHERE = not sys.platform.startswith("linux") or "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or "")
glibc = pytest.mark.skipif(ELSEWHERE, reason="only glibc gives large blocks back")


def faults(*arguments: str, **environment: str) -> int:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", TURNS, *arguments]
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


@glibc
def test_kept_memory_is_not_asked_for_again() -> None:
    assert faults("keep") < 10 < faults()  # 4 KiB a fault, or 2 MiB where the system prefers large pages


@glibc
def test_who_has_settings_of_their_own_is_left_alone() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        faults("keep", MALLOC_ARENA_MAX="2")
