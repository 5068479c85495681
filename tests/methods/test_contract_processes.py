"""The contract of every method, concluded: two processes stay equal. One pair of processes trains all methods."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from uegr.methods import METHODS

ROOT = Path(__file__).parents[2]


def test_two_processes_stay_equal(tmp_path: Path) -> None:
    said = run_pair(tmp_path)
    problems = {line["method"]: line["problem"] for line in said if line["problem"]}
    assert not problems
    assert {line["method"] for line in said} == set(METHODS)


def run_pair(folder: Path) -> list[dict[str, str]]:
    """What both processes said of each method; the errors of a process that failed are the test's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    running = []
    for rank in range(2):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        with (folder / f"{rank}.out").open("w") as out, (folder / f"{rank}.err").open("w") as err:
            command = [sys.executable, "-m", "tests.methods.two_processes"]
            running.append(subprocess.Popen(command, cwd=ROOT, env=shared | place, stdout=out, stderr=err))
    codes = finished(running)
    errors = "\n".join((folder / f"{rank}.err").read_text()[-3000:] for rank in range(2))
    lines = [line for rank in range(2) for line in (folder / f"{rank}.out").read_text().splitlines()]
    assert codes == [0, 0], f"{lines[-1:]}\n{errors}"
    return [json.loads(line) for line in lines if line.startswith('{"method"')]


def finished(running: list[subprocess.Popen[bytes]]) -> list[int]:
    """The exit codes; no process is left behind."""
    try:
        return [process.wait(timeout=400) for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
