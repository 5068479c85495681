"""Intervals against published or exact values."""

import json

import numpy as np
import pytest

from uegr.statistics import bootstrap, mean, proportion


def test_wilson_at_published_values():
    # Newcombe 1998, table I, method 3 (score): 81/263, 15/148, 0/20, 1/29
    for hits, n, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        figure = proportion(hits, n)
        assert (figure.low, figure.high) == pytest.approx((low, high), abs=5e-5)
        assert figure.value == hits / n
    assert proportion(7, 7).high == 1.0
    assert proportion(0, 0).n == 0


def test_bootstrap_of_a_mean_has_the_width_of_theory():
    values = np.random.default_rng(0).normal(size=400)
    drawn, exact = bootstrap(np.mean, values), mean(values)
    assert drawn.high - drawn.low == pytest.approx(exact.high - exact.low, rel=0.1)
    assert exact.high - exact.value == pytest.approx(1.96 * values.std(ddof=1) / 20, rel=1e-4)
    assert bootstrap(np.mean, values) == drawn  # seeded


def test_strata_keep_their_sizes():
    strata = np.array([0] * 3 + [1] * 2)
    counts = []
    bootstrap(lambda group: counts.append(int(group.sum())) or 0.0, strata, strata=strata, resamples=20)
    assert set(counts) == {2}


def test_figures_are_json_also_when_nothing_is_known():
    assert json.loads(json.dumps(proportion(0, 0).to_json(), allow_nan=False)) == {
        "value": None,
        "low": 0.0,
        "high": 1.0,
        "n": 0,
    }
