"""Another loss than the model's own: weights of classes, a function of the user's; every method trains with it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor, nn

import uegr
from tests.models.families import tiny
from tests.training.test_engine import arguments, rows_for, trained, weights, without_dropout
from uegr import RobustTrainer, methods
from uegr.errors import InputError
from uegr.methods import METHODS
from uegr.testing import Subject
from uegr.training.losses import CrossEntropy, OwnLoss, class_weights

ONCE = {"max_steps": 1, "learning_rate": 0.1, "warmup_steps": 0, "optim": "sgd", "weight_decay": 0.0}


def calls_of(**given: Any) -> Any:
    """A function that is called as the trainer calls it, and counts."""
    seen: list[tuple[int, ...]] = []

    def loss(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        assert num_items_in_batch is None  # the trainer divides by the rows of a step itself
        seen.append(tuple(labels.shape))
        return 3 * nn.functional.cross_entropy(outputs["logits"], labels, **given)

    return loss, seen


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_a_loss_of_the_user_s(name: str, tmp_path: Path) -> None:
    loss, seen = calls_of()
    model, _ = tiny("bert")
    before = weights(model)
    method = Subject(METHODS[name]).made()  # with a table of substitutes, where it attacks by words
    trained(model, rows_for(model, 8), arguments(tmp_path, max_steps=2), method, compute_loss_func=loss)
    assert seen
    assert any(not torch.equal(before[key], value) for key, value in weights(model).items())


def test_the_loss_is_in_the_place_of_the_model_s_own(tmp_path: Path) -> None:
    ends = []
    for times, more in ((3.0, {"compute_loss_func": calls_of()[0]}), (1.0, {})):
        model = without_dropout(tiny("bert")[0])
        rate = ONCE | {"learning_rate": 0.1 / times}
        trained(model, rows_for(model, 4), arguments(tmp_path, **rate, max_grad_norm=0.0), methods.fgm(), **more)
        ends.append(weights(model))
    for name, value in ends[1].items():
        assert torch.allclose(ends[0][name], value, atol=1e-6), name


def test_evaluation_shows_the_same_loss_and_the_model_keeps_its_own(tmp_path: Path) -> None:
    losses, logits = [], []
    for more in ({}, {"compute_loss_func": calls_of()[0]}):
        model, _ = tiny("bert")
        rows = rows_for(model, 6)
        trainer = RobustTrainer(model=model, args=arguments(tmp_path), eval_dataset=rows, method="vanilla", **more)
        losses.append(trainer.evaluate()["eval_loss"])
        logits.append(trainer.predict(rows).predictions)
        batch = trainer.data_collator(rows)
        with torch.no_grad():
            own = model.eval()(**batch)
        assert torch.allclose(own["loss"], nn.functional.cross_entropy(own["logits"], batch["labels"]))
    assert losses[1] == pytest.approx(3 * losses[0], rel=1e-4)
    assert (logits[0] == logits[1]).all()


@pytest.mark.parametrize("name", ["vanilla", "uegr"])
def test_weights_of_classes_accumulate_exactly(name: str, tmp_path: Path) -> None:
    ends = []
    for size, times in ((8, 1), (4, 2)):
        model = without_dropout(tiny("bert")[0])
        method = methods.uegr(spread=0.0, submodels=1) if name == "uegr" else methods.vanilla()
        rows = rows_for(model, 8)
        for place, row in enumerate(rows):
            row["labels"] = int(place == 5)  # one micro-batch has no row of the rare class
        sizes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": times}
        trained(model, rows, arguments(tmp_path, **ONCE, **sizes), method, balance="weights")
        ends.append(weights(model))
    for key, value in ends[0].items():
        assert torch.allclose(value, ends[1][key], atol=1e-5), key


def test_every_class_counts_the_same_in_the_weighted_loss() -> None:
    labels = torch.tensor([0] * 300 + [1] * 12)
    found = class_weights(labels.numpy(), 2)
    assert torch.allclose(found[labels].mean(), torch.tensor(1.0))
    logits = torch.zeros(312, 2, requires_grad=True)
    CrossEntropy(found)({"logits": logits}, labels).backward()
    assert float(logits.grad[labels == 0, 0].sum()) == pytest.approx(float(logits.grad[labels == 1, 1].sum()), rel=1e-4)


def test_a_block_inside_another_changes_nothing_and_an_error_removes_the_hooks() -> None:
    model, _ = tiny("bert")
    own = OwnLoss(calls_of()[0])
    with pytest.raises(KeyError), own.applied(model), own.applied(model):
        raise KeyError
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_what_cannot_be_balanced_is_one_line(tmp_path: Path) -> None:
    def refuse(line: str, rows: Any = None, classes: int = 2, **more: Any) -> None:
        model, _ = tiny("bert", num_labels=classes)
        rows = rows_for(model, 4) if rows is None else rows
        with pytest.raises(InputError, match=line) as caught:
            RobustTrainer(model=model, args=arguments(tmp_path), train_dataset=rows, method="vanilla", **more)
        assert "\n" not in str(caught.value)

    refuse("weights, sampling or None, got 'weight'", balance="weight")
    refuse("expected compute_loss_func, or balance='weights'", balance="weights", compute_loss_func=calls_of()[0])
    model, _ = tiny("bert")
    refuse("one class per row to balance", rows_for(model, 4, regression=True), classes=1, balance="weights")
    refuse("expected labels in the training rows", [{"input_ids": [5, 6]}], balance="weights")
    refuse("expected compute_loss_func to be a function of outputs and labels, got str", compute_loss_func="mse")


def test_a_loss_function_that_returns_none_is_named(tmp_path: Path) -> None:
    model, _ = tiny("bert")
    given: dict[str, Any] = {"args": arguments(tmp_path), "train_dataset": rows_for(model, 4), "method": "vanilla"}
    with pytest.raises(
        InputError, match="expected compute_loss_func to return a tensor, got NoneType; return the loss"
    ):
        RobustTrainer(model=model, compute_loss_func=lambda *outputs, **more: None, **given).train()


def test_labels_that_are_names_are_one_line(tmp_path: Path) -> None:
    model, _ = tiny("bert")
    rows = [{"input_ids": [5, 6], "label": "good"}] * 4
    for given in (rows, Dataset.from_list(rows)):
        with pytest.raises(
            InputError, match=r"class numbers in the column label .* got names such as 'good'; number"
        ) as found:
            RobustTrainer(model=model, args=arguments(tmp_path), train_dataset=given, method="vanilla")
        assert "uegr.data.load" in str(found.value)


def test_a_batch_without_labels_is_one_line(tmp_path: Path) -> None:
    model, _ = tiny("bert")
    rows = [{key: value for key, value in row.items() if key != "labels"} for row in rows_for(model, 4)]
    for method in ("vanilla", "uegr"):
        with pytest.raises(InputError, match="expected labels in each batch, got only input_ids, attention_mask"):
            RobustTrainer(model=model, args=arguments(tmp_path), train_dataset=rows, method=method).train()


def test_a_loop_of_ones_own_gets_the_same_lines() -> None:
    model, _ = tiny("bert")
    batch = {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    with pytest.raises(ValueError, match=r"expected a model that returns a loss .*; add labels to the batch"):
        uegr.backward(methods.uegr(), model, batch)
    wrong: Any = methods.uegr
    with pytest.raises(InputError, match=r"got 'uegr'; call it: methods\.uegr\(\)"):
        uegr.backward(wrong, model, batch | {"labels": torch.tensor([0])})
    assert uegr.backward("fgm", model, batch | {"labels": torch.tensor([0])}).keys() == {"task", "adversarial"}


def test_a_method_by_name_and_one_that_was_not_called(tmp_path: Path) -> None:
    model, _ = tiny("bert")
    given: dict[str, Any] = {"model": model, "args": arguments(tmp_path), "train_dataset": rows_for(model, 4)}
    assert repr(RobustTrainer(**given, method="uegr").method) == repr(methods.uegr())
    wrong: Any = methods.uegr
    for method, line in (
        (wrong, "got 'uegr'; call it: methods.uegr()"),
        ("uger", "did you mean uegr?"),
        (7, "got 7, such as methods.uegr()"),
    ):
        with pytest.raises(InputError) as caught:
            RobustTrainer(**given, method=method)
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("temperature", "smoothing", "weighted"), [(1.0, 0.0, False), (4.0, 0.0, False), (0.5, 0.2, True)]
)
def test_the_softened_loss_is_the_literal_one(temperature: float, smoothing: float, weighted: bool) -> None:
    """In float64, with its gradient at the logits, from the sums that the docstring writes."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    labels, weight = torch.tensor([0, 2, 1, 1, 0]), torch.tensor([0.5, 2.0, 1.5], dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for row, label in zip(logits, labels.tolist(), strict=True):
        p = [torch.exp(z / temperature) / sum(torch.exp(other / temperature) for other in row) for z in row]
        own = -(1 - smoothing) * torch.log(p[label]) - smoothing / 3 * sum(torch.log(each) for each in p)
        total = total + (weight[label] if weighted else 1.0) * own
    expected = total / 5
    found = CrossEntropy(weight if weighted else None, temperature, smoothing)({"logits": logits}, labels)
    slopes = [torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (found, expected)]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["vanilla", "uegr"])
