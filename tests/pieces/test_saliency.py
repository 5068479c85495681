"""The selective update's mathematics: scores, probabilities, ranks exact and by histogram, and theorem 1."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from uegr.pieces import quantile, saliency
from uegr.pieces.quantile import exact_quantile, histogram
from uegr.pieces.saliency import keep_probability, probability, select_
from uegr.pieces.schedule import Moment

N = 60_000
KEYWORDS = {"score": "rank", "keep": "salient", "alpha": 0.9, "beta": 10.0}


def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tensors take the way of big ones: histogram ranks, random numbers on a grid."""
    monkeypatch.setattr(saliency, "EXACT_UP_TO", 0)


def distributions() -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(0)

    def normal() -> Tensor:
        return torch.randn(N, generator=random)

    def uniform() -> Tensor:
        return torch.rand(N, generator=random)

    return {
        "normal": normal(),
        "float64": normal().double() * 1e-9,
        "log-normal": (3 * normal()).exp(),
        "cauchy": normal() / normal(),
        "tiny": normal() * 1e-33,
        "denormal": (2 + uniform()) * 1e-39,
        "mostly zero": normal() * (uniform() < 0.01),
        "constant": torch.full((N,), 0.37),
        "two values": torch.where(uniform() < 0.3, 0.5, 0.5000001),
        "one octave": 1 + uniform(),
        "half an octave": 1 + uniform() / 2,
        "within a thousandth": 1 + uniform() / 1000,
        "a spike in a heavy tail": torch.where(uniform() < 0.5, 1 + uniform() / 10_000, (2 * normal()).exp()),
        "bfloat16": normal().bfloat16(),
        "narrow bfloat16": (1 + uniform()).bfloat16(),
        "float16": normal().half(),
    }


def true_quantiles(values: Tensor) -> Tensor:
    """By numbering the sorted entries; equal ones share the mean number."""
    magnitude = values.abs().double()
    order = magnitude.sort().values.tolist()
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for place, value in enumerate(order):
        first.setdefault(value, place)
        last[value] = place
    return torch.tensor([(first[v] + last[v]) / 2 / (len(order) - 1) for v in magnitude.tolist()], dtype=torch.float64)


def quantile_by_histogram(values: Tensor) -> Tensor:
    table, row = histogram([values])
    return table[row(values).long()]


@pytest.mark.parametrize("name", distributions())
def test_histogram_quantiles_are_within_a_thousandth(name: str) -> None:
    values = distributions()[name]
    assert (quantile_by_histogram(values) - true_quantiles(values)).abs().max() <= 1e-3


@pytest.mark.parametrize("way", ["exact", "histogram"])
@pytest.mark.parametrize("name", ["mostly zero", "normal", "rows of zeros"])
def test_live_entries_are_ranked_among_themselves(name: str, way: str) -> None:
    if name == "rows of zeros":  # the word vectors of absent words
        values = torch.zeros(quantile.TALL, 8)
        values[::40] = torch.randn(len(values[::40]), 8, generator=torch.Generator().manual_seed(0))
    else:
        values = distributions()[name]
    live = values[values != 0]
    if way == "exact":
        found = exact_quantile([live.abs()])(live.abs())
    else:
        table, row = histogram([values], live=True)
        found = table[row(live).long()]
    assert (found.double() - true_quantiles(live)).abs().max() <= (1e-6 if way == "exact" else 1e-3)


def test_a_zero_has_the_lowest_live_rank() -> None:
    p = probability([torch.tensor([0.0, 0.0, 1.0, 2.0, 3.0])], **KEYWORDS, live=True)
    low, high = p(torch.tensor([0.0, 3.0])).tolist()
    assert low == pytest.approx(saliency.FLOOR)
    assert high == pytest.approx(1 / (1 + math.exp(-2.0)))
    nothing = probability([torch.zeros(4)], **KEYWORDS, live=True)
    assert torch.isfinite(nothing(torch.zeros(4))).all()
    nothing = probability([torch.zeros(4)], **KEYWORDS | {"score": "range"}, live=True)
    assert torch.isfinite(nothing(torch.ones(2))).all()


def test_the_brackets_of_algorithm_1() -> None:
    score = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    expected = [1 / (1 + math.exp(2 * 2.0 * s - 0.7)) for s in (0.0, 0.5, 1.0)]
    assert keep_probability(score, "algorithm", alpha=0.7, beta=2.0).tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["normal", "mostly zero", "constant", "two values", "bfloat16", "float16"])
def test_exact_quantiles_are_exact(name: str) -> None:
    values = distributions()[name].abs()
    found = exact_quantile([values[:1000], values[1000:]])(values)
    torch.testing.assert_close(found.double(), true_quantiles(values), rtol=0, atol=1e-6)


