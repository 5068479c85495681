"""The laws of methods.md that UEGR, and R-AT where it shares them, must obey on real models."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForTokenClassification, GPT2Config, GPT2LMHeadModel

from tests.models.families import FAMILIES, tiny
from uegr import backward
from uegr.methods import Method, fgm, rat, rat_su, uegr, vanilla
from uegr.methods.contract import predictions
from uegr.pieces.embedding import embedding_layer
from uegr.pieces.schedule import Moment
from uegr.pieces.sites import sites

WITH_SITES = [family for family in FAMILIES if family not in ("llama", "qwen2")]
SMALL: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def without_dropout(model: nn.Module) -> nn.Module:
    """Nothing random is left; attention modules hand the rate of a site or a float to their kernel."""
    for module in model.train().modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0
    return model


def classifier(family: str = "bert", labels: int = 3) -> nn.Module:
    """Weights large enough for predictions to differ."""
    model, _ = tiny(family, num_labels=labels, dtype=torch.float64)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(5)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def batch_for(model: nn.Module, lengths: tuple[int, ...] = (6, 3, 6, 5, 4), width: int = 6) -> dict[str, Tensor]:
    left = model.config.model_type == "xlnet"
    mask = torch.tensor([[int(t >= width - n) if left else int(t < n) for t in range(width)] for n in lengths])
    ids = torch.randint(5, 40, mask.shape, generator=torch.Generator().manual_seed(1))
    ids = torch.where(mask == 1, ids, model.config.pad_token_id)
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.arange(len(lengths)) % 3}


def gradients(method: Method, model: nn.Module, batch: dict[str, Tensor], step: Any = 0) -> dict[str, Tensor]:
    model.train()
    model.zero_grad()
    backward(method, model, batch, step=step)
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(
            found[name], expected[name], rtol=tolerance, atol=tolerance, msg=lambda text, name=name: f"{name}: {text}"
        )


STILL: dict[str, Any] = {"epsilon": 0.0, "spread": 0.0, "selective_update": False}


@pytest.mark.parametrize("family", WITH_SITES)
@pytest.mark.parametrize("submodels", [1, 2, 3])
def test_without_noise_perturbation_and_mask_the_gradient_is_twice_vanillas(family: str, submodels: int) -> None:
    model = without_dropout(classifier(family))
    batch = batch_for(model)
    plain = gradients(vanilla(), model, batch)
    twice = gradients(uegr(**STILL, submodels=submodels), model, batch)
    exact = family not in ("deberta", "deberta-v2", "modernbert")  # they compute positions in single precision
    assert_same(twice, {name: 2 * gradient for name, gradient in plain.items()}, 1e-12 if exact else 1e-7)


def test_rat_and_fgm_obey_the_same_limit() -> None:
    model = without_dropout(classifier())
    batch = batch_for(model)
    plain = {name: 2 * gradient for name, gradient in gradients(vanilla(), model, batch).items()}
    assert_same(gradients(rat(epsilon=0.0), model, batch), plain)
    assert_same(gradients(fgm(epsilon=0.0), model, batch), plain)
    open_mask = rat_su(epsilon=0.0, alpha=0.0, beta=1e9, rescale=False)  # every rank above 0 is kept
    assert_same(gradients(open_mask, model, batch), plain)


def moves(method: Method, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """What the last forward of a step added to the embedded tokens, as the model saw it, examples first."""
    seen: list[Tensor] = []
    layer = embedding_layer(model)
    handle = layer.register_forward_hook(lambda module, inputs, output: seen.append(output.detach()))
    register = type(layer).register_forward_hook
    after: list[Tensor] = []

    def registering(hook: Any) -> Any:
        """The step's own hook, and what it returned."""

        def noting(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            moved: Tensor = hook(module, inputs, output)
            after.append(moved.detach())
            return moved

        return register(layer, noting)

    layer.register_forward_hook = registering  # type: ignore[method-assign,assignment]
    try:
        gradients(method, model, batch)
    finally:
        del layer.register_forward_hook
        handle.remove()
    moved = after[-1] - seen[-1]
    return moved.transpose(0, 1) if model.config.model_type == "xlnet" else moved


@pytest.mark.parametrize("family", WITH_SITES)
@pytest.mark.parametrize("examples", [3, 5, 6])  # 6 tokens: as many as rows in the clean or the adversarial pass
def test_each_example_moves_by_epsilon_and_its_padding_never(family: str, examples: int) -> None:
    model = classifier(family)
    batch = batch_for(model, (6, 3, 6, 5, 4, 2)[:examples])
    moved = moves(uegr(epsilon=0.3, split=1), model, batch)
    assert moved.shape[:2] == (2 * examples, 6)
    first, second = moved.chunk(2)
    torch.testing.assert_close(first, second)  # every sub-model sees the same adversarial example
    assert first.flatten(1).norm(dim=1).tolist() == pytest.approx([0.3] * examples, rel=1e-6)
    assert not first[batch["attention_mask"] == 0].any()


def test_rat_may_give_each_sub_model_its_own_epsilon_and_drop_the_divergence() -> None:
    model = classifier()
    batch = batch_for(model)
    first, second = moves(rat(epsilons=(0.2, 0.7), split=1), model, batch).chunk(2)
    assert first.flatten(1).norm(dim=1).tolist() == pytest.approx([0.2] * 5)
    torch.testing.assert_close(second, first * 3.5)
    assert backward(rat(kl=False), model, batch).keys() == {"task", "adversarial"}
    assert backward(uegr(divergence_weight=0.0), model, batch).keys() == {"task", "adversarial"}


@pytest.mark.parametrize("family", WITH_SITES)
def test_the_move_of_an_example_does_not_depend_on_the_others(family: str) -> None:
    model = without_dropout(classifier(family))
    batch = batch_for(model)
    together = moves(uegr(epsilon=0.3, spread=0.0, split=1), model, batch)
    others = {name: value.clone() for name, value in batch.items()}
    others["input_ids"][1:] = torch.where(others["attention_mask"][1:] == 1, 7, others["input_ids"][1:])
    others["labels"][1:] = 0
    for changed in (others, {name: value[:1] for name, value in batch.items()}):
        torch.testing.assert_close(moves(uegr(epsilon=0.3, spread=0.0, split=1), model, changed)[0], together[0])


@pytest.mark.parametrize("method", [uegr(submodels=3), rat(), rat_su(), fgm(), vanilla(), uegr(split=2)], ids=repr)
def test_a_step_costs_the_passes_that_it_says_and_the_clean_backward_happens_once(method: Method) -> None:
    model = classifier()
    batch = batch_for(model, (6, 3, 6, 5))
    rows = {"forward": 0, "backward": 0}

    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        rows["forward"] += len(output["logits"])
        output["logits"].register_hook(lambda g: rows.__setitem__("backward", rows["backward"] + len(g)))

    handle = model.register_forward_hook(note)
    gradients(method, model, batch)
    handle.remove()
    assert (rows["forward"] / 4, rows["backward"] / 4) == method.objective.passes
    assert method.objective.passes[0] == method.objective.passes[1]


@pytest.mark.parametrize(("split", "examples"), [(2, 5), (5, 5), (7, 3), (2, 1)])
@pytest.mark.parametrize("options", [{}, {"reduction": "sum"}, {"submodels": 3, "pairs": "mean"}])
def test_splitting_the_adversarial_passes_changes_no_gradient(split: int, examples: int, options: dict) -> None:
    model = without_dropout(classifier())
    for module in sites(model).values():
        module.p = 0.0
    batch = batch_for(model, (6, 3, 6, 5, 4)[:examples])
    settings = {"spread": 0.0, "selective_update": False, "divergence_weight": 1.0, **options}
    whole = gradients(uegr(**settings), model, batch)
    assert_same(gradients(uegr(**settings, split=split), model, batch), whole)


def tagger() -> tuple[nn.Module, dict[str, Tensor]]:
    torch.manual_seed(0)
    model = BertForTokenClassification(BertConfig(vocab_size=40, num_labels=3, initializer_range=0.2, **SMALL)).double()
    batch = batch_for(model)
    labels = torch.randint(0, 3, batch["input_ids"].shape, generator=torch.Generator().manual_seed(2))
    batch["labels"] = torch.where(batch["attention_mask"] == 1, labels, -100)
    batch["labels"][2] = -100  # an example without any label
    batch["labels"][:, 0] = -100
    return model, batch


def writer() -> tuple[nn.Module, dict[str, Tensor]]:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, initializer_range=0.2, pad_token_id=0)
    model = GPT2LMHeadModel(config).double()
    batch = batch_for(model)
    batch["labels"] = torch.where(batch["attention_mask"] == 1, batch["input_ids"], -100)
    return model, batch


