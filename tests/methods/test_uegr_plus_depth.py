"""uegr_plus at a deeper layer: the gradient of the sum of all losses, the lower layers run once, what is refused."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.methods.tiny_models import made
from tests.models.families import tiny
from uegr.pieces.depth import check_depth
from uegr.testing.models import Batch, batch_for, classifier
from uegr.testing.subject import gradients, prepared, step

PLAIN = {"epsilon": 0.7, "spread": 0.0, "selective_update": False, "depth": 0.5}


def literal(model: Any, batch: Batch, options: Any, seed: int) -> dict[str, Tensor]:
    """Separate whole passes from the same random numbers, their losses added, delta as a constant; KL to the clean."""
    layer = model.bert.encoder.layer[0]
    states: list[Tensor] = []
    torch.manual_seed(seed)
    with layer.register_forward_hook(lambda module, inputs, output: states.append(output)):
        clean = model(**batch)
    (slope,) = torch.autograd.grad(clean.loss, states[0], retain_graph=True)
    slope[batch["attention_mask"] == 0] = 0.0
    radii = [options["epsilon"]] * len(slope)
    if options["epsilon_relative"]:
        real = [rows[mask == 1] for rows, mask in zip(states[0].detach(), batch["attention_mask"], strict=True)]
        radii = [radius * float(rows.norm(dim=-1).mean()) for radius, rows in zip(radii, real, strict=True)]
    delta = torch.stack([radius * rows / rows.norm() for radius, rows in zip(radii, slope, strict=True)])
    torch.manual_seed(seed)
    with layer.register_forward_hook(lambda module, inputs, output: output + delta):
        moved = model(**batch)
    p = clean.logits.detach().softmax(-1)
    apart = (p * (p.log() - moved.logits.log_softmax(-1))).sum(-1).mean()
    whole = clean.loss + moved.loss + apart
    names = dict(model.named_parameters())
    found = torch.autograd.grad(whole, list(names.values()), allow_unused=True)
    return {name: slope for name, slope in zip(names, found, strict=True) if slope is not None}


def with_lower_dropout(rate: float) -> Any:
    model: Any = classifier(dropout=False, dtype=torch.float64)
    for part in (model.bert.embeddings, model.bert.encoder.layer[0]):
        for module in part.modules():
            if isinstance(module, nn.Dropout):
                module.p = rate
    model.bert.encoder.layer[0].attention.self.dropout.p = 0.0
    return model


@pytest.mark.parametrize(
    ("rate", "options"),
    [
        (0.0, {"submodels": 2}),
        (0.0, {"submodels": 2, "split": 1}),
        (0.0, {"submodels": 3, "split": 4}),
        (0.3, {"submodels": 1}),  # what the lower layers drop is the same for all passes
        (0.3, {"submodels": 1, "epsilon": 0.2, "epsilon_relative": True}),
    ],
    ids=str,
)
def test_the_gradient_is_that_of_the_literal_sum_of_losses(rate: float, options: dict[str, Any]) -> None:
    model = with_lower_dropout(rate)
    batch = batch_for(model)
    method = prepared(made("uegr_plus", **PLAIN | options), model, batch)
    expected = literal(model, batch, method.options, seed=4)
    step(method, model, batch, seed=4)
    actual = gradients(model)
    for name, gradient in actual.items():
        wanted = expected.get(name, torch.zeros_like(gradient))
        torch.testing.assert_close(gradient, wanted, rtol=1e-10, atol=1e-10, msg=lambda text, n=name: n + text)
    assert float(actual["bert.embeddings.word_embeddings.weight"].abs().max()) > 1e-3


def test_two_micro_batches_add_up_although_each_counts_by_its_share() -> None:
    """What the leaf holds has been scaled already; a second scaling would show in the lower layers."""
    model = with_lower_dropout(0.0)
    batch = batch_for(model)
    method = prepared(made("uegr_plus", **PLAIN), model, batch)
    step(method, model, batch)
    whole = gradients(model)
    step(method, model, batch, backward=lambda loss: (loss / 4).backward())
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(4 * gradient, whole[name], rtol=1e-10, atol=1e-12)


def test_the_lower_layers_run_once_and_the_declared_passes_are_counted_in_layers() -> None:
    model: Any = classifier()
    batch = batch_for(model)
    method = prepared(made("uegr_plus", depth=0.5), model, batch)
    rows = {"forward": [0, 0], "backward": [0, 0]}

    def count(number: int) -> Any:
        def counted(module: nn.Module, inputs: Any, output: Tensor) -> None:
            rows["forward"][number] += len(output)
            output.register_hook(lambda g: rows["backward"].__setitem__(number, rows["backward"][number] + len(g)))

        return counted

    inner = [layer.attention for layer in model.bert.encoder.layer]  # what a layer that is left out does not call
    handles = [part.output.register_forward_hook(count(number)) for number, part in enumerate(inner)]
    step(method, model, batch)
    [handle.remove() for handle in handles]
    assert rows == {"forward": [8, 24], "backward": [8, 24]}
    assert method.objective.passes == (2, 2) == (sum(rows["forward"]) / 16, sum(rows["backward"]) / 16)


@pytest.mark.parametrize(("depth", "layers", "lower"), [(0.5, 2, 1), (0.3, 3, 1), (0.5, 3, 2), (0.66, 3, 2)])
def test_at_least_the_share_of_the_layers_is_below(depth: float, layers: int, lower: int) -> None:
    model, _ = tiny("bert", num_labels=2)
    stack = model.bert.encoder.layer
    while len(stack) < layers:
        stack.append(type(stack[0])(model.config))
    assert check_depth(model, depth) == lower
    method = made("uegr_plus", depth=depth)
    method.objective.check(model)
    assert method.objective.passes[0] == pytest.approx(1 + 2 * (1 - lower / layers))


@pytest.mark.parametrize("family", ["textcnn", "bilstm", "xlnet", "albert"])
def test_other_models_are_refused_with_one_line(family: str) -> None:
    model, _ = tiny(family, num_labels=2)
    with pytest.raises(ValueError, match=r"expected an encoder of two or more layers .* got \w+ with \d+; use depth=0"):
        made("uegr_plus", depth=0.5).objective.check(model)


def test_gradient_checkpointing_is_refused() -> None:
    model: Any = classifier()
    model.gradient_checkpointing_enable()
    with pytest.raises(ValueError, match=r"expected no gradient checkpointing with depth=0\.5, got it; switch"):
        made("uegr_plus", depth=0.5).objective.check(model)
