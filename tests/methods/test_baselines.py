"""What single baselines promise beyond the contract."""

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.methods.reference_baselines import at, kl_both_ways, logits_of
from tests.methods.tiny_models import made
from uegr.methods import METHODS, Method
from uegr.methods import pgd as make_pgd
from uegr.pieces.schedule import Moment
from uegr.testing.models import batch_for, classifier, spread_out
from uegr.testing.subject import EARLY, LATE, gradients, step
from uegr.training.step import accumulate


def test_both_passes_of_sam_see_the_same_dropout_mask() -> None:
    model = classifier(dtype=torch.float64)
    step(METHODS["vanilla"](), model, batch_for(model))
    once, after = gradients(model), torch.rand(1)
    step(made("sam", rho=0.0), model, batch_for(model))
    assert torch.equal(torch.rand(1), after)  # as many numbers are drawn as by one pass
    assert all(torch.equal(gradient, once[key]) for key, gradient in gradients(model).items())


def test_all_passes_of_freelb_see_the_same_dropout_mask() -> None:
    found = []
    for steps in (1, 4):
        model = classifier(dtype=torch.float64)
        step(made("freelb", steps=steps, epsilon=0.0), model, batch_for(model))
        found.append((gradients(model), torch.rand(1)))
    (once, after), (mean, later) = found
    assert torch.equal(after, later)
    for key, gradient in mean.items():
        torch.testing.assert_close(gradient, once[key], rtol=1e-12, atol=1e-14)


def test_the_memory_of_freelb_does_not_grow_with_its_steps() -> None:
    peaks = [peak_of_saved_bytes(made("freelb", steps=steps)) for steps in (1, 4)]
    assert peaks[0] == peaks[1] == peak_of_saved_bytes(METHODS["vanilla"]())


def peak_of_saved_bytes(method: Method) -> int:
    """The most that autograd ever holds for backwards to come."""
    model = classifier()
    now, peak = 0, 0

    class Held:
        def __init__(self, tensor: Tensor) -> None:
            nonlocal now, peak
            self.tensor = tensor.detach()
            now += tensor.nbytes
            peak = max(peak, now)

        def __del__(self) -> None:
            nonlocal now
            now -= self.tensor.nbytes

    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        step(method, model, batch_for(model))
    return peak


@pytest.mark.parametrize("norm", ["example", "token", "max"])
def test_pgd_climbs_within_the_ball_and_leaves_padding_alone(norm: str) -> None:
    model = classifier(dropout=False, dtype=torch.float64)
    batch = batch_for(model)
    method = make_pgd(epsilon=0.3, step=0.1, norm=norm)
    delta = method.objective.attacked(model, batch)
    assert all(weight.grad is None for weight in model.parameters())
    assert not delta[batch["attention_mask"] == 0].any()
    for i, row in enumerate(delta):
        for token in row if norm != "example" else [row]:
            size = max(map(abs, token.tolist())) if norm == "max" else float(token.norm())
            assert size <= 0.3 + 1e-12, i
    assert bool(loss(model, batch, delta) > loss(model, batch, torch.zeros_like(delta)))


def loss(model: nn.Module, batch: dict[str, Tensor], move: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits_of(model, batch, move), batch["labels"])


def test_the_teacher_of_smart_is_an_average_that_follows_once_a_step() -> None:
    model = classifier(dropout=False, dtype=torch.float64)
    batch = batch_for(model)
    method = made("smart", momentum=0.9, proximal=2.0)
    first = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    step(method, model, batch, moment=Moment(0))
    spread_out(model)
    second = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    for _ in range(2):  # two micro-batches of one step
        terms = step(method, model, batch, moment=Moment(1))
    average = {key: 0.9 * first[key] + 0.1 * second[key] for key in first}
    goal = logits_of(at(model, {key: average[key] - second[key] for key in first}), batch)
    expected = 2.0 * kl_both_ways(logits_of(model, batch), goal.detach())
    assert float(expected.detach()) > 0.01
    torch.testing.assert_close(terms["proximal"], expected.detach(), rtol=1e-9, atol=1e-12)


def test_probing_trains_the_head_alone_and_then_everything() -> None:
    model = classifier()
    method, batch = made("lpft", probing=0.5), batch_for(classifier())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for number in range(4):
        before = {key: weight.detach().clone() for key, weight in model.named_parameters()}
        step(method, model, batch, moment=Moment(number, total=4))
        optimizer.step()
        moved = {key for key, weight in model.named_parameters() if not torch.equal(weight, before[key])}
        if number < 2:
            assert moved == {"classifier.weight", "classifier.bias"}
        else:
            assert "bert.encoder.layer.0.output.dense.weight" in moved


