"""The configuration refuses what cannot be computed with."""

from typing import get_args

import pytest

from uegr.errors import InputError
from uegr.training.config import read_config
from uegr.training.keys import SECTIONS, fields

FLOATS = [
    f"{section}.{name}"
    for section, model in SECTIONS.items()
    for name, field in fields(model)
    if float in (field.annotation, *get_args(field.annotation))
]


def test_there_are_such_keys():
    assert {"training.learning_rate", "training.clip", "dataset.holdout", "model.lora_dropout"} <= set(FLOATS)


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("key", FLOATS)
def test_a_number_that_is_not_finite_is_refused_for_every_key(key, number):
    with pytest.raises(InputError, match=f"^{key}: input should be a finite number, got {number}$"):
        read_config(None, {"dataset.name": "snippets", key: float(number)}, [])
