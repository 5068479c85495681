"""The check `two_processes` of uegr.testing for many methods, in forks; test_own_method.py runs it as others do."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.forks import pair
from uegr.testing import Subject
from uegr.testing.processes import problem


def problems(subjects: Mapping[str, Subject], folder: Path) -> dict[str, str]:
    """What went wrong, by subject; one pair of processes trains all of them."""

    def body(rank: int) -> None:
        found = {name: problem(subject, folder / str(rank)) for name, subject in subjects.items()}
        (folder / f"{rank}.json").write_text(json.dumps(found))

    assert pair(body) == [0, 0]
    both = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    assert all(found.keys() == subjects.keys() for found in both)
    return {name: text for found in both for name, text in found.items() if text}
