"""Settings of the selective update that cannot work, each with its one line."""

import math
from typing import Any

import pytest

from uegr.pieces.saliency import check_selection

KEYWORDS: dict[str, Any] = {"score": "rank", "keep": "salient", "alpha": 0.9, "beta": 10.0}
REFUSED = {
    "expected 0 <= alpha <= 1, got -0.1": {"alpha": -0.1},
    "expected 0 <= alpha <= 1, got 1.5": {"alpha": 1.5},
    "expected 0 <= alpha <= 1, got nan": {"alpha": math.nan},
    "expected beta >= 0, got -1.0": {"beta": -1.0},
    "expected score to be one of rank, range, fisher, got 'ranks'": {"score": "ranks"},
    "expected keep to be one of salient, printed, algorithm, got 'all'": {"keep": "all"},
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line: str) -> None:
    with pytest.raises(ValueError, match=line):
        check_selection(**KEYWORDS | REFUSED[line])
