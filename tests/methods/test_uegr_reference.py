"""UEGR's step against its literal transcription, to 1e-10 in float64: on a tiny BERT and on a tiny recurrent model."""

from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.methods.selection_reference import keep_probabilities, masked
from tests.methods.uegr_reference import Reference, reference_step
from tests.models.families import tiny
from uegr.methods import Method, rat, uegr
from uegr.methods.objectives.child import OnLayers
from uegr.pieces.dropout import centre
from uegr.pieces.schedule import Moment
from uegr.pieces.sites import sites
from uegr.training.step import accumulate, edit_gradients

TOLERANCE = 1e-10
LENGTHS = (6, 3, 6, 5)  # four examples of six positions, two of them padded; two share the last position

READINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "token norm": {"norm": "token", "epsilon": 0.4},
    "matrix norm": {"norm": "matrix", "epsilon": 2.0},
    "the paper's rates": {"rates": (0.3, 0.5), "spread": 0.1},
    "rates reach both ends": {"rates": (0.05, 0.9), "spread": 0.2},
    "ordinary dropout": {"spread": 0.0},
    "wide spread": {"spread": 1.0, "divergence_weight": 3.0},
    "three sub-models": {"submodels": 3, "rates": 0.4, "divergence_weight": 1.0},
    "three, mean of pairs": {"submodels": 3, "pairs": "mean", "divergence_weight": 1.0},
    "one sub-model": {"submodels": 1},
    "sum over examples": {"reduction": "sum", "divergence_weight": 0.5},
    "symmetric kl": {"divergence": "symmetric_kl", "divergence_weight": 1.0},
    "kl": {"divergence": "kl", "divergence_weight": 1.0},
    "cross-entropy": {"divergence": "ce", "divergence_weight": 1.0},
    "squared difference": {"divergence": "mse", "divergence_weight": 1.0},
    "absolute difference": {"divergence": "mae", "divergence_weight": 1.0},
    "adaptive clean pass": {"clean_dropout": "adaptive"},
    "adaptive clean pass with rates": {"clean_dropout": "adaptive", "rates": (0.2, 0.5)},
    "range": {"score": "range", "alpha": 0.1, "beta": 5.0},
    "range as printed": {"score": "range", "keep": "printed", "alpha": 0.1},
    "rank as printed": {"keep": "printed"},
    "live entries": {"scope": "live", "alpha": 0.6, "beta": 5.0},
    "live entries by range": {"scope": "live", "score": "range", "alpha": 0.1, "beta": 5.0},
    "live entries as printed": {"scope": "live", "keep": "printed"},
    "the encoder's layers": {"scope": "encoder", "alpha": 0.6, "beta": 5.0},
    "algorithm 1's brackets": {"keep": "algorithm", "beta": 1.0},
    "algorithm 1's brackets by range": {"keep": "algorithm", "score": "range"},
    "eq. 10's sum": {"adversarial_reduction": "sum", "submodels": 3},
    "sign of the gradient": {"norm": "sign", "epsilon": 0.05},
    "mask only": {"rescale": False, "alpha": 0.6, "beta": 1.0},
}


def model_and_batch(family: str, labels: int) -> tuple[nn.Module, dict[str, Tensor]]:
    model, vocabulary = tiny(family, num_labels=labels, dtype=torch.float64)
    if family == "bert":
        model.config.attention_probs_dropout_prob = 0.0  # a float for the kernel, not a site
        for module in model.modules():
            if type(module).__name__.endswith("SelfAttention"):
                module.dropout.p = 0.0
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(5)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)  # a fresh model's predictions hardly differ
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, vocabulary, (len(LENGTHS), max(LENGTHS)), generator=generator)
    mask = torch.tensor([[int(t < length) for t in range(max(LENGTHS))] for length in LENGTHS])
    ids = torch.where(mask == 1, ids, model.config.pad_token_id)
    target = torch.tensor([0.3, -1.0, 2.0, 0.5], dtype=torch.float64) if labels == 1 else torch.tensor([2, 0, 1, 1])
    return model.train(), {"input_ids": ids, "attention_mask": mask, "labels": target}


def real_step(method: Method, model: nn.Module, batch: dict[str, Tensor], seed: int, moment: Moment) -> dict:
    """The terms and the gradient before the selective update; the gradient after it is left in .grad."""
    model.zero_grad()
    torch.manual_seed(seed)
    terms = accumulate(method, model, batch, moment, Tensor.backward)
    before = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    edit_gradients(method, model, moment)
    return {"terms": terms, "gradients": before}


def full_options(method: Method) -> dict[str, Any]:
    options = dict(method.options)
    if isinstance(options["rates"], float):
        options["rates"] = (options["rates"],) * options["submodels"]
    return options


def agree(actual: Tensor, expected: Tensor, what: str) -> None:
    torch.testing.assert_close(actual, expected, rtol=TOLERANCE, atol=TOLERANCE, msg=lambda text: f"{what}: {text}")


