"""Linear CKA against a literal float64 reference, its laws, its memory, and the distance of weights."""

import copy

import numpy as np
import pytest
import torch

from tests.evaluation.subjects import some_rows, some_texts, subject
from uegr.errors import InputError
from uegr.evaluation import layer_similarity, linear_cka, perturbed_similarity, weight_distance
from uegr.evaluation.similarity import Comparison, jackknife, unbiased, without_diagonal


def literal_cka(x, y):
    """HSIC of centred Gram matrices, as Kornblith et al. define it before they simplify."""
    n = len(x)
    centre = np.eye(n) - np.ones((n, n)) / n

    def hsic(a, b):
        return np.trace(a @ a.T @ centre @ b @ b.T @ centre)

    return hsic(x, y) / np.sqrt(hsic(x, x) * hsic(y, y))


def drawn(rows=80, features=12, seed=0, offset=0.0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, features)) @ generator.normal(size=(features, features)) + offset
    return x, np.tanh(x @ generator.normal(size=(features, 7))) + 0.3 * generator.normal(size=(rows, 7))


def streamed(x, y, size):
    comparison = Comparison()
    for start in range(0, len(x), size):
        comparison.add(torch.as_tensor(x[start : start + size]), torch.as_tensor(y[start : start + size]))
    return comparison


@pytest.mark.parametrize("size", [1, 7, 80])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_streaming_equals_the_literal_reference(size, offset):
    x, y = drawn(offset=offset)
    x_exact = x - offset  # what centring must bring it back to
    assert streamed(x, y, size).value() == pytest.approx(literal_cka(x_exact, y), rel=1e-8)


def test_one_for_itself_and_invariant_to_rotation_scale_and_offset():
    x, y = drawn()
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 12)))[0]
    assert linear_cka(x, x) == pytest.approx(1, abs=1e-12)
    assert linear_cka(x, 3 * x @ rotation + 5) == pytest.approx(1, abs=1e-12)
    assert linear_cka(x @ rotation, 0.01 * y) == pytest.approx(linear_cka(x, y), abs=1e-12)
    assert linear_cka(x, y) == pytest.approx(linear_cka(y, x), abs=1e-12)
    assert linear_cka(x, x * np.linspace(0.01, 10, 12)) < 0.99  # not to any linear map


def test_unrelated_is_near_zero_and_constant_is_undefined():
    generator = np.random.default_rng(0)
    assert linear_cka(generator.normal(size=(4000, 5)), generator.normal(size=(4000, 5))) < 0.01
    assert np.isnan(linear_cka(np.ones((5, 2)), generator.normal(size=(5, 2))))


def test_unbiased_estimate_equals_the_sum_over_distinct_quadruples():
    x, y = drawn(rows=6)
    k, l = x @ x.T, y @ y.T  # noqa: E741
    rows = range(6)
    distinct = [(i, j, q, r) for i in rows for j in rows for q in rows for r in rows if len({i, j, q, r}) == 4]
    literal = np.mean([k[i, j] * (l[i, j] + l[q, r] - 2 * l[i, q]) for i, j, q, r in distinct])
    found = unbiased(without_diagonal(torch.as_tensor(k)), without_diagonal(torch.as_tensor(l)))
    assert found == pytest.approx(literal, rel=1e-10)


def test_the_interval_is_as_wide_as_the_scatter_of_fresh_samples():
    figures = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        x = generator.normal(size=(640, 4))
        figures.append(streamed(x, x + 0.8 * generator.normal(size=(640, 4)), 32).figure())
    scatter = np.std([figure.value for figure in figures])
    half = np.mean([figure.high - figure.low for figure in figures]) / 2
    assert 0.7 < half / (1.96 * scatter) < 2
    assert all(0 <= figure.low <= figure.value <= figure.high <= 1 for figure in figures)
    assert figures[0].n == 640


def test_an_interval_that_is_not_known_is_not_the_whole_range():
    x, y = drawn(rows=20)
    alone = streamed(x, y, 20).figure()
    assert 0 < alone.value < 1
    assert not alone.bounded
    constant = streamed(np.ones((20, 3)), y, 5).figure()
    assert np.isnan([constant.value, constant.low, constant.high]).all()


def test_a_resample_without_a_value_is_left_out():
    """Only the second of two batches varies: without it nothing is left to compare, and one value has no spread."""
    x, y = drawn(rows=16)
    assert not streamed(np.concatenate([np.ones((8, 12)), x[8:]]), y, 8).figure().bounded
    parts = np.array([[9.0, 5.0, 2.0], [-1.0, 0.5, 1.0], [-1.0, 0.4, 1.0]])  # without the first, XX is negative
    assert jackknife(parts) == pytest.approx(0.05 / np.sqrt(8 * 3))


