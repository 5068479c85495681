"""Options that cannot be: one clear line each, which names the method, what was expected and what came."""

import math
from typing import Any

import pytest

from uegr.methods import fgm, rat, rat_su, uegr, vanilla

REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (uegr, {"epsilon": -0.1}, "uegr: expected epsilon >= 0, got -0.1"),
    (uegr, {"epsilon": math.nan}, "uegr: expected epsilon >= 0, got nan"),
    (uegr, {"alpha": 1.3}, "uegr: expected 0 <= alpha <= 1, got 1.3"),
    (uegr, {"alpha": -0.1}, "uegr: expected 0 <= alpha <= 1, got -0.1"),
    (uegr, {"beta": -1.0}, "uegr: expected beta >= 0, got -1.0"),
    (uegr, {"epsilon_warmup": 1.5}, "uegr: expected 0 <= epsilon_warmup <= 1, got 1.5"),
    (uegr, {"norm": "l2"}, "uegr: expected norm to be one of example, token, matrix, max, sign, got 'l2'"),
    (uegr, {"submodels": 0}, "uegr: expected submodels >= 1, got 0"),
    (uegr, {"rates": (0.3,)}, "uegr: expected 2 rates, one per sub-model, got 1"),
    (uegr, {"rates": (0.3, 1.0)}, "uegr: expected rates within [0, 1), got 1.0"),
    (uegr, {"rates": -0.1}, "uegr: expected rates within [0, 1), got -0.1"),
    (uegr, {"spread": -0.1}, "uegr: expected 0 <= spread <= 1, got -0.1"),
    (uegr, {"clean_dropout": "none"}, "uegr: expected clean_dropout to be own or adaptive, got 'none'"),
    (uegr, {"divergence": "jss"}, "uegr: expected a divergence among kl, symmetric_kl, js, ce, mse, mae, got 'jss'"),
    (uegr, {"divergence_weight": -1.0}, "uegr: expected a divergence weight >= 0, got -1.0"),
    (uegr, {"reduction": "none"}, "uegr: expected reduction to be mean or sum, got 'none'"),
    (uegr, {"pairs": "max"}, "uegr: expected pairs to be mean or sum, got 'max'"),
    (uegr, {"score": "quantile"}, "uegr: expected score to be one of rank, range, fisher, got 'quantile'"),
    (uegr, {"keep": "weak"}, "uegr: expected keep to be one of salient, printed, algorithm, got 'weak'"),
    (uegr, {"scope": "head"}, "uegr: expected scope to be one of all, live, encoder, got 'head'"),
    (uegr, {"adversarial_reduction": "max"}, "uegr: expected adversarial_reduction to be mean or sum, got 'max'"),
    (uegr, {"rescale": "adam"}, "uegr: expected rescale to be true, false or 'update', got 'adam'"),
    (uegr, {"refresh": 0}, "uegr: expected refresh to be a number of steps >= 1 or 'epoch', got 0"),
    (uegr, {"split": 0}, "uegr: expected split >= 1, got 0"),
    (uegr, {"epsilon": "big"}, "uegr: expected a number for epsilon, got 'big'"),
    (uegr, {"alpha": None}, "uegr: expected a number for alpha, got None"),
    (fgm, {"epsilon": -1.0}, "fgm: expected epsilon >= 0, got -1.0"),
    (rat, {"epsilons": (1.0,)}, "rat: expected 2 epsilons, one per sub-model, got 1"),
    (rat, {"epsilons": (1.0, -1.0)}, "rat: expected epsilon >= 0, got -1.0"),
    (rat, {"consistency": "l1"}, "rat: expected a divergence among kl, symmetric_kl, js, ce, mse, mae, got 'l1'"),
    (rat, {"alpha": -0.5}, "rat: expected a divergence weight >= 0, got -0.5"),
    (rat_su, {"alpha": 2.0}, "rat_su: expected 0 <= alpha <= 1, got 2.0"),
    (vanilla, {"dropout": 1.0}, "vanilla: expected 0 <= dropout < 1, got 1.0"),
]


@pytest.mark.parametrize(("factory", "options", "line"), REFUSED, ids=[line for _, _, line in REFUSED])
def test_a_value_that_cannot_be_is_refused_in_one_line(factory: Any, options: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        factory(**options)
    assert str(caught.value) == line


def test_an_option_that_a_method_lacks_is_one_line_with_its_options() -> None:
    wrong: Any = uegr
    with pytest.raises(TypeError, match=r"^uegr has no option epsilonn; did you mean epsilon\? its options: epsilon, "):
        wrong(epsilonn=0.1)
    plain: Any = vanilla
    with pytest.raises(TypeError, match=r"^vanilla has no option keep; its options: dropout$"):
        plain(keep=0.1)
