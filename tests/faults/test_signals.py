"""SIGTERM before a command works. `signals.py` has the signals in the middle of one."""

import subprocess
import sys
from pathlib import Path


def test_a_command_without_checkpoints_ends_at_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys, types\nfrom uegr.cli import main\n"
        "sys.stdin = types.SimpleNamespace(read=lambda: signal.raise_signal(signal.SIGTERM))\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "predict", tmp_path, "-"], capture_output=True, text=True)
    assert done.stderr == f"\nuegr: interrupted; run it again with: uegr predict {tmp_path} -\n"
    assert (done.returncode, done.stdout) == (143, "")