@pytest.mark.parametrize("make", [tagger, writer])
@pytest.mark.parametrize("split", [1, 2, 5])
def test_token_level_losses_are_means_over_labelled_positions(make: Any, split: int) -> None:
    """Against loops over positions (a causal loss is in single precision); a piece without labels weighs nothing."""
    model, batch = make()
    method = uegr(rates=0.3, divergence_weight=1.0, selective_update=False, split=split)
    if split == 1:
        seen: list[Tensor] = []
        handle = model.register_forward_hook(lambda module, inputs, output: seen.append(output["logits"].detach()))
        torch.manual_seed(3)
        terms = backward(method, model.train(), batch)
        handle.remove()
        clean, first, second = seen[0], *seen[1].chunk(2)
        assert terms == pytest.approx(slow_token_terms(model, batch, clean, first, second), rel=1e-6)
        assert terms["divergence"] > 1e-4
    still = {"spread": 0.0, "selective_update": False, "divergence_weight": 1.0}
    whole = gradients(uegr(**still), without_dropout(model), batch)
    assert all(torch.isfinite(gradient).all() for gradient in whole.values())
    assert_same(gradients(uegr(**still, split=split), model, batch), whole, 1e-6)
    terms = backward(uegr(**still, split=split), model, batch)
    assert all(math.isfinite(value) for value in terms.values())


