"""DeepSpeed steps the optimizer after every backward: methods with several backwards per step do not start under it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType

from tests.training.test_engine import a_trainer
from uegr import methods
from uegr.errors import InputError
from uegr.training.requirements import refuse


@pytest.mark.parametrize("name", methods.METHODS)
def test_deepspeed_is_refused_where_a_step_has_several_backwards(name: str, tmp_path: Path) -> None:
    """accelerate's wrapper calls engine.step() after every backward, and no_sync does not stop it."""
    trainer = a_trainer(tmp_path, methods.vanilla())
    trainer.is_deepspeed_enabled = True
    trainer.method = methods.METHODS[name]()
    objective = trainer.method.objective
    objective.check = lambda model: None  # type: ignore[method-assign]
    if objective.yields == 1 and objective.keeps_weights and not trainer.method.gradients:
        refuse(trainer)
        return
    with pytest.raises(InputError, match=r"expected .* got .*DeepSpeed.*torchrun|for DeepSpeed.* got .*torchrun"):
        refuse(trainer)


@pytest.fixture
def under_deepspeed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """accelerate's own plugin and state, as `accelerate launch --use_deepspeed` sets them up.

    DeepSpeed is not installed here: only what asks for its package is replaced, and nothing is trained with it.
    """
    monkeypatch.setattr("accelerate.accelerator.is_deepspeed_available", lambda: True)
    monkeypatch.setattr("accelerate.accelerator.compare_versions", lambda *args: False)
    monkeypatch.setattr("accelerate.utils.DeepSpeedPlugin.set_deepspeed_weakref", lambda plugin: None)
    monkeypatch.setattr("transformers.trainer.propagate_args_to_deepspeed", lambda *args: None)
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.usefixtures("under_deepspeed")
@pytest.mark.parametrize("name", ["fgm", "pgd", "freelb", "rat"])
def test_under_deepspeed_a_trainer_of_several_backwards_does_not_start(name: str, tmp_path: Path) -> None:
    line = rf"one backward per step for DeepSpeed.* got [23] of {name}; start with torchrun \(DDP\), without DeepSpeed"
    with pytest.raises(InputError, match=line):
        a_trainer(tmp_path, methods.METHODS[name]())
    assert AcceleratorState().distributed_type is DistributedType.DEEPSPEED
    assert a_trainer(tmp_path, methods.vanilla()).is_deepspeed_enabled
