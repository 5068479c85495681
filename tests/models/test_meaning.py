"""Every alias out of the registry tells related sentences from unrelated: a broken conversion cannot pass."""

import pytest
import torch

from tests.models.sentences import CHINESE, ENGLISH
from uegr.models import cards, load

PACKAGED = [name for name, card in cards().items() if card.sources]
QUICK = {"minilm", "minilm-l3"}  # small packages; the others are downloaded by the slow tests


def embedded(loaded, texts):
    """Mean-pooled last hidden states, (texts, units)."""
    batch = loaded.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = loaded.model.eval().base_model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1)
    return (states * mask).sum(1) / mask.sum(1)


def separation(loaded, pairs):
    """How many sentences have their partner nearest, and how much nearer partners are on average (cosine, centred)."""
    one, other = (embedded(loaded, list(side)) for side in zip(*pairs, strict=True))
    centre = torch.cat([one, other]).mean(0)
    one, other = (torch.nn.functional.normalize(side - centre, dim=-1) for side in (one, other))
    cosine = one @ other.T
    related = torch.eye(len(pairs), dtype=torch.bool)
    hits = int((cosine.argmax(1) == torch.arange(len(pairs))).sum())
    return hits, float(cosine[related].mean() - cosine[~related].mean())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in PACKAGED]
)
def test_related_sentences_are_near(name):
    hits, gap = separation(load(name), CHINESE if cards()[name].language == "zh" else ENGLISH)
    assert hits >= 11
    assert gap > 0.5  # trained 0.59 to 0.79; with random weights 0.40 at most


def test_the_measure_notices_a_broken_conversion():
    loaded = load("minilm")
    with torch.no_grad():
        for module in loaded.model.base_model.encoder.modules():
            if isinstance(module, torch.nn.Linear) and module.in_features == module.out_features:
                module.weight.copy_(module.weight.T.clone())
    hits, gap = separation(loaded, ENGLISH)
    assert hits < 11 or gap < 0.5


@pytest.mark.slow
def test_smollm2_finds_fluent_text_likelier():
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from uegr.models import fetch

    model = AutoModelForCausalLM.from_pretrained(fetch("smollm2"))
    tokenizer = AutoTokenizer.from_pretrained(fetch("smollm2"))

    def perplexity(text):
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            return float(model(input_ids=ids, labels=ids).loss.exp())

    fluent = "The cat sat on the mat and looked out of the window."
    shuffled = "mat the of and on window cat looked The sat out the."
    assert perplexity(fluent) < 100 < 1000 < perplexity(shuffled)


def test_long_texts_are_not_cut_at_the_length_that_the_tokenizer_was_saved_with():
    tokenizer = load("minilm").tokenizer
    assert len(tokenizer("word " * 300)["input_ids"]) == 302
    assert len(tokenizer("word " * 600, truncation=True)["input_ids"]) == 512
