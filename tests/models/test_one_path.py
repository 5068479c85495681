"""The same texts give the same inputs and the same probabilities in training, evaluation and attack."""

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

from tests.evaluation.subjects import subject
from uegr.attacks import Victim
from uegr.attacks.victim import DECIMALS
from uegr.evaluation import probabilities
from uegr.models.tokens import tokenized

pytestmark = pytest.mark.filterwarnings("ignore::uegr.errors.DataWarning")  # long texts are cut, as they should be
TEXTS = ["", "w5", "w7 w8 w9", " ".join(["w6", "w11"] * 400), "w5 unseen w6"]
PAIRS = [("", ""), ("w5", ""), ("", "w6 w7"), (" ".join(["w6"] * 700), "w8 w9"), ("w5 w9", "w7")]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def attacked(model, tokenizer, texts, max_length=None):
    return Victim(model, tokenizer, max_length=max_length)(texts)


def seen_by(model, ask):
    """The inputs of every forward, and what was answered."""
    inputs = []
    hook = model.register_forward_pre_hook(lambda _, args, named: inputs.append(named), with_kwargs=True)
    try:
        answers = ask()
    finally:
        hook.remove()
    return inputs, answers


def trainers_batches(model, tokenizer, texts, folder):
    """As a training pads them: cached rows, the Trainer's choice of columns, and its collator."""
    sides = [list(side) for side in zip(*texts, strict=True)] if isinstance(texts[0], tuple) else [texts]
    rows = Dataset.from_dict(dict(zip(("text", "pair"), sides, strict=False)))
    args = TrainingArguments(str(folder), use_cpu=True, report_to="none", per_device_eval_batch_size=len(texts))
    trainer = Trainer(model=model, args=args, data_collator=DataCollatorWithPadding(tokenizer))
    with torch.no_grad():
        for batch in trainer.get_eval_dataloader(tokenized(rows, tokenizer)):
            yield dict(batch), model(**batch).logits.double()


def paths(model, tokenizer, texts, folder):
    """(inputs, probabilities) of training, evaluation and attack, of texts that are one batch."""
    ((batch, logits),) = trainers_batches(model, tokenizer, texts, folder)
    yield batch, logits.round(decimals=DECIMALS).softmax(-1).numpy()
    for ask in (probabilities, attacked):
        (inputs,), answers = seen_by(model, lambda ask=ask: ask(model, tokenizer, texts))
        yield inputs, answers


def check(model, tokenizer, texts, folder):
    (first, wanted), *others = paths(model, tokenizer, texts, folder)
    for inputs, answers in others:
        assert inputs.keys() == first.keys()
        assert all(torch.equal(inputs[name], first[name]) for name in first)
        np.testing.assert_allclose(answers, wanted, atol=2 * 10**-DECIMALS)


@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["texts", "pairs"])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "distilbert", "gpt2", "bilstm", "textcnn"])
def test_one_text_at_a_time(family, special, texts, tmp_path):
    model, tokenizer = subject(family, dtype=torch.float64, special=special)
    for text in texts:
        check(model, tokenizer, [text], tmp_path)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", ["bert", "distilbert", "bilstm"])
def test_a_padded_batch_with_token_types(family, side, tmp_path):
    """DistilBERT takes no token types. The longest text comes first, as sorted."""
    model, tokenizer = subject(family, dtype=torch.float64)
    tokenizer.padding_side = side
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    check(model, tokenizer, [("w5 w6 w7", "w8 w9"), ("w5", "w6"), ("", "")], tmp_path)


@pytest.mark.parametrize("asked", [None, 600, 20_000])
def test_a_long_text_is_cut_at_one_length(asked, tmp_path):
    model, tokenizer = subject("bilstm", dtype=torch.float64)
    tokenizer.model_max_length = 8192
    text = " ".join(["w6", "w11", "w30"] * 3000)
    rows = tokenized(Dataset.from_dict({"text": [text]}), tokenizer, asked)
    limit = min(asked or 8192, 8192)
    assert rows["length"][:] == [limit]
    for ask in (probabilities, attacked):
        (inputs,), _ = seen_by(model, lambda ask=ask: ask(model, tokenizer, [text], max_length=asked))
        assert inputs["input_ids"][0].tolist() == rows["input_ids"][0]
    assert Victim(model, tokenizer, max_length=asked).max_length == limit


def test_an_empty_text_where_the_tokenizer_has_no_unknown_word(tmp_path):
    model, tokenizer = subject("gpt2", dtype=torch.float64, special=False)
    tokenizer.unk_token = None
    for texts in (["", ""], ["w5 w6", ""]):
        check(model, tokenizer, texts, tmp_path)
    rows = tokenized(Dataset.from_dict({"text": [""]}), tokenizer)
    assert rows["attention_mask"][:] == [[1]]