def slow_token_terms(
    model: nn.Module, batch: dict[str, Tensor], clean: Tensor, first: Tensor, second: Tensor
) -> dict[str, float]:
    ahead = 1 if isinstance(model, GPT2LMHeadModel) else 0  # a causal model predicts the next token
    places = [(i, t) for i, t in (batch["labels"] != -100).nonzero().tolist() if t - ahead >= 0]

    def log_p(logits: Tensor, i: int, t: int) -> list[float]:
        row = logits[i, t - ahead].tolist()
        total = math.log(sum(math.exp(value) for value in row))
        return [value - total for value in row]

    def entropy(logits: Tensor) -> float:
        return -sum(log_p(logits, i, t)[int(batch["labels"][i, t])] for i, t in places) / len(places)

    def js(i: int, t: int) -> float:
        total = 0.0
        for a, b in zip(log_p(first, i, t), log_p(second, i, t), strict=True):
            middle = math.log((math.exp(a) + math.exp(b)) / 2)
            total += (math.exp(a) * (a - middle) + math.exp(b) * (b - middle)) / 2
        return total

    return {
        "task": entropy(clean),
        "adversarial": (entropy(first) + entropy(second)) / 2,
        "divergence": sum(js(i, t) for i, t in places) / len(places),
    }


def test_several_outputs_of_a_regression_differ_by_their_squares() -> None:
    model = classifier()
    model.config.problem_type = "regression"
    batch = batch_for(model) | {"labels": torch.randn(5, 3, dtype=torch.float64)}
    seen: list[Tensor] = []
    handle = model.register_forward_hook(lambda module, inputs, output: seen.append(output["logits"].detach()))
    torch.manual_seed(0)
    terms = backward(uegr(rates=0.4, divergence_weight=1.0, selective_update=False, split=1), model.train(), batch)
    handle.remove()
    first, second = seen[1].chunk(2)
    assert terms["divergence"] == pytest.approx((first - second).square().mean().item())


def test_several_labels_at_once_are_as_many_two_way_choices() -> None:
    model = classifier()
    model.config.problem_type = "multi_label_classification"
    logits = torch.randn(5, 3, dtype=torch.float64)
    rows = predictions(model, logits, batch_for(model))
    torch.testing.assert_close(rows.softmax(-1)[:, 0].view(5, 3), logits.sigmoid())


def test_epsilon_warms_up_over_its_share_of_the_steps() -> None:
    model = classifier()
    batch = batch_for(model)
    method = uegr(epsilon=0.4, epsilon_warmup=0.5, selective_update=False)
    for step, expected in ((0, 0.0), (2, 0.2), (4, 0.4), (7, 0.4)):
        moment = Moment(step, total=8)
        method.objective.begin(moment)
        assert method.objective.attack.radius() == pytest.approx(expected)
    with pytest.raises(ValueError, match="expected the number of training steps"):
        gradients(method, model, batch, step=3)
