"""Input gradients and sharpness against a literal transcription; the weights come back bitwise."""

import copy

import pytest
import torch

from tests.evaluation.subjects import some_rows, subject
from uegr.errors import InputError
from uegr.evaluation import input_gradient_norm, sharpness


def literal_losses(model, tokenizer, rows):
    found = []
    for row in rows:
        logits = model(**tokenizer([row["text"]], return_tensors="pt")).logits[0]
        regression = len(logits) == 1
        found.append((logits[0] - row["label"]) ** 2 if regression else -logits.log_softmax(0)[row["label"]])
    return torch.stack(found)


@pytest.mark.parametrize(("family", "labels"), [("bert", 3), ("xlnet", 2), ("bert", 1)])
def test_input_gradient_norm_equals_one_row_at_a_time(family, labels):
    model, tokenizer = subject(family, num_labels=labels, dtype=torch.float64)
    rows = some_rows(9, num_labels=max(labels, 2))
    seen = []
    handle = model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: seen.append(output))
    norms = []
    for row in rows:
        seen.clear()
        (gradient,) = torch.autograd.grad(literal_losses(model, tokenizer, [row])[0], seen[0])
        norms.append(gradient.norm())
    handle.remove()
    found = input_gradient_norm(model, tokenizer, rows, batch_size=4)
    assert found.value == pytest.approx(torch.stack(norms).mean().item(), rel=1e-10)
    assert found.n == 9
    assert found.low < found.value < found.high
    assert all(weight.grad is None for weight in model.parameters())


def test_sharpness_equals_the_literal_rise_along_the_gradient():
    model, tokenizer = subject(dtype=torch.float64)
    rows = some_rows(12)
    moved = copy.deepcopy(model)
    before = literal_losses(moved, tokenizer, rows).mean()
    before.backward()
    length = torch.sqrt(sum(weight.grad.square().sum() for weight in moved.parameters()))
    with torch.no_grad():
        for weight in moved.parameters():
            weight.add_(0.02 * weight.grad / length)
        rise = literal_losses(moved, tokenizer, rows).mean() - before
    found = sharpness(model, tokenizer, rows, rho=0.02, directions=3, batch_size=5)
    assert found.direction == "gradient"
    assert found.rise.value == pytest.approx(rise.item(), rel=1e-9)
    assert found.rise.low < found.rise.value < found.rise.high
    assert found.rho == 0.02


def test_a_random_direction_wins_where_the_gradient_is_zero():
    model, tokenizer = subject(dtype=torch.float64)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
    rows = [{"text": "w5 w6", "label": 0}, {"text": "w5 w6", "label": 1}]  # balanced: no gradient, a minimum
    found = sharpness(model, tokenizer, rows, rho=1.0, directions=4)
    assert found.direction.startswith("random")
    assert found.rise.value > 0
    assert found.rise.value >= sharpness(model, tokenizer, rows, rho=1.0, directions=2).rise.value


def test_weights_modes_and_gradients_are_as_before_also_after_an_exception():
    model, tokenizer = subject()
    model.train()
    frozen = next(model.parameters()).requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def stop(done, total):
        raise KeyboardInterrupt

    sharpness(model, tokenizer, some_rows(6), directions=1)
    with pytest.raises(KeyboardInterrupt):
        sharpness(model, tokenizer, some_rows(6), directions=1, progress=stop)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    assert all(module.training for module in model.modules())
    assert not frozen.requires_grad


def test_what_cannot_be_is_refused():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="rho > 0"):
        sharpness(model, tokenizer, some_rows(2), rho=0)
    model.requires_grad_(False)
    with pytest.raises(InputError, match="frozen"):
        sharpness(model, tokenizer, some_rows(2))
    assert input_gradient_norm(model, tokenizer, some_rows(2)).value > 0  # this needs no trainable weight
