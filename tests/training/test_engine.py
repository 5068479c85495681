"""RobustTrainer: bitwise transformers.Trainer for vanilla, exact accumulation, clipping before edits, refusals."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import Trainer, TrainerCallback, TrainingArguments

from tests.models.families import tiny
from uegr import RobustTrainer, methods
from uegr.errors import InputError, TrainingWarning
from uegr.methods import Method

Rows = list[dict[str, Any]]


def rows_for(model: nn.Module, count: int, regression: bool = False, seed: int = 0) -> Rows:
    """Texts of unequal length, padded to six positions."""
    generator = torch.Generator().manual_seed(seed)
    rows: Rows = []
    for i in range(count):
        length = int(torch.randint(2, 7, (1,), generator=generator)) if i % 3 else 6
        ids = torch.randint(5, 40, (6,), generator=generator)
        mask = (torch.arange(6) < length).long()
        if model.config.model_type == "xlnet":
            mask = mask.flip(0)
        label: Any = float(torch.randn((), generator=generator)) if regression else i % model.config.num_labels
        ids = torch.where(mask == 1, ids, model.config.pad_token_id)
        rows.append({"input_ids": ids, "attention_mask": mask, "labels": label})
    return rows


def arguments(folder: Path, **changes: Any) -> TrainingArguments:
    common = {
        "max_steps": 20,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-3,
        "weight_decay": 0.01,
        "warmup_steps": 2,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 5,
        "disable_tqdm": True,
        "use_cpu": True,
        "seed": 3,
    }
    return TrainingArguments(str(folder), **common | changes)


def trained(model: nn.Module, rows: Rows, args: TrainingArguments, method: Method | None, **more: Any) -> Trainer:
    torch.manual_seed(0)
    kind: Any = Trainer if method is None else RobustTrainer
    extra = {} if method is None else {"method": method}
    trainer = kind(model=model, args=args, train_dataset=rows, **extra, **more)
    trainer.train()
    return trainer


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def without_dropout(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0
    return model


CASES = {
    "bert": ("bert", 3, {}),
    "gpt2": ("gpt2", 2, {}),
    "llama": ("llama", 2, {}),
    "xlnet": ("xlnet", 2, {}),
    "bilstm": ("bilstm", 2, {}),
    "regression": ("bert", 1, {}),
    "bfloat16": ("bert", 2, {"bf16": True}),
    "without clipping": ("bert", 2, {"max_grad_norm": 0.0}),
    "two epochs with a rest": ("bert", 2, {"max_steps": -1, "num_train_epochs": 2}),
}


@pytest.mark.parametrize("case", CASES)
def test_vanilla_is_bitwise_transformers_trainer(case: str, tmp_path: Path) -> None:
    family, labels, changes = CASES[case]
    ends = []
    for method in (None, methods.vanilla()):
        model, _ = tiny(family, num_labels=labels)
        start = weights(model)
        rows = rows_for(model, 22, regression=labels == 1)
        trainer = trained(model, rows, arguments(tmp_path, **changes), method)
        ends.append((weights(model), trainer.state.log_history))
    (plain, plain_log), (robust, robust_log) = ends
    assert all(torch.equal(robust[name], plain[name]) for name in plain)
    assert any(not torch.equal(plain[name], start[name]) for name in plain)
    assert [e["loss"] for e in robust_log if "loss" in e] == [e["loss"] for e in plain_log if "loss" in e]
    norms = [[e["grad_norm"] for e in log if "grad_norm" in e] for log in (plain_log, robust_log)]
    assert norms[0] == norms[1]


STILL: dict[str, Method] = {
    "vanilla": methods.vanilla(),
    "rat": methods.rat(epsilon=0.3),
    "uegr without mask": methods.uegr(spread=0.0, selective_update=False, divergence_weight=1.0),
    "uegr": methods.uegr(spread=0.0, divergence_weight=1.0),
    "uegr refreshed every 2 steps": methods.uegr(spread=0.0, norm="token", split=2, refresh=2),
}
# The first takes num_items_in_batch, the second does not (and its two biases tie but for rounding: no masks).
ACCUMULATED = [("bert", name) for name in STILL] + [("bilstm", name) for name in ("vanilla", "uegr without mask")]


@pytest.mark.parametrize(("family", "name"), ACCUMULATED)
def test_two_times_four_is_one_times_eight(name: str, family: str, tmp_path: Path) -> None:
    """Also where the last step of an epoch has 4 and 1."""
    ends = []
    for size, times in ((8, 1), (4, 2)):
        model = without_dropout(tiny(family, num_labels=3, dtype=torch.float64)[0])
        changes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": times, "optim": "sgd"}
        args = arguments(tmp_path, **changes, max_steps=-1, num_train_epochs=2, learning_rate=0.1, warmup_steps=0)
        trainer = trained(model, rows_for(model, 13), args, STILL[name])
        ends.append((weights(model), [e["loss"] for e in trainer.state.log_history if "loss" in e]))
    (whole, whole_losses), (pieces, piece_losses) = ends
    for key in whole:
        torch.testing.assert_close(
            pieces[key], whole[key], rtol=0, atol=1e-6, msg=lambda text, key=key: f"{key}: {text}"
        )
    assert piece_losses == pytest.approx(whole_losses, abs=1e-4)


class Gradients(TrainerCallback):
    """What the optimizer is about to see, or has seen."""

    def __init__(self) -> None:
        self.before: list[dict[str, Tensor]] = []
        self.after: list[dict[str, Tensor]] = []

    def note(self, model: nn.Module) -> dict[str, Tensor]:
        return {name: p.grad.detach().clone() for name, p in model.named_parameters() if p.grad is not None}

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        self.before.append(self.note(model))  # callbacks given by the user come before the method's edits

    def on_optimizer_step(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        self.after.append(self.note(model))


def length(values: dict[str, Tensor]) -> float:
    return float(torch.cat([value.flatten() for value in values.values()]).norm())


@pytest.mark.parametrize("times", [1, 2])
def test_the_mask_edits_the_accumulated_and_clipped_gradient_once_a_step(times: int, tmp_path: Path) -> None:
    model, _ = tiny("bert")
    seen = Gradients()
    args = arguments(tmp_path, max_steps=3, max_grad_norm=1e-3, gradient_accumulation_steps=times)
    method = methods.uegr(alpha=0.95)
    trainer = trained(model, rows_for(model, 16), args, method, callbacks=[seen])
    assert len(seen.before) == len(seen.after) == 3
    for step, (before, after) in enumerate(zip(seen.before, seen.after, strict=True)):
        assert length(before) == pytest.approx(1e-3, rel=1e-3)
        again = {name: nn.Parameter(torch.zeros_like(g)) for name, g in before.items()}
        for name, parameter in again.items():
            parameter.grad = before[name].clone()
        moment = uegr_moment(trainer, step)
        (edit,) = methods.uegr(alpha=0.95).gradients
        edit.edit(again, moment)
        assert all(torch.equal(again[name].grad, after[name]) for name in after)
        assert any(not torch.equal(before[name], after[name]) for name in after)


def uegr_moment(trainer: Any, step: int) -> Any:
    from uegr import Moment

    return Moment(step, trainer.state.max_steps, trainer.epoch_steps, trainer.args.seed)


def test_the_log_shows_the_mean_of_every_term(tmp_path: Path) -> None:
    for times in (1, 2):
        model, _ = tiny("bert")
        args = arguments(tmp_path, max_steps=6, logging_steps=3, gradient_accumulation_steps=times)
        history = trained(model, rows_for(model, 16), args, methods.uegr()).state.log_history
        entries = [entry for entry in history if "loss" in entry]
        assert len(entries) == 2
        for entry in entries:
            parts = [entry[f"loss_{name}"] for name in ("task", "adversarial", "divergence")]
            assert sum(parts) == pytest.approx(entry["loss"], abs=2e-4)
            assert 0.3 < parts[0] < 1.5


def test_the_method_given_is_not_changed_by_training(tmp_path: Path) -> None:
    method = methods.uegr(refresh=2)
    model, _ = tiny("bert")
    trained(model, rows_for(model, 16), arguments(tmp_path, max_steps=3), method)
    assert method.state_dict() == {}


def test_a_run_does_not_depend_on_what_ran_before_it(tmp_path: Path) -> None:
    ends = []
    for _ in range(2):
        model, _ = tiny("bert")
        trained(model, rows_for(model, 16), arguments(tmp_path, max_steps=4), methods.uegr())
        ends.append(weights(model))
        torch.rand(7)
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_rescale_update_works_in_training(tmp_path: Path) -> None:
    """The optimizer sees the whole gradient; what it moves is masked."""
    seen = Gradients()
    model, _ = tiny("bert")
    start = weights(model)
    args = arguments(tmp_path, max_steps=1, weight_decay=0.0, warmup_steps=0)
    trained(model, rows_for(model, 8), args, methods.uegr(rescale="update", alpha=0.95), callbacks=[seen])
    assert all(torch.equal(seen.before[0][name], seen.after[0][name]) for name in seen.after[0])
    moved = {name: weights(model)[name] != value for name, value in start.items()}
    share = sum(int(m.sum()) for m in moved.values()) / sum(int((g != 0).sum()) for g in seen.before[0].values())
    assert 0.05 < share < 0.9


@pytest.mark.parametrize("epochs", [2])
def test_the_moment_knows_the_steps_of_an_epoch(epochs: int, tmp_path: Path) -> None:
    model, _ = tiny("bert")
    args = arguments(tmp_path, max_steps=-1, num_train_epochs=epochs, gradient_accumulation_steps=2)
    trainer: Any = trained(model, rows_for(model, 18), args, methods.uegr(refresh="epoch", epsilon_warmup=0.5))
    assert trainer.epoch_steps == 3  # five batches of four, two at a time
    assert trainer.state.max_steps == 6
    assert trainer.moment().total == 6
    (edit,) = trainer.method.gradients
    assert edit.roots
    assert not edit.squares  # the window closed with the epoch


def test_refusals_come_at_the_start_in_one_line(tmp_path: Path) -> None:
    def refuse(family: str, method: Method, line: str, still: bool = False, **changes: Any) -> None:
        model, _ = tiny(family)
        if still:
            without_dropout(model)
        with pytest.raises(InputError, match=line) as caught:
            RobustTrainer(
                model=model, args=arguments(tmp_path, **changes), train_dataset=rows_for(model, 4), method=method
            )
        assert "\n" not in str(caught.value)

    refuse("llama", methods.uegr(), "uegr: expected a model with nn.Dropout modules .* got LlamaForSequence")
    refuse("llama", methods.rat(rates=(0.1, 0.1)), "rat: expected a model with nn.Dropout modules")
    refuse("llama", methods.rat(), "rat: expected a model with nn.Dropout modules")
    refuse("bert", methods.uegr(), "uegr: expected a dropout rate above 0, got Bert.* all rates 0", still=True)


def a_trainer(folder: Path, method: Method, **changes: Any) -> RobustTrainer:
    model, _ = tiny("bert")
    return RobustTrainer(
        model=model, args=arguments(folder, **changes), train_dataset=rows_for(model, 4), method=method
    )


def test_accumulating_what_is_not_a_mean_over_examples_is_said(tmp_path: Path) -> None:
    with pytest.warns(TrainingWarning, match="fgm: 2 micro-batches per step .* norm='matrix'"):
        a_trainer(tmp_path, methods.fgm(norm="matrix"), gradient_accumulation_steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        a_trainer(tmp_path, methods.fgm(norm="matrix"))
        a_trainer(tmp_path, methods.fgm(), gradient_accumulation_steps=2)
