"""Every Hugging Face family: the loader's and the engine's assumptions hold for a tiny member."""

import pytest
import torch

from tests.models.families import FAMILIES, tiny

LENGTHS = (3, 5, 7)


def batch(model, vocabulary, padding):
    """Three texts, padded to 7 + padding; XLNet's summary is the last position, so its tokenizer pads on the left."""
    ids = torch.full((3, 7 + padding), model.config.pad_token_id)
    for row, length in enumerate(LENGTHS):
        place = slice(-length, None) if model.config.model_type == "xlnet" else slice(length)
        ids[row, place] = torch.arange(5, 5 + length) + row
    assert ids.max() < vocabulary
    mask = (ids != model.config.pad_token_id).long()
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", FAMILIES)
def test_embedding_hook_sees_every_token_and_gets_gradient(family):
    model, vocabulary = tiny(family, num_labels=3, dtype=torch.float64)
    seen = []

    def remember(module, inputs, output):
        output.retain_grad()
        seen.append((inputs[0].shape, output))

    hook = model.get_input_embeddings().register_forward_hook(remember)
    model_input = batch(model, vocabulary, 2)
    out = model(**model_input, labels=torch.tensor([0, 1, 2]), output_hidden_states=True)
    hook.remove()
    out.loss.backward()
    assert [shape for shape, _ in seen] == [(9, 3) if family == "xlnet" else (3, 9)]  # XLNet turns its ids first
    gradient = seen[0][1].grad.transpose(0, 1) if family == "xlnet" else seen[0][1].grad
    reached = gradient.abs().sum(-1) > 0
    assert torch.equal(reached, model_input["attention_mask"].bool())
    assert out.logits.shape == (3, 3)
    assert out.logits.dtype == torch.float64
    assert len(out.hidden_states) >= 2


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_does_not_change_the_logits(family):
    model, vocabulary = tiny(family, dtype=torch.float64)
    model.eval()
    short, long = (model(**batch(model, vocabulary, padding)).logits for padding in (0, 3))
    assert torch.allclose(short, long, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_sites(family):
    rates = [module.p for module in tiny(family)[0].modules() if isinstance(module, torch.nn.Dropout)]
    if family in {"llama", "qwen2"}:  # published without dropout: methods that need a site must refuse them
        assert rates == []
    else:
        assert max(rates) >= 0.1


def test_saved_and_loaded_by_plain_transformers(tmp_path):
    from transformers import AutoModelForSequenceClassification

    model, vocabulary = tiny("deberta-v2")
    model.eval().save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    inputs = batch(model, vocabulary, 0)
    assert torch.equal(model(**inputs).logits, again.eval()(**inputs).logits)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_model_is_whole(family, tmp_path):
    from transformers import AutoConfig

    from uegr.models.huggingface import weights

    model, vocabulary = tiny(family)
    model.eval().save_pretrained(tmp_path)
    again, fresh = weights(str(tmp_path), AutoConfig.from_pretrained(tmp_path), 0, whole=True)
    inputs = batch(model, vocabulary, 0)
    assert not fresh
    assert torch.equal(model(**inputs).logits, again.eval()(**inputs).logits)
