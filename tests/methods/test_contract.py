"""The contract of uegr.testing for every entry of METHODS; adding a method adds it here.

test_limits.py and test_references.py test the equations.
"""

from pathlib import Path

import pytest

from tests.methods.tiny_models import PER_CHECK, REFUSALS, subject
from tests.methods.two_processes import problems
from uegr.methods import METHODS
from uegr.testing import CHECKS, Check
from uegr.testing.contract import TASKS, checks_of

EVERY = [
    pytest.param(check, id=f"{name}-{check}")
    for name in METHODS
    for check in checks_of(subject(name))
    if check.name != "two_processes"
]


@pytest.mark.parametrize("check", EVERY)
def test_every_method_passes(check: Check) -> None:
    check()


def test_two_processes_stay_equal(tmp_path: Path) -> None:
    """One pair of processes trains all methods."""
    assert problems({name: subject(name) for name in METHODS}, tmp_path) == {}


def test_the_tables_name_checks_and_methods() -> None:
    assert PER_CHECK.keys() <= CHECKS.keys()
    assert REFUSALS.keys() <= TASKS
    assert {name for rows in PER_CHECK.values() for name in rows} <= METHODS.keys()
