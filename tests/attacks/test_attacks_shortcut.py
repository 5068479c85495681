"""The shortcut changes no logit of any family, and does cut the last layer where it knows the head."""

import pytest
import torch
from transformers import BertForSequenceClassification

from families import FAMILIES, tiny
from uegr.attacks.shortcut import first_token_only


def batch(model, vocabulary):
    torch.manual_seed(0)
    ids = torch.randint(5, vocabulary, (4, 9))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    ids[1, 6:] = model.config.pad_token_id or 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_logits_stay(family):
    model, vocabulary = tiny(family, num_labels=3, dtype=torch.float64)
    inputs = batch(model.eval(), vocabulary)
    plain = model(**inputs).logits
    with first_token_only(model):
        assert torch.allclose(model(**inputs).logits, plain, atol=1e-12)
    assert torch.equal(model(**inputs).logits, plain)


@pytest.mark.parametrize("family", ["bert", "roberta", "electra"])
@torch.inference_mode()
def test_the_last_layer_is_cut_and_made_whole_again(family):
    model, vocabulary = tiny(family, num_labels=2, dtype=torch.float64)
    seen = []
    for layer in model.base_model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1]))
    with first_token_only(model):
        model(**batch(model, vocabulary))
    assert seen == [9, 1]
    with pytest.raises(RuntimeError, match="stop"), first_token_only(model):
        raise RuntimeError("stop")
    model(**batch(model, vocabulary))
    assert seen[2:] == [9, 9]


def test_a_subclass_is_left_alone():
    class Own(BertForSequenceClassification):
        pass

    model, _ = tiny("bert", num_labels=2, dtype=torch.float64)
    own = Own(model.config)
    with first_token_only(own):
        assert not any(module._forward_pre_hooks for module in own.modules())