def test_memory_does_not_grow_with_the_rows():
    comparison = Comparison()
    held = []
    for seed in range(3):
        comparison.add(torch.randn(50, 6, generator=torch.Generator().manual_seed(seed)), torch.ones(50, 3))
        held.append(sum(tensor.numel() for tensor in [*comparison.products, *comparison.sums]))
    assert held == [36 + 18 + 9 + 6 + 3] * 3


@pytest.mark.parametrize("pooling", ["mean", "first", "tokens"])
@pytest.mark.parametrize("family", ["bert", "xlnet", "texthan"])
def test_layers_equal_the_literal_reference_on_single_texts(family, pooling):
    model, tokenizer = subject(family, dtype=torch.float64)
    other, texts = moved_away(model), some_texts(20)

    def states(net):
        encoded = [tokenizer([text], return_tensors="pt") for text in texts]
        with torch.no_grad():
            rows = [net(**batch, output_hidden_states=True).hidden_states for batch in encoded]
        take = {"mean": lambda s: s.mean(1), "first": lambda s: s[:, 0], "tokens": lambda s: s[0]}[pooling]
        return [torch.cat([take(row[layer]) for row in rows]).numpy() for layer in range(len(rows[0]))]

    found = layer_similarity(model, other, tokenizer, texts, pooling=pooling, batch_size=6)
    if pooling == "first":  # the same first token in all texts: nothing to compare before it has seen the others
        assert np.isnan(found.pop(0).value)
    pairs = list(zip(states(model), states(other), strict=True))[-len(found) :]
    expected = [literal_cka(x, y) for x, y in pairs]
    assert [figure.value for figure in found] == pytest.approx(expected, rel=1e-8)
    assert min(expected) < 0.999


def moved_away(model, by=0.1):
    """A copy with other weights."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(by * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    return other


def literal_states(models, tokenizer, row, epsilon):
    """Mean states of each layer of both models at the embedded text plus FGM's move against the first."""
    batch = tokenizer([row["text"]], return_tensors="pt")
    words = [model.get_input_embeddings()(batch["input_ids"]).detach() for model in models]
    words[0].requires_grad_()
    logits = models[0](inputs_embeds=words[0], attention_mask=batch["attention_mask"]).logits
    (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, torch.tensor([row["label"]])), words[0])
    delta = epsilon * gradient / gradient.norm()
    found = [
        model(inputs_embeds=one + delta, attention_mask=batch["attention_mask"], output_hidden_states=True)
        for model, one in zip(models, words, strict=True)
    ]
    return [[layer.mean(1).detach() for layer in one.hidden_states] for one in found]


def test_under_perturbation_both_models_see_the_same_moved_input():
    model, tokenizer = subject(dtype=torch.float64)
    other, rows = moved_away(model), some_rows(14)
    found = perturbed_similarity(model, other, tokenizer, rows, epsilons=(0.0, 0.5), batch_size=5)
    clean = layer_similarity(model, other, tokenizer, [row["text"] for row in rows], batch_size=5)
    assert [figure.value for figure in found[0.0]] == pytest.approx([figure.value for figure in clean])
    both = [literal_states((model.eval(), other.eval()), tokenizer, row, 0.5) for row in rows]
    for layer, figure in enumerate(found[0.5]):
        x, y = (torch.cat([row[side][layer] for row in both]).numpy() for side in (0, 1))
        assert figure.value == pytest.approx(literal_cka(x, y), rel=1e-6)
    assert found[0.5][-1].value != pytest.approx(found[0.0][-1].value, rel=1e-3)


def test_a_model_is_like_itself():
    model, tokenizer = subject()
    for figure in layer_similarity(model, model, tokenizer, some_texts(12), batch_size=4):
        assert figure.value == pytest.approx(1, abs=1e-9)
        assert figure.low == pytest.approx(1, abs=1e-6)


def test_models_of_other_depth_are_refused():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="equally many layers"):
        layer_similarity(model, subject("bilstm")[0], tokenizer, ["w5"])
    with pytest.raises(InputError, match="pooling"):
        layer_similarity(model, model, tokenizer, ["w5"], pooling="last")


def test_weight_distance_by_hand_and_without_the_head():
    model, _ = subject(dtype=torch.float64)
    other = copy.deepcopy(model)
    assert weight_distance(model, other).value == 0
    with torch.no_grad():
        model.classifier.weight.add_(5)  # the head does not count: the pretrained model has none
        for weight in model.bert.parameters():
            weight.mul_(1.25)
    found = weight_distance(model, other)
    assert found.value == pytest.approx(0.25)
    assert found.n == sum(weight.numel() for weight in model.bert.parameters())
    with pytest.raises(InputError, match="same encoder weights"):
        weight_distance(model, subject("electra")[0])