def test_temperature_and_smoothing_reach_every_loss_of_a_method(name: str, tmp_path: Path) -> None:
    """The trainer's own are those of a function that says the same."""
    ends = []
    soft = CrossEntropy(None, 3.0, 0.1)
    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"label_smoothing_factor": 0.1}, {"temperature": 3.0}),
        ({}, {"compute_loss_func": soft}),
        ({}, {}),
    ]
    for changes, more in ways:
        model, _ = tiny("bert")
        trained(model, rows_for(model, 8), arguments(tmp_path, max_steps=2, **changes), METHODS[name](), **more)
        ends.append(weights(model))
    assert all(torch.equal(value, ends[1][key]) for key, value in ends[0].items())
    assert any(not torch.equal(value, ends[2][key]) for key, value in ends[0].items())


def test_what_cannot_be_softened_is_refused_in_one_line(tmp_path: Path) -> None:
    def refuse(line: str, labels: int = 2, smoothing: float = 0.0, **more: Any) -> None:
        model, _ = tiny("bert", num_labels=labels)
        model.config.problem_type = "regression" if labels == 1 else None
        args = arguments(tmp_path, label_smoothing_factor=smoothing)
        with pytest.raises(InputError, match=line) as caught:
            RobustTrainer(model=model, args=args, train_dataset=rows_for(model, 4), method="vanilla", **more)
        assert "\n" not in str(caught.value)

    refuse("expected temperature > 0 and 0 <= label_smoothing < 1, got 0 and 0", temperature=0.0)
    refuse("expected one class per row .* got a regression; leave them out", labels=1, temperature=2.0)
    refuse("expected one class per row .* got a regression; leave them out", labels=1, smoothing=0.1)
    refuse("expected compute_loss_func, or balance", temperature=2.0, compute_loss_func=calls_of()[0])
    with pytest.raises(
        InputError, match="expected one class per row for a temperature or smoothed labels, got several"
    ):
        CrossEntropy(None, 2.0)({"logits": torch.zeros(2, 3, 4)}, torch.zeros(2, 3, dtype=torch.long))
