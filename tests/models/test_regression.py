"""A regression begins where its labels are, whatever the family; a trained head stays as it is."""

import pytest
import torch

from tests.models.families import FAMILIES, tiny
from uegr.models.loaded import Loaded
from uegr.models.regression import Scale, begin

WITHOUT_BIAS = ("gpt2", "llama", "qwen2")


def answers(model):
    with torch.inference_mode():
        return model.eval()(input_ids=torch.arange(5, 35).view(5, 6), attention_mask=torch.ones(5, 6).long()).logits


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "mtdnn"])
def test_the_fresh_head_of_every_family_answers_at_the_labels_scale(family):
    model, _ = tiny(family, num_labels=1, dtype=torch.float64)
    before = answers(model)
    has_bias = begin(Loaded(model, None, family, None, frozenset(model.state_dict())), Scale(2000.0, 50.0))
    assert has_bias == (family not in WITHOUT_BIAS)
    assert torch.allclose(answers(model), (2000.0 if has_bias else 0.0) + 50.0 * before)


def test_a_head_that_was_trained_stays_as_it_is():
    model, _ = tiny("bert", num_labels=1)
    before = answers(model)
    assert begin(Loaded(model, None, "bert", None), Scale(2000.0, 50.0))
    assert torch.equal(answers(model), before)