def test_probing_ends_where_it_was_to_end_when_a_longer_training_goes_on() -> None:
    before, after = made("lpft", probing=0.5), made("lpft", probing=0.5)
    before.objective.begin(Moment(0, total=4))
    after.load_state_dict(before.state_dict())
    after.objective.begin(Moment(2, total=100))
    assert not after.objective.probing(Moment(2, total=100))
    assert after.objective.probing(Moment(1, total=100))


def test_probing_builds_no_graph_below_the_head() -> None:
    model = classifier()
    seen: list[bool] = []
    hook = model.bert.register_forward_hook(lambda m, i, output: seen.append(output.last_hidden_state.requires_grad))
    losses = [step(made("lpft"), model, batch_for(model), moment=moment)["task"] for moment in (EARLY, LATE)]
    hook.remove()
    assert seen == [False, True]
    assert torch.equal(*losses)  # nothing is added to the task's own loss


def test_awp_moves_matrices_in_proportion_to_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier(dtype=torch.float64)
    start = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    moved: dict[str, float] = {}

    def look(value: Tensor) -> None:
        for key, weight in model.named_parameters():
            moved[key] = float((weight.detach() - start[key]).norm() / start[key].norm())
        value.backward()

    accumulate(made("awp", gamma=0.02), model, batch_for(model), LATE, look)
    for key, far in moved.items():
        expected = 0.02 if start[key].dim() > 1 else 0.0
        assert math.isclose(far, expected, rel_tol=1e-9, abs_tol=1e-15), key


REFUSED: list[tuple[Callable[..., Method], dict[str, Any], str]] = [
    (METHODS["pgd"], {"steps": 0}, "pgd: expected steps >= 1, got 0"),
    (METHODS["pgd"], {"norm": "matrix"}, "pgd: expected norm example, token, max or sign, got 'matrix'"),
    (METHODS["pgd"], {"step": -1.0}, "pgd: expected step >= 0, got -1.0"),
    (METHODS["rdrop"], {"alpha": -0.1}, "rdrop: expected alpha >= 0, got -0.1"),
    (METHODS["rdrop"], {"reduction": "max"}, "rdrop: expected reduction to be mean or sum, got 'max'"),
    (METHODS["freelb"], {"epsilon": float("nan")}, "freelb: expected epsilon >= 0, got nan"),
    (METHODS["freelb"], {"steps": 2.5}, "freelb: expected steps >= 1, got 2.5"),
    (METHODS["sam"], {"rho": float("inf")}, "sam: expected rho >= 0, got inf"),
    (METHODS["awp"], {"gamma": -1.0}, "awp: expected gamma >= 0, got -1.0"),
    (METHODS["neftune"], {"alpha": -5.0}, "neftune: expected alpha >= 0, got -5.0"),
    (METHODS["r3f"], {"noise": "pink"}, "r3f: expected noise to be uniform or normal, got 'pink'"),
    (METHODS["smart"], {"momentum": 1.0}, "smart: expected 0 <= momentum < 1, got 1.0"),
    (METHODS["smart"], {"smoothness": -1.0}, "smart: expected smoothness >= 0, got -1.0"),
    (METHODS["lpft"], {"probing": 1.5}, "lpft: expected 0 <= probing <= 1, got 1.5"),
]


@pytest.mark.parametrize(("factory", "options", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(factory: Callable[..., Method], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        factory(**options)


def test_probing_needs_to_know_how_long() -> None:
    with pytest.raises(ValueError, match="expected the number of training steps"):
        step(made("lpft"), classifier(), batch_for(classifier()), moment=Moment(0))


def test_a_model_without_dropout_is_refused_by_rdrop() -> None:
    with pytest.raises(ValueError, match=r"expected a model with nn\.Dropout modules"):
        made("rdrop").objective.check(nn.Linear(2, 2))


def test_rat_says_where_each_epsilon_comes_from() -> None:
    """Table 7 of the paper has 0.1 to 0.15 (0.8 is its largest alpha); 1 is the release's, with other scales."""
    text = " ".join((inspect.getdoc(inspect.getmodule(METHODS["rat"])) or "").split())
    for fact in (
        "table 7 (GLUE, pretrained) has epsilon 0.1-0.15 and alpha 0.5-0.8",
        "appendix B finds epsilon 3-9 best",
        'defaults are epsilon 1 and alpha 0.5, with one norm over the embedding matrix (`norm="matrix"`)',
    ):
        assert fact in text
