"""The shortcuts change no logit of any family, and do leave out what they say where they know the model."""

import pytest
import torch
from torch import nn
from transformers import BertForSequenceClassification

from tests.models.families import FAMILIES, tiny
from uegr.attacks.shortcut import shortened

KNOWN = ["bert", "roberta", "electra"]


def batch(model, vocabulary, left=False):
    """Variants of a sentence: they share most tokens, and two are padded."""
    torch.manual_seed(0)
    ids = torch.randint(5, vocabulary, (1, 9)).repeat(6, 1)
    ids[torch.arange(1, 6), torch.arange(1, 6)] = torch.randint(5, vocabulary, (5,))
    mask = torch.ones_like(ids)
    mask[1, 6:], mask[4, 3:] = 0, 0
    ids[mask == 0] = padding = model.config.pad_token_id or 0
    ids[2, 4] = padding  # a text may spell the padding token out
    if left:
        ids, mask = ids.flip(1), mask.flip(1)
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_logits_stay(family):
    model, vocabulary = tiny(family, num_labels=3, dtype=torch.float64)
    inputs = batch(model.eval(), vocabulary)
    plain = model(**inputs).logits
    with shortened(model):
        assert torch.allclose(model(**inputs).logits, plain, atol=1e-12)
    assert torch.equal(model(**inputs).logits, plain)


@pytest.mark.parametrize("family", KNOWN)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["padded", "left", "full", "no mask", "types", "embedded", "empty"])
@torch.inference_mode()
def test_logits_stay_whatever_the_batch(family, attention, kind):
    model, vocabulary = tiny(family, num_labels=3, dtype=torch.float64)
    model.eval().set_attn_implementation(attention)
    inputs = batch(model, vocabulary, left=kind == "left")
    if kind == "full":
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    elif kind == "no mask":
        del inputs["attention_mask"]
    elif kind == "types" and model.config.type_vocab_size > 1:
        inputs["token_type_ids"] = (torch.arange(9) > 4).long().repeat(6, 1)
    elif kind == "embedded":
        inputs["inputs_embeds"] = model.get_input_embeddings()(inputs.pop("input_ids"))
    elif kind == "empty":
        inputs["attention_mask"][3] = 0
    plain = model(**inputs).logits
    with shortened(model):
        assert torch.allclose(model(**inputs).logits, plain, atol=1e-12, equal_nan=True)
    assert torch.equal(model(**inputs).logits.nan_to_num(), plain.nan_to_num())


@pytest.mark.parametrize("family", KNOWN)
@torch.inference_mode()
def test_work_is_left_out_and_made_whole_again(family):
    model, vocabulary = tiny(family, num_labels=2, dtype=torch.float64)
    rows = {}

    def watch(name):
        return lambda module, inputs, output: rows.setdefault(name, []).append(output.numel() // output.shape[-1])

    for number, layer in enumerate(model.base_model.encoder.layer):
        layer.intermediate.register_forward_hook(watch(f"feed-forward {number}"))
        layer.attention.self.key.register_forward_hook(watch(f"key {number}"), prepend=True)
    inputs = batch(model, vocabulary)
    with shortened(model):
        model(**inputs)
    pairs = len({(place, token) for row in inputs["input_ids"].tolist() for place, token in enumerate(row)})
    assert rows["key 0"][0] <= pairs + 9 < 6 * 9  # RoBERTa's places part after a padding token within a text
    assert "key 1" not in rows
    assert (rows["feed-forward 0"], rows["feed-forward 1"]) == ([54], [6])
    with pytest.raises(RuntimeError, match="stop"), shortened(model):
        raise RuntimeError("stop")
    rows.clear()
    model(**inputs)
    assert rows == {"key 0": [54], "key 1": [54], "feed-forward 0": [54], "feed-forward 1": [54]}


@torch.inference_mode()
def test_projections_of_another_kind_are_asked_themselves():
    class Doubled(nn.Linear):
        def forward(self, inputs):
            return 2 * super().forward(inputs)

    model, vocabulary = tiny("bert", num_labels=2, dtype=torch.float64)
    for layer in model.eval().base_model.encoder.layer:
        old = layer.attention.self.key
        layer.attention.self.key = Doubled(old.in_features, old.out_features).double()
    inputs = batch(model, vocabulary)
    plain = model(**inputs).logits
    with shortened(model):
        assert torch.allclose(model(**inputs).logits, plain, atol=1e-12)


def test_a_subclass_and_a_decoder_are_left_alone():
    class Own(BertForSequenceClassification):
        pass

    model, _ = tiny("bert", num_labels=2, dtype=torch.float64)
    decoder = BertForSequenceClassification(type(model.config)(**model.config.to_dict() | {"is_decoder": True}))
    for other in (Own(model.config), decoder):
        with shortened(other):
            assert not any(module._forward_pre_hooks or module._forward_hooks for module in other.modules())
            assert not any("forward" in vars(module) for module in other.modules())
