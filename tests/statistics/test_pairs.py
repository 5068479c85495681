"""Two models on the same rows."""

import numpy as np

from uegr.statistics import Figure, mcnemar
from uegr.statistics.pairs import Pair, adjusted, exchanged, moved_share, paired_metric, paired_shares, separate


def test_the_interval_over_the_same_rows_is_narrower_than_that_of_two_figures() -> None:
    draw = np.random.default_rng(0)
    first = draw.random(400) < 0.7
    second = first.copy()
    second[np.flatnonzero(~first)[:12]] = True
    pair = paired_shares("accuracy", first, second)
    apart = separate("accuracy", pair.first, pair.second)
    assert pair.p == mcnemar(second, first).p < 0.001
    assert (pair.favours, apart.favours) == (1, 0)
    assert pair.difference.high - pair.difference.low < (apart.difference.high - apart.difference.low) / 3
    assert paired_shares("accuracy", second, first).favours == -1


def test_six_rows_on_which_both_agree_do_not_show_that_the_models_are_equal() -> None:
    """`uegr compare` printed +0.0 (+0.0 to +0.0) for six rows."""
    found = paired_shares("accuracy", [True] * 5 + [False], [True] * 5 + [False]).difference
    assert found.value == 0.0
    assert found.low < -0.2
    assert found.high > 0.2
    assert paired_shares("accuracy", [False] * 4, [True] * 4).difference.high == 1.0


def test_the_interval_of_a_paired_difference_holds_what_it_promises() -> None:
    """Drawn from known shares of gained and lost rows: 95% of the intervals hold the true difference."""
    draw, rows = np.random.default_rng(0), 40
    for gained, lost in ((0.1, 0.05), (0.02, 0.02), (0.2, 0.02)):
        counts = draw.multinomial(rows, [gained, lost, 1 - gained - lost], 2000)
        found = [moved_share(int(more), int(fewer), rows) for more, fewer, _ in counts]
        held = np.mean([one.low <= gained - lost <= one.high for one in found])
        assert held >= 0.94, (gained, lost, held)


def test_a_metric_is_resampled_with_the_same_rows_for_both() -> None:
    draw = np.random.default_rng(1)
    truth = draw.normal(size=100)
    noisy = truth + draw.normal(size=100)
    pair = paired_metric(
        "error", lambda found, labels: float(np.mean((found - labels) ** 2)), noisy, noisy - 0.0, truth
    )
    assert pair.difference.value == 0.0
    assert not pair.difference.bounded  # resampled rows that all agree tell nothing about other rows
    assert pair.favours == 0
    assert pair.first.low < pair.first.value < pair.first.high


def test_less_may_be_better_and_neither_is_never_shown() -> None:
    low, high = Figure(0.1, 0.09, 0.11, 100), Figure(0.3, 0.29, 0.31, 100)
    assert [separate("x", low, high, better).favours for better in (1, -1, 0)] == [1, -1, 0]


def test_many_measures_need_a_smaller_p() -> None:
    pair = Pair("x", *[Figure(0.5, 0.4, 0.6, 10)] * 2, Figure(0.1, 0.01, 0.2, 10), 0.03, by_row=True)
    assert [one.p for one in adjusted([pair, pair])] == [0.06, 0.06]
    assert [one.favours for one in adjusted([pair])] == [1]
    assert [one.favours for one in adjusted([pair, pair])] == [0, 0]


def share_right(answers: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(answers == labels))


def macro_recall(answers: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean([np.mean(answers[labels == label] == label) for label in np.unique(labels)]))


def test_any_metric_has_a_p_value_that_counts_for_holm() -> None:
    """`uegr compare` called a model better by macro F1 from an interval alone, beside measures adjusted by Holm."""
    truth = np.array([0, 1] * 50)
    first, second = truth.copy(), truth.copy()
    first[:6] = 1 - first[:6]
    pair = paired_metric("recall", macro_recall, first, second, truth)
    assert pair.difference.low > 0  # alone, it would be called better
    assert 0.01 < pair.p < 0.05  # all six signs of the rows that differ, as often as 2 in 64
    assert adjusted([pair, pair])[0].favours == 0


def test_exchanging_answers_agrees_with_all_signs_of_the_rows_that_differ() -> None:
    """For the accuracy the exact p is the binomial of the rows that differ: 8 gained and 2 lost of 30."""
    truth = np.zeros(30, dtype=int)
    first, second = np.array([1] * 8 + [0] * 22), np.array([0] * 28 + [1] * 2)

    def gap(one: np.ndarray, other: np.ndarray, labels: np.ndarray) -> float:
        return share_right(other, labels) - share_right(one, labels)

    exact = mcnemar(second == truth, first == truth).p
    assert abs(exchanged(gap, first, second, truth, draws=20_000) - exact) < 0.01
    assert exchanged(gap, first, first, truth) == 1.0


def test_equal_models_are_called_different_as_rarely_as_promised() -> None:
    draw, called = np.random.default_rng(3), 0
    for _ in range(200):
        truth = draw.integers(0, 2, 60)
        first, second = (np.where(draw.random(60) < 0.8, truth, 1 - truth) for _ in range(2))
        gap = lambda one, other, labels: macro_recall(other, labels) - macro_recall(one, labels)  # noqa: E731
        called += exchanged(gap, first, second, truth, draws=200) < 0.05
    assert called <= 20  # 10 are expected; 21 and more have a chance of 0.1%
