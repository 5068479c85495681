"""Probabilities: the right rows in the right order, whatever their length, and nothing left changed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.subjects import some_texts, subject
from uegr.errors import InputError
from uegr.models.texts import accepted, batches, divided, padded, probabilities


def one_by_one(model, tokenizer, texts):
    columns = [(text,) if isinstance(text, str) else text for text in texts]
    with torch.no_grad():
        rows = [model(**tokenizer(*column, return_tensors="pt")).logits[0].softmax(-1) for column in columns]
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "gpt2", "bilstm", "texthan"])
def test_equals_one_text_at_a_time(family):
    model, tokenizer = subject(family, num_labels=3, dtype=torch.float64)
    texts = some_texts(33)
    found = probabilities(model, tokenizer, texts, batch_size=5)
    np.testing.assert_allclose(found, one_by_one(model, tokenizer, texts), atol=1e-10)
    assert np.ptp(found[:, 0]) > 0.01


def test_pairs_and_windows(monkeypatch):
    monkeypatch.setattr("uegr.models.texts.WINDOW", 10)
    model, tokenizer = subject(dtype=torch.float64)
    pairs = list(zip(some_texts(23), some_texts(23, seed=5), strict=True))
    found = probabilities(model, tokenizer, pairs, batch_size=4)
    np.testing.assert_allclose(found, one_by_one(model, tokenizer, pairs), atol=1e-10)


def test_long_rows_are_cut_and_max_length_cuts_shorter():
    model, tokenizer = subject(dtype=torch.float64)
    long = " ".join(["w7"] * 10_000)
    found = probabilities(model, tokenizer, [long, " ".join(["w7"] * 28)])
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    short = probabilities(model, tokenizer, [long, "w7 w7 w7"], max_length=5)
    np.testing.assert_allclose(short[0], short[1], atol=1e-12)


@pytest.mark.parametrize("family", ["bert", "gpt2", "bilstm", "textcnn", "texthan"])
def test_a_text_of_nothing_has_probabilities_that_do_not_depend_on_its_batch(family):
    model, tokenizer = subject(family, dtype=torch.float64, special=False)
    alone = probabilities(model, tokenizer, ["", ""])
    beside = probabilities(model, tokenizer, ["", "w5 w6 w7"])
    np.testing.assert_allclose(alone.sum(1), 1)
    np.testing.assert_allclose(alone[0], beside[0], atol=1e-10)


def test_no_texts_give_no_rows():
    model, tokenizer = subject()
    assert probabilities(model, tokenizer, []).shape == (0, 2)


def test_regression_gives_values():
    model, tokenizer = subject(num_labels=1, dtype=torch.float64)
    found = probabilities(model, tokenizer, ["w5 w6", "w9"])
    with torch.no_grad():
        expected = model(**tokenizer(["w5 w6"], return_tensors="pt")).logits
    assert found.shape == (2, 1)
    assert found[0, 0] == pytest.approx(expected.item(), abs=1e-12)


def test_modes_come_back_also_after_an_exception():
    model, tokenizer = subject()
    model.train()
    model.classifier.eval()
    modes = [module.training for module in model.modules()]
    probabilities(model, tokenizer, ["w5"])
    assert [module.training for module in model.modules()] == modes

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probabilities(model, tokenizer, ["w5"], progress=stop)
    assert [module.training for module in model.modules()] == modes


def test_progress_counts_rows():
    model, tokenizer = subject()
    calls = []
    probabilities(model, tokenizer, some_texts(10), batch_size=4, progress=lambda *call: calls.append(call))
    assert calls == [(4, 10), (8, 10), (10, 10)]


def test_a_diverged_model_is_one_clear_line():
    model, tokenizer = subject()
    with torch.no_grad():
        model.classifier.bias[0] = float("nan")
    with pytest.raises(InputError, match=r"row 0 is not a number \(2 of 2 rows\)"):
        probabilities(model, tokenizer, ["w5", "w6"])


def test_a_mixture_of_texts_and_pairs_is_refused():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="mixture"):
        probabilities(model, tokenizer, ["w5", ("w6", "w7")])


def test_padding_on_the_tokenizers_side():
    _, tokenizer = subject()
    columns = {"input_ids": [[5, 6], [7]], "attention_mask": [[1, 1], [1]]}
    pad = tokenizer.pad_token_id
    for side, ids, mask in (("left", [pad, 7], [0, 1]), ("right", [7, pad], [1, 0])):
        tokenizer.padding_side = side
        found = padded(tokenizer, columns)
        assert found["input_ids"].tolist() == [[5, 6], ids]
        assert found["attention_mask"].tolist() == [[1, 1], mask]


def test_a_tokenizer_without_a_padding_token_may_not_need_one():
    _, tokenizer = subject()
    tokenizer.pad_token = None
    assert padded(tokenizer, {"input_ids": [[5, 6], [7, 8]]})["input_ids"].tolist() == [[5, 6], [7, 8]]
    with pytest.raises(InputError, match="expected a tokenizer with a padding token"):
        padded(tokenizer, {"input_ids": [[5, 6], [7]]})


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 9), st.none() | st.integers(1, 100))
def test_batches_are_full_within_their_bounds_and_hold_every_row_once(lengths, most, tokens):
    found = list(divided(np.array(lengths), most, tokens))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    for rows in found:
        size = len(rows) * max(lengths[row] for row in rows)
        assert len(rows) <= most
        assert tokens is None or size <= tokens or len(rows) == 1
    assert [lengths[row] for row in np.concatenate(found)] == sorted(lengths, reverse=True)


def test_in_their_order_where_nothing_is_sorted():
    model, tokenizer = subject()
    found = [rows.tolist() for rows, _ in batches(model, tokenizer, some_texts(7), batch_size=3, sort=False)]
    assert found == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_wrapper_that_names_no_input_takes_all():
    model, _ = subject("distilbert")
    wrapper = torch.nn.Module()
    wrapper.forward = lambda **named: model(**named)
    assert [accepted(model)(name) for name in ("input_ids", "token_type_ids")] == [True, False]
    assert accepted(wrapper)("token_type_ids")


@pytest.mark.parametrize("wrong", [None, 3, float("nan"), ("a", None), ("a", "b", "c"), {"a": 1, "b": 2}])
def test_what_is_no_text_is_named_with_its_row(wrong, monkeypatch):
    monkeypatch.setattr("uegr.models.texts.WINDOW", 2)
    model, tokenizer = subject()
    for texts in (["w5", "w6", "w7", wrong], [("w5", "w6")] * 3 + [wrong], [wrong]):
        with pytest.raises(InputError) as caught:
            probabilities(model, tokenizer, texts)
        row = len(texts) - 1
        assert str(caught.value).startswith(f"row {row}: expected a text or a pair of texts, got {str(wrong)!r}")
        assert "; " in str(caught.value)
    with pytest.raises(InputError, match="got a mixture"):
        probabilities(model, tokenizer, ["w5", ("w5", "w6")])
    assert probabilities(model, tokenizer, [["w5", "w6"], np.array(["w5", "w6"])]).shape == (2, 2)
