"""The contract of uegr.testing for readings of a paper that are not the default."""

from pathlib import Path

import pytest

from tests.methods.tiny_models import REFUSALS
from tests.methods.two_processes import problems
from uegr.methods import METHODS
from uegr.testing import Check, Subject
from uegr.testing.contract import checks_of

STILL = {"autocast": {"spread": 0.0}, "accumulates": {"spread": 0.0}}  # as uegr in tiny_models.py
NO_CLASSES = frozenset(task for task, names in REFUSALS.items() if "rift" in names)
READINGS = {
    "fisher of the layers": Subject(METHODS["uegr"], {"score": "fisher", "scope": "encoder"}, STILL),
    "live, sign and sum": Subject(
        METHODS["uegr"], {"scope": "live", "norm": "sign", "epsilon": 0.01, "adversarial_reduction": "sum"}, STILL
    ),
    "algorithm": Subject(METHODS["uegr"], {"keep": "algorithm", "beta": 1.0}, STILL),
    "single weights": Subject(METHODS["mixout"], {"unit": "weight"}),
    "informative": Subject(METHODS["rift"], {"attack": False, "projection": (8, 4)}, {}, NO_CLASSES),
    "two adversaries": Subject(METHODS["uegr_plus"], {"adversary": "both", "epsilon_relative": True}, STILL),
    "middle of the encoder": Subject(METHODS["uegr_plus"], {"depth": 0.5, "epsilon_relative": True}, STILL),
    "every second step": Subject(METHODS["uegr_plus"], {"every": 2}, STILL),
    "both sides": Subject(METHODS["ascc"], {"side": "both", "steps": 2}),
}
LEFT_OUT = {
    # Its lower layers run once: their graph lives until the last backward, and a pass counts by its layers
    # (test_uegr_plus_depth.py). Decoders are refused.
    "middle of the encoder": {"frees_its_graphs", "counts_its_passes", "trains_lora", "ignores_padding"}
    | {"causal_language_model"},
    "every second step": {"counts_its_passes"},  # the mean of two steps
}
EVERY = [
    pytest.param(check, id=f"{name}-{check}")
    for name, subject in READINGS.items()
    for check in checks_of(subject)
    if check.name not in {"two_processes", "learns", *LEFT_OUT.get(name, ())}  # a reading learns as its method does
]


@pytest.mark.parametrize("check", EVERY)
def test_every_reading_passes(check: Check) -> None:
    check()


def test_two_processes_stay_equal(tmp_path: Path) -> None:
    """One pair of processes trains all readings."""
    assert problems(READINGS, tmp_path) == {}