def check_step(
    method: Method, model: nn.Module, batch: dict[str, Tensor], step: int, before: dict, deltas: list
) -> Reference:
    moment = Moment(step=step, seed=7)
    real = real_step(method, model, batch, seed=11 + step, moment=moment)
    edited = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    options = full_options(method)
    torch.manual_seed(11 + step)
    expected = reference_step(model, batch, options, before)
    terms = real["terms"]

    agree(terms["task"], expected.task, "L_st")
    agree(terms["adversarial"], expected.adversarial, "L_adv")
    agree(terms.get("divergence", torch.zeros(()).double()), expected.divergence, "L_div")
    for i, (moved, length) in enumerate(zip(expected.delta, LENGTHS, strict=True)):
        agree(deltas[-1][i, :length], torch.tensor(moved, dtype=torch.float64), "delta")
        assert not deltas[-1][i, length:].any()
    dropout = method.objective.dropout
    scratch = model.config.model_type in ("uegr_textcnn", "uegr_bilstm", "uegr_texthan")
    middle = {name: centre(module.p, scratch) for name, module in sites(model).items()}
    for (name, units), rows in expected.drops.items():
        q = dropout.probabilities(name, middle[name], units, options["submodels"])
        agree(q, torch.tensor(rows, dtype=torch.float64), f"q of {name}")
    assert real["gradients"].keys() == expected.gradients.keys()
    for name, gradient in real["gradients"].items():
        agree(gradient, expected.gradients[name], f"gradient of {name}")

    kept = keep_probabilities(real["gradients"], options)  # from the same numbers: a tie is then a tie in both
    check_probabilities(method, real["gradients"], kept)
    if not any(isinstance(module, nn.LSTM) for module in model.modules()):  # its two biases tie but for rounding
        kept = keep_probabilities(expected.gradients, options)
    final = masked(expected.gradients, kept, moment, bool(options["rescale"]))
    for name, gradient in edited.items():
        agree(gradient, final[name], f"masked gradient of {name}")
    return expected


@pytest.mark.parametrize("options", [{}, {"scope": "encoder"}, {"scope": "live", "keep": "printed"}], ids=str)
@pytest.mark.parametrize("family", ["bert", "bilstm"])
def test_fisher_sums_the_squared_gradients_of_single_examples(family: str, options: dict[str, Any]) -> None:
    """Eq. 7 literally: L_train of every example alone, its gradient squared, their sum ranked."""
    model, batch = model_and_batch(family, labels=3)
    method, moment = uegr(score="fisher", alpha=0.6, beta=5.0, **options), Moment(step=2, seed=7)
    real = real_step(method, model, batch, seed=11, moment=moment)
    edited = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    chosen = full_options(method)
    torch.manual_seed(11)
    squares: dict[str, Tensor] = {}
    for i in range(len(LENGTHS)):
        single = reference_step(model, {key: value[i : i + 1] for key, value in batch.items()}, chosen, {})
        squares = {name: squares.get(name, 0) + gradient**2 for name, gradient in single.gradients.items()}
    expected = reference_step(model, batch, chosen, {})
    for name, gradient in real["gradients"].items():
        agree(gradient, expected.gradients[name], f"gradient of {name}")
    roots = {name: square.sqrt() for name, square in squares.items()}
    kept = keep_probabilities(roots, chosen | {"score": "rank"})
    if family == "bilstm":  # its two biases tie but for rounding, which ranks tell apart: the share is all there is
        assert 0.2 < share_kept(edited) < 0.9
        return
    final = masked(real["gradients"], kept, moment, rescale=True)
    for name, gradient in edited.items():
        agree(gradient, final[name], f"masked gradient of {name}")


def share_kept(gradients: dict[str, Tensor]) -> float:
    return float(torch.cat([gradient.flatten() != 0 for gradient in gradients.values()]).float().mean())


def check_probabilities(method: Method, gradients: dict[str, Tensor], kept: dict[str, Tensor]) -> None:
    """p of every entry that may be masked."""
    (edit,) = method.gradients
    if isinstance(edit, OnLayers):
        selective, seen = edit.inner, {name: value for name, value in gradients.items() if name in edit.names}
        assert 0 < len(seen) < len(gradients)
    else:
        selective, seen = edit, gradients
    p = selective.probability(list(seen.values()))
    for name, gradient in seen.items():
        live = gradient != 0 if method.options["scope"] == "live" else torch.ones_like(gradient, dtype=torch.bool)
        agree(p(gradient.flatten()).view(gradient.shape)[live], kept[name][live], f"p of {name}")


@pytest.fixture
def deltas(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Every delta that a step computes."""
    rat_module = import_module("uegr.methods.objectives.submodels")
    seen: list[Tensor] = []
    ascend = rat_module.ascend

    def recorded(*args: Any) -> Tensor:
        seen.append(ascend(*args))
        return seen[-1]

    monkeypatch.setattr(rat_module, "ascend", recorded)
    return seen


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("family", ["bert", "bilstm"])
def test_the_step_equals_its_transcription(family: str, reading: str, deltas: list[Tensor]) -> None:
    model, batch = model_and_batch(family, labels=3)
    method = uegr(**READINGS[reading])
    expected = check_step(method, model, batch, 0, {}, deltas)
    assert expected.task.item() > 0.1
    if method.options["clean_dropout"] == "adaptive":  # which needs a step before it
        check_step(method, model, batch, 1, expected.ranks, deltas)


@pytest.mark.parametrize("family", ["bert", "bilstm"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_step_of_a_regression_equals_its_transcription(family: str, reduction: str, deltas: list[Tensor]) -> None:
    model, batch = model_and_batch(family, labels=1)
    check_step(uegr(reduction=reduction, divergence_weight=2.0), model, batch, 0, {}, deltas)


@pytest.mark.parametrize("family", ["bert", "bilstm"])
def test_rat_with_fixed_rates_equals_the_transcription_without_adaptation(family: str, deltas: list[Tensor]) -> None:
    model, batch = model_and_batch(family, labels=3)
    method = rat(rates=(0.2, 0.5))
    real = real_step(method, model, batch, seed=3, moment=Moment())
    options = full_options(uegr(epsilon=1.0, rates=(0.2, 0.5), spread=0.0, divergence="symmetric_kl", pairs="mean"))
    torch.manual_seed(3)
    expected = reference_step(model, batch, options | {"divergence_weight": 0.5}, {})
    agree(real["terms"]["divergence"], expected.divergence, "consistency")
    for name, gradient in real["gradients"].items():
        agree(gradient, expected.gradients[name], f"gradient of {name}")
