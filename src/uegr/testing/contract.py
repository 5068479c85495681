"""All checks by name, for one method."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from uegr.errors import InputError, did_you_mean
from uegr.methods.contract import MethodFactory
from uegr.testing import steps, trainings
from uegr.testing.processes import two_processes
from uegr.testing.subject import Subject

CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        steps.learns,
        steps.leaves_no_trace,
        steps.survives_broken_backward,
        steps.survives_broken_forward,
        steps.counts_its_passes,
        steps.frees_its_graphs,
        steps.trains_lora,
        steps.ignores_padding,
        steps.regression,
        steps.token_classification,
        steps.causal_language_model,
        steps.autocast,
        trainings.accumulates,
        trainings.clips,
        trainings.trains_in_bfloat16,
        trainings.resumes,
        two_processes,
    )
}
TASKS = frozenset({"regression", "token_classification", "causal_language_model"})


@dataclass(frozen=True)
class Check:
    """One check of one method: call it; it returns None or raises. Its `str` is its name."""

    name: str
    subject: Subject

    def __call__(self) -> None:
        CHECKS[self.name](self.subject)

    def __str__(self) -> str:
        return self.name


def checks(
    factory: MethodFactory,
    *,
    options: Mapping[str, Any] | None = None,
    per_check: Mapping[str, Mapping[str, Any]] | None = None,
    refuses: Collection[str] = (),
) -> list[Check]:
    """The checks of the methods that `factory` makes, for pytest to parametrise over.

    `options` are passed to the factory by every check; choose sizes that suit tiny models, whose word vectors are some
    thirty times shorter than pretrained ones (`{"epsilon": 0.05}` instead of 1). `per_check` adds options for the check
    of that name. `refuses` names the tasks that the method must refuse: "regression", "token_classification",
    "causal_language_model". A method whose objective says in `batchwise` why its loss is not a mean over examples is
    not checked for accumulation.

    >>> from uegr import methods
    >>> "ignores_padding" in map(str, checks(methods.vanilla))
    True
    """
    check_names(per_check or {}, CHECKS)
    check_names(refuses, TASKS)
    return checks_of(Subject(factory, dict(options or {}), dict(per_check or {}), frozenset(refuses)))


def checks_of(subject: Subject) -> list[Check]:
    """The checks that apply to this subject."""
    left_out = {"accumulates"} if subject.made("accumulates").objective.batchwise else set()
    return [Check(name, subject) for name in CHECKS if name not in left_out]


def check_names(names: Collection[str], known: Collection[str]) -> None:
    """Raise on a name that does not exist."""
    for name in names:
        if name not in known:
            raise InputError(f"expected the name of a check, got {name}; {did_you_mean(name, known)}")


def check_method(
    factory: MethodFactory,
    *,
    options: Mapping[str, Any] | None = None,
    per_check: Mapping[str, Mapping[str, Any]] | None = None,
    refuses: Collection[str] = (),
) -> None:
    """Run all checks; one AssertionError names every check that failed and why. The arguments are those of `checks`."""
    failed: dict[str, Exception] = {}
    found = checks(factory, options=options, per_check=per_check, refuses=refuses)
    for check in found:
        try:
            check()
        except Exception as error:
            failed[check.name] = error
    if failed:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failed.items()]
        message = f"{factory().name} fails {len(failed)} of {len(found)} checks\n" + "\n".join(lines)
        raise AssertionError(message) from next(iter(failed.values()))