def test_ranks_run_over_all_tensors_together() -> None:
    tensors = [torch.tensor([1.0, -8.0]), torch.tensor([[4.0], [2.0]]), torch.tensor([-16.0])]
    p = probability(tensors, **KEYWORDS)
    expected = [keep_probability(torch.tensor(q), "salient", 0.9, 10.0).item() for q in (0.0, 0.75, 0.5, 0.25, 1.0)]
    assert torch.cat([p(t.flatten()) for t in tensors]).tolist() == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1), st.floats(0, 100), st.sampled_from([1, -1]))
def test_probability_is_the_floored_sigmoid_of_equation_9(scores: list, alpha: float, beta: float, sign: int) -> None:
    keep = "salient" if sign == 1 else "printed"
    found = keep_probability(torch.tensor(scores, dtype=torch.float64), keep, alpha, beta).tolist()  # type: ignore[arg-type]
    for score, p in zip(scores, found, strict=True):
        assert p == pytest.approx(max(1 / (1 + math.exp(-sign * 2 * beta * (score - alpha))), 1e-3), abs=1e-12)


@pytest.mark.parametrize("way", ["exact", "histogram"])
@pytest.mark.parametrize(("keep", "share"), [("salient", 0.2), ("printed", 0.8)])
def test_alpha_is_the_share_that_is_masked(way: str, keep: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "histogram":
        coarse(monkeypatch)
    values = torch.randn(100_000, generator=torch.Generator().manual_seed(1)).exp()
    p = probability([values], **KEYWORDS | {"alpha": 0.8, "beta": 1e5, "keep": keep})
    kept = values.clone()
    select_([kept], [values], p, Moment(seed=3).generator(torch.device("cpu")), rescale=False)
    left = kept != 0
    assert left.float().mean().item() == pytest.approx(share, abs=2e-3)
    threshold = values.quantile(0.8)
    right_side = values > threshold if keep == "salient" else values <= threshold
    assert (left == right_side).float().mean() > 0.995  # the floor keeps 1e-3 of the others


@pytest.mark.parametrize("score", ["rank", "range"])
@pytest.mark.parametrize("way", ["exact", "histogram"])
def test_beta_zero_keeps_every_entry_with_one_half(score: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "histogram":
        coarse(monkeypatch)
    for values in (torch.randn(1000), torch.full((3,), 0.2), torch.randn(1000) * 1e-30):
        p = probability([values], **KEYWORDS | {"score": score, "beta": 0.0})(values)
        assert torch.equal(p, torch.full_like(p, 0.5))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-25, 1e12])
