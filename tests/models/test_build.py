"""Models from scratch for a tokenizer: settings, seeds, vectors, and a finished run loads like any other."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from uegr.errors import InputError
from uegr.models import build, load

WORDS = ["[PAD]", "[UNK]", "[SEP]", "the", "film", "is", "good", "bad", ".", "!"]
NAMES = ["bilstm", "textcnn", "texthan"]
SMALL = {
    "bilstm": {"embedding_size": 6, "hidden_size": 4},
    "textcnn": {"embedding_size": 6, "filters": 3, "windows": (2, 3)},
    "texthan": {"embedding_size": 6, "hidden_size": 4, "attention_size": 5},
}


@pytest.fixture
def tokenizer():
    words = Tokenizer(models.WordLevel({word: row for row, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", sep_token="[SEP]")


@pytest.mark.parametrize("name", NAMES)
def test_saved_run_loads_by_its_folder(name, tokenizer, tmp_path):
    built = build(name, tokenizer, labels=("bad", "good", "none"), seed=3, **SMALL[name])
    built.model.save_pretrained(tmp_path)
    built.tokenizer.save_pretrained(tmp_path)
    again = load(str(tmp_path))
    assert built.model.from_scratch
    assert not again.model.from_scratch  # the weights of another training
    assert again.model.config.id2label == {0: "bad", 1: "good", 2: "none"}
    batch = again.tokenizer(["the film is good.", "bad"], padding=True, return_tensors="pt")
    assert batch["input_ids"].tolist() == [[3, 4, 5, 6, 8], [7, 0, 0, 0, 0]]
    assert torch.equal(built.model(**batch).logits, again.model(**batch).logits)


@pytest.mark.parametrize("name", NAMES)
def test_finished_run_takes_another_head(name, tokenizer, tmp_path):
    built = build(name, tokenizer, num_labels=2, **SMALL[name])
    built.model.save_pretrained(tmp_path)
    built.tokenizer.save_pretrained(tmp_path)
    one, same, other = (load(str(tmp_path), num_labels=5, seed=seed).model for seed in (1, 1, 2))
    assert torch.equal(one.encoder.embeddings.weight, built.model.encoder.embeddings.weight)
    assert torch.equal(one.classifier.weight, same.classifier.weight)
    assert not torch.equal(one.classifier.weight, other.classifier.weight)


@pytest.mark.parametrize("name", NAMES)
def test_weights_follow_the_seed(name, tokenizer):
    torch.manual_seed(9)
    before = torch.get_rng_state()
    one, same, other = (build(name, tokenizer, 2, seed=seed, **SMALL[name]).model for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.encoder.embeddings.weight, other.encoder.embeddings.weight)


def test_labels_dtype_and_length(tokenizer):
    loaded = build("bilstm", tokenizer, problem_type="regression", dtype="float64", **SMALL["bilstm"])
    assert loaded.model.dtype == torch.float64
    assert loaded.model.config.num_labels == 1
    assert loaded.tokenizer.model_max_length == 512
    assert loaded.name == "bilstm"
    assert loaded.card.architecture == "bilstm"


def test_sentences_end_where_the_vocabulary_has_an_end(tokenizer):
    assert build("texthan", tokenizer, 2, **SMALL["texthan"]).model.config.sentence_ends == [8, 9, 2]


def test_vectors_fill_the_words_they_have(tokenizer, tmp_path):
    vectors = {"the": [1.0, 2.0], "good": [-3.0, 0.0]}
    text = "\n".join(f"{word} {one} {two}" for word, (one, two) in vectors.items())
    (tmp_path / "vectors.txt").write_text(text)
    plain = build("bilstm", tokenizer, 2, **{**SMALL["bilstm"], "embedding_size": 2})
    filled = build("bilstm", tokenizer, 2, vectors=str(tmp_path / "vectors.txt"), **SMALL["bilstm"])
    table, random = (each.model.get_input_embeddings().weight.detach() for each in (filled, plain))
    scale = (0.25 / 3**0.5) / np.std([1.0, 2.0, -3.0, 0.0])
    assert torch.allclose(table[3], torch.tensor([1.0, 2.0]) * scale)
    assert torch.allclose(table[6], torch.tensor([-3.0, 0.0]) * scale)
    rest = [row for row in range(len(WORDS)) if row not in (3, 6)]
    assert torch.equal(table[rest], random[rest])
    assert filled.model.config.embedding_size == 2


def test_vectors_of_another_language(tokenizer, tmp_path):
    (tmp_path / "vectors.txt").write_text("猫 1 2\n")
    with pytest.raises(InputError, match="none of the 10 words"):
        build("bilstm", tokenizer, 2, vectors=str(tmp_path / "vectors.txt"))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bilstn", {}, "did you mean bilstm"),
        ("textcnn", {"filter": 3}, "did you mean filters"),
        ("bilstm", {"pooling": "sum"}, "expected a pooling"),
        ("bilstm", {"dropout": 1.5}, "dropout probability"),
    ],
)
def test_refusals(name, settings, message, tokenizer):
    with pytest.raises(InputError, match=message):
        build(name, tokenizer, 2, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_learns_a_rule_of_two_words(name, tokenizer):
    texts = ["the film is good", "good film", "is good !", "the good", "the film is bad", "bad film", "is bad !", "bad"]
    labels = torch.tensor([1, 1, 1, 1, 0, 0, 0, 0])
    loaded = build(name, tokenizer, 2, **SMALL[name])
    batch = loaded.tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    optimizer = torch.optim.Adam(loaded.model.parameters(), lr=0.03)
    torch.manual_seed(0)
    loaded.model.train()
    for _ in range(60):
        optimizer.zero_grad()
        loaded.model(**batch, labels=labels).loss.backward()
        optimizer.step()
    assert torch.equal(loaded.model.eval()(**batch).logits.argmax(-1), labels)
