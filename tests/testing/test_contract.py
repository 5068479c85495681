"""Each check of uegr.testing finds the fault that it is for."""

from pathlib import Path
from typing import Any

import pytest

from tests.methods.two_processes import problems
from tests.testing import broken_methods as broken
from uegr import Method
from uegr.errors import InputError
from uegr.testing import CHECKS, Check, Subject, check_method, checks

FAULTS = {
    "learns": broken.Nothing,
    "leaves_no_trace": broken.Hook,
    "survives_broken_backward": broken.Mode,
    "survives_broken_forward": broken.Mode,
    "counts_its_passes": broken.Passes,
    "frees_its_graphs": broken.Graph,
    "trains_lora": broken.Nothing,
    "ignores_padding": broken.Padded,
    "regression": broken.Rude,
    "token_classification": broken.Nothing,
    "causal_language_model": broken.Nothing,
    "accumulates": broken.Summed,
    "clips": broken.Nothing,
    "trains_in_bfloat16": broken.Nothing,
    "resumes": broken.Forgetful,
}


def made(objective: type[Any]) -> Any:
    return lambda: Method(objective())


@pytest.mark.parametrize(("name", "fault"), FAULTS.items())
def test_a_check_finds_its_fault(name: str, fault: type[Any]) -> None:
    with pytest.raises(AssertionError):
        CHECKS[name](Subject(made(fault)))


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "two_processes"])
def test_plain_fine_tuning_passes(name: str) -> None:
    Check(name, Subject(broken.plain))()


def test_a_method_that_diverges_between_processes_is_found_and_another_is_not(tmp_path: Path) -> None:
    found = problems({"diverging": Subject(broken.diverging), "plain": Subject(broken.plain)}, tmp_path)
    assert found.keys() == {"diverging"}
    assert "differs between two processes" in found["diverging"]


def test_a_refusal_must_be_declared_and_have_a_remedy() -> None:
    with pytest.raises(AssertionError, match="in `refuses`, got: no"):
        CHECKS["regression"](Subject(made(broken.Rude)))
    with pytest.raises(AssertionError, match=r"expected \.\.\., got \.\.\.; remedy"):
        CHECKS["regression"](Subject(made(broken.Rude), refuses=frozenset({"regression"})))
    with pytest.raises(AssertionError, match="expected a refusal"):
        CHECKS["regression"](Subject(broken.plain, refuses=frozenset({"regression"})))


def test_one_call_names_every_check_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHECKS.keys() - {"counts_its_passes", "leaves_no_trace", "frees_its_graphs"}:
        monkeypatch.delitem(CHECKS, name)
    check_method(broken.plain)
    with pytest.raises(AssertionError, match=r"fails 1 of 3 checks\ncounts_its_passes: .*\(2, 1\), got \(1.0, 1.0\)"):
        check_method(made(broken.Passes))


def test_a_batchwise_loss_is_not_checked_for_accumulation() -> None:
    class Declared(broken.Summed):
        batchwise = "it is a sum"

    assert "accumulates" in [str(check) for check in checks(made(broken.Summed))]
    assert "accumulates" not in [str(check) for check in checks(made(Declared))]


def test_a_name_that_is_not_a_check_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean learns"):
        checks(broken.plain, per_check={"learn": {}})
    with pytest.raises(InputError, match="expected the name of a check, got everything"):
        checks(broken.plain, refuses=["everything"])


def test_a_method_of_the_main_module_cannot_be_checked_in_two_processes() -> None:
    def factory() -> Method:
        return Method(broken.Plain())

    factory.__module__ = "__main__"
    with pytest.raises(AssertionError, match="a module that a second process can import"):
        CHECKS["two_processes"](Subject(factory))
