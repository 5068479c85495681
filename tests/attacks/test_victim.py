"""A transformers model as predict: the model's own probabilities, whatever the batches; the model left as it was."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from tests.attacks.attack_models import bert, own_labels, sentences, surface, tokenizer, victim
from uegr.attacks import Victim, attack
from uegr.attacks.catalogue import make
from uegr.attacks.fluency import fluency, named
from uegr.attacks.similarity import embedded
from uegr.attacks.victim import DECIMALS
from uegr.errors import InputError


def alone(text):
    with torch.inference_mode():
        made = tokenizer()(*([text] if isinstance(text, str) else text), return_tensors="pt")
        return bert().eval()(**made).logits[0].round(decimals=DECIMALS).softmax(-1).numpy()


@pytest.mark.parametrize("tokens", [1, 50, 4096])
@pytest.mark.parametrize("pairs", [False, True])
def test_equals_one_text_at_a_time(tokens, pairs):
    texts = [text for text, _ in sentences()[:20]] + ["fine", "Fine fine, fine film."]
    if pairs:
        texts = [(text, other) for text, other in zip(texts, reversed(texts), strict=True)]
    found = Victim(bert(), tokenizer(), tokens=tokens)(texts)
    assert np.allclose(found, [alone(text) for text in texts], atol=1e-9)
    assert found.shape == (22, 3)


def test_modes_are_restored_even_after_a_failure():
    model = BertForSequenceClassification(bert().config).double()
    model.train()
    model.dropout.eval()
    before = [module.training for module in model.modules()]
    one = Victim(model, tokenizer())
    first = one(["a fine film"])
    assert np.array_equal(first, one(["a fine film"]))  # dropout was off
    assert [module.training for module in model.modules()] == before
    one.tokens = "broken"
    with pytest.raises(TypeError):
        one(["a fine film"])
    assert [module.training for module in model.modules()] == before


def test_long_texts_are_truncated_to_the_model():
    long = " ".join(["fine"] * 500)
    assert np.allclose(victim()([long])[0], Victim(bert(), tokenizer(), max_length=64)([long])[0])


def test_what_has_no_single_label_is_refused():
    config = BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, num_labels=1)
    with pytest.raises(InputError, match="at least 2 labels"):
        Victim(BertForSequenceClassification(config), tokenizer())
    config.num_labels, config.problem_type = 2, "multi_label_classification"
    with pytest.raises(InputError, match="one label per text"):
        Victim(BertForSequenceClassification(config), tokenizer())


def test_unknown_word_of_the_tokenizer_reaches_pwws():
    one = victim()
    one.tokenizer = SimpleNamespace(unk_token="<unk>")
    assert make("pwws", {}, one).unknown == "<unk>"
    assert make("pwws", {"unknown": "x"}, one).unknown == "x"
    one.tokenizer = SimpleNamespace(unk_token=None)  # GPT-2 has none
    assert make("pwws", {}, one).unknown == "[UNK]"


def test_genetic_keeps_to_what_is_fluent():
    """A language model that dislikes every substitute but the lexicon's last leaves no other choice."""
    last = {others[-1] for others in map(surface().substitutes, surface().lexicon.readings) if others}

    def taste(texts):
        return np.array([sum(word in last for word in surface().split(text).words) for text in texts], dtype=float)

    given = own_labels(victim(), [text for text, _ in sentences()[:8]])
    results = attack(victim(), given, "genetic", surface=surface(), population=4, iterations=2, kept=1, fluency=taste)
    changes = [change for outcome in results.outcomes for change in outcome.changes]
    assert changes
    assert all(change.new.lower() in {word.lower() for word in last} for change in changes)


def test_a_substitute_is_used_where_the_text_stays_likely_enough():
    """RIFT's release: log p of the text with it alone within 5 of the original's."""
    given = own_labels(victim(), [text for text, _ in sentences()[:8]])
    usual = {word.lower() for _, _, others in pairs_of(given) for word in others[:1]}
    usual |= {word.lower() for text, _ in given for word in text.split()}

    def log_p(texts):
        strange = [sum(word.lower() not in usual for word in text.split()) for text in texts]
        return torch.tensor([-6.0 * count for count in strange])

    options = {"surface": surface(), "population": 4, "iterations": 2}
    found = attack(victim(), given, "genetic", fluency=log_p, within=5.0, **options)
    changes = [change for outcome in found.outcomes for change in outcome.changes]
    assert changes
    assert all(change.new.lower() in usual for change in changes)
    free = attack(victim(), given, "genetic", fluency=log_p, within=1e9, **options)
    assert free.outcomes == attack(victim(), given, "genetic", **options).outcomes
    with pytest.raises(InputError, match="within >= 0 and a language model"):
        make("genetic", {"within": 5.0})


def pairs_of(given):
    """(position, word, substitutes) of every word that has some."""
    known = surface()
    words = [(at, word) for text, _ in given for at, word in enumerate(known.split(text).words)]
    return [(at, word, known.substitutes(word)) for at, word in words if known.substitutes(word)]


def causal():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    made = tokenizer()
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(made), n_embd=8, n_layer=1, n_head=1, n_positions=64)).eval()
    model.requires_grad_(False)
    made.bos_token = "[CLS]"
    return model, made


def test_a_named_model_gives_the_log_probability_of_whole_texts(tmp_path):
    model, made = causal()
    model.save_pretrained(tmp_path)
    made.save_pretrained(tmp_path)
    texts = ["a fine film", "fine"]
    total, mean = (named(str(tmp_path), total=whole)(texts) for whole in (True, False))
    counts = torch.tensor([len(made(text, add_special_tokens=False).input_ids) for text in texts])
    assert torch.allclose(total, mean * counts, atol=1e-5)
    assert torch.allclose(mean, fluency(model, made)(texts), atol=1e-5)
    assert set(make("genetic", {"fluency": str(tmp_path), "within": 5.0}).scorers()) == {"fluency"}


def test_fluency_of_a_causal_model():
    model, made = causal()
    texts = ["a fine film", "fine", "the story is dull and the acting seems weak"]
    found = fluency(model, made, rows=2)(texts)
    for text, value in zip(texts, found, strict=True):
        ids = [2, *made(text, add_special_tokens=False).input_ids]
        logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        literal = sum(float(logs[at, ids[at + 1]]) for at in range(len(ids) - 1)) / (len(ids) - 1)
        assert float(value) == pytest.approx(literal, abs=1e-5)


def test_sentence_vectors_are_means_over_tokens():
    texts = ["a fine film", "fine", "the story is dull and the acting seems weak"]
    found = embedded(texts, bert().base_model.eval(), tokenizer(), rows=2)
    for text, vector in zip(texts, found, strict=True):
        with torch.inference_mode():
            states = bert().base_model(**tokenizer()(text, return_tensors="pt")).last_hidden_state[0]
        assert torch.allclose(vector, states.mean(0), atol=1e-9)