@pytest.mark.parametrize("way", ["exact", "histogram"])
def test_range_is_equation_8_as_printed_at_any_scale(scale: float, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "histogram":
        coarse(monkeypatch)
    values = torch.tensor([1.0, -2.0, 3.0, 0.0]) * scale
    p = probability([values[:2], values[2:]], **KEYWORDS | {"score": "range", "alpha": 0.4, "beta": 2.0})(values)
    expected = [1 / (1 + math.exp(-4.0 * (s / 9 - 0.4))) for s in (1, 4, 9, 0)]
    assert p.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_constant_gradient_is_all_salient_under_range() -> None:
    values = torch.full((5,), 1e-3)
    assert probability([values], **KEYWORDS | {"score": "range"})(values).tolist() == [1.0] * 5


def masked_many(values: Tensor, times: int, rescale: bool = True, **changes: object) -> tuple[Tensor, Tensor]:
    """`times` masked copies of a gradient, drawn independently, and the p of its entries."""
    p = probability([values], **KEYWORDS | changes)  # type: ignore[arg-type]
    copies = values.repeat(times)
    select_([copies], [copies.clone()], p, Moment(seed=9).generator(torch.device("cpu")), rescale=rescale)
    return copies.view(times, -1), p(values)


@pytest.mark.parametrize("way", ["exact", "histogram"])
@pytest.mark.parametrize("changes", [{}, {"keep": "printed"}, {"score": "range", "alpha": 0.1, "beta": 1.0}])
def test_theorem_1_the_mean_of_masked_gradients_is_the_gradient_and_the_variance_is_equation_18(
    way: str, changes: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saliency, "EXACT_UP_TO", 10**9 if way == "exact" else 0)
    gradient = torch.randn(400, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    times = 20_000
    masked, p = masked_many(gradient, times, **changes)
    drawn = p < 0.99  # else too few are dropped for a normal law
    gradient, masked, p = gradient[drawn], masked[:, drawn], p[drawn].double()
    assert len(p) > 50
    deviation = gradient.abs() * ((1 - p) / p).sqrt()  # eq. 18 for a fixed gradient: (1 - p) g^2 / p
    off = (masked.mean(0) - gradient) / (deviation / math.sqrt(times))
    assert off.abs().max() < 5  # 400 draws that are nearly standard normal
    assert off.square().mean().item() == pytest.approx(1, abs=0.3)
    assert (masked.var(0) / deviation.square()).mean().item() == pytest.approx(1, abs=0.05)
    torch.testing.assert_close(masked.amax(0) + masked.amin(0), gradient / p, rtol=1e-6, atol=0)  # it is g/p or 0


def test_masking_raises_the_variance_and_stays_within_the_bound_of_theorem_1() -> None:
    """Gradients of many batches, N(mean, variance), each masked by its own p."""
    random = torch.Generator().manual_seed(3)
    mean = torch.randn(30, generator=random, dtype=torch.float64)
    variance, times, lowest = 0.25, 4000, []
    rows = []
    for seed in range(times):
        gradient = mean + math.sqrt(variance) * torch.randn(30, generator=random, dtype=torch.float64)
        p = probability([gradient], **KEYWORDS | {"alpha": 0.6, "beta": 1.0})
        lowest.append(float(p(gradient).min()))
        rows.append(gradient.clone())
        select_([rows[-1]], [gradient], p, Moment(seed=seed).generator(torch.device("cpu")), rescale=True)
    masked = torch.stack(rows)
    floor = min(lowest)
    assert (masked.mean(0) - mean).abs().max() < 6 * masked.std(0).max() / math.sqrt(times)
    covariance = masked.T.cov()
    assert (covariance.diagonal() > 1.3 * variance).all()  # raised, for every entry, not reduced
    bound = variance / floor + (1 - floor) / floor * mean.square()
    assert (covariance.diagonal() <= bound * 1.05).all()
    assert covariance.norm() <= bound.norm() * 1.05  # theorem 1's Frobenius norm


def test_without_rescaling_what_is_kept_stays_as_it_was() -> None:
    gradient = torch.randn(1000)
    masked, _ = masked_many(gradient, 3, rescale=False)
    assert ((masked == gradient) | (masked == 0)).all()


@pytest.mark.parametrize("way", ["exact", "histogram"])
def test_masks_follow_the_seed_and_the_step_only(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "histogram":
        coarse(monkeypatch)
    gradient = torch.randn(5000)
    p = probability([gradient], **KEYWORDS)

    def drawn(moment: Moment) -> Tensor:
        torch.manual_seed(torch.seed() % 1000)
        copy = gradient.clone()
        select_([copy], [gradient], p, moment.generator(copy.device), rescale=True)
        return copy

    assert torch.equal(drawn(Moment(4, seed=1)), drawn(Moment(4, seed=1)))
    assert not torch.equal(drawn(Moment(4, seed=1)), drawn(Moment(5, seed=1)))
    assert not torch.equal(drawn(Moment(4, seed=1)), drawn(Moment(4, seed=2)))


def test_selection_draws_no_global_random_number() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    masked_many(torch.randn(10, generator=torch.Generator().manual_seed(0)), 2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("way", ["exact", "histogram"])
def test_empty_rows_of_a_tall_matrix_stay_zero_and_draw_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "histogram":
        coarse(monkeypatch)
    monkeypatch.setattr(quantile, "BLOCK", 10)
    monkeypatch.setattr(quantile, "TALL", 20)
    rows = torch.tensor([3, 17, 18])
    tall = torch.zeros(40, 5).index_copy(0, rows, torch.randn(3, 5))
    p = probability([tall], **KEYWORDS)
    together, alone = tall.clone(), tall[rows]
    device = torch.device("cpu")
    select_([together], [tall], p, Moment().generator(device), rescale=True)
    select_([alone], [tall[rows]], p, Moment().generator(device), rescale=True)
    assert torch.equal(together[rows], alone)
    assert not together.index_fill(0, rows, 0.0).any()
    assert not torch.equal(together, tall)


def test_empty_rows_count_as_zeros_in_the_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse(monkeypatch)
    tall = torch.zeros(40, 5).index_fill(0, torch.tensor([7]), 1.0)
    expected = probability([tall], **KEYWORDS)(torch.ones(1))
    monkeypatch.setattr(quantile, "TALL", 20)
    assert torch.equal(probability([tall], **KEYWORDS)(torch.ones(1)), expected)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 70), st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_blocks_change_nothing(seed: int, size: int, dtype: torch.dtype) -> None:
    """An entry's p does not depend on the block that it is asked in."""
    values = torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(dtype)
    whole = probability([values], **KEYWORDS)(values)
    parts = torch.cat([probability([values], **KEYWORDS)(block) for block in values.split(7)])
    torch.testing.assert_close(whole, parts, rtol=1e-6, atol=0)  # vectorised sigmoids differ in the last bit
