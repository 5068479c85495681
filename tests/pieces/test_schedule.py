"""Where in training a step is: random numbers by seed and step, and what warms up."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from uegr.pieces.schedule import Moment, warmed

CPU = torch.device("cpu")


def drawn(moment: Moment) -> list[float]:
    return torch.rand(8, generator=moment.generator(CPU)).tolist()


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.integers(1, 10**6))
def test_random_numbers_depend_on_seed_and_step_alone(seed: int, step: int, total: int) -> None:
    here = drawn(Moment(step, seed=seed))
    assert here == drawn(Moment(step, total=total, epoch_steps=7, seed=seed))
    assert here != drawn(Moment(step + 1, seed=seed))
    assert here != drawn(Moment(step, seed=seed + 1))


def test_no_two_near_moments_share_their_numbers() -> None:
    seen = {tuple(drawn(Moment(step, seed=seed))) for step in range(60) for seed in range(60)}
    assert len(seen) == 3600


def test_warm_up_grows_linearly_over_its_share() -> None:
    assert [warmed(0.4, 0.25, Moment(step, total=16)) for step in (0, 1, 2, 4, 15)] == pytest.approx(
        [0.0, 0.1, 0.2, 0.4, 0.4]
    )
    assert warmed(0.4, 0.0, Moment(0)) == 0.4
    assert warmed(0.4, 1.0, Moment(8, total=16)) == pytest.approx(0.2)


def test_a_warm_up_without_a_total_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected the number of training steps for a warm-up over 0\.1 of them"):
        warmed(0.4, 0.1, Moment(3))
