"""bilstm, textcnn and texthan: exact padding, the literal equations, save and load, losses as transformers has them."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModelForSequenceClassification

from tests.models.families import tiny
from uegr.errors import InputError
from uegr.models.bilstm import BiLSTMConfig, BiLSTMForSequenceClassification
from uegr.models.texthan import sentences

SCRATCH = ["bilstm", "textcnn", "texthan"]
TEXTS = [[5, 6, 7, 8, 3, 9, 10], [11], [12, 3, 13, 14, 3]]


def padded(texts, width, side="right"):
    """Ids and mask (texts, width)."""
    ids, mask = torch.zeros(len(texts), width, dtype=torch.long), torch.zeros(len(texts), width, dtype=torch.long)
    for row, text in enumerate(texts):
        place = slice(len(text)) if side == "right" else slice(width - len(text), None)
        ids[row, place], mask[row, place] = torch.tensor(text), 1
    return {"input_ids": ids, "attention_mask": mask}


@pytest.fixture(params=SCRATCH)
def model(request):
    return tiny(request.param, num_labels=3, dtype=torch.float64)[0].eval()


@pytest.mark.parametrize("side", ["right", "left"])
def test_logits_do_not_depend_on_the_batch(model, side):
    alone = torch.cat([model(torch.tensor([text])).logits for text in TEXTS])
    together = model(**padded(TEXTS, 19, side)).logits
    assert torch.allclose(alone, together, rtol=0, atol=1e-14)


def test_what_stands_at_padding_does_not_matter(model):
    batch = padded(TEXTS, 12)
    clean = model(**batch).logits
    batch["input_ids"] = torch.where(batch["attention_mask"] == 1, batch["input_ids"], 3)
    assert torch.equal(clean, model(**batch).logits)


def test_text_without_tokens_is_finite(model):
    batch = padded([[], [5, 6]], 4)
    out = model(**batch, labels=torch.tensor([0, 1]))
    out.loss.backward()
    assert torch.isfinite(out.logits).all()
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters() if weight.grad is not None)


def test_word_order_matters(model):
    assert not torch.allclose(model(torch.tensor([[5, 6, 7]])).logits, model(torch.tensor([[7, 6, 5]])).logits)


def test_every_parameter_learns(model):
    model.train()
    model(**padded(TEXTS, 8), labels=torch.tensor([0, 1, 2])).loss.backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in model.parameters())


def test_embedding_is_called_once_on_the_ids_as_they_came(model):
    seen = []
    hook = model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    batch = padded(TEXTS, 9)
    model(**batch)
    hook.remove()
    assert len(seen) == 1
    assert torch.equal(seen[0], batch["input_ids"])


def test_hidden_states_have_one_row_a_token(model):
    states = model(**padded(TEXTS, 9), output_hidden_states=True).hidden_states
    assert len(states) >= 2
    assert {state.shape[:2] for state in states} == {(3, 9)}
    assert model(**padded(TEXTS, 9)).hidden_states is None


def test_saved_and_loaded(model, tmp_path):
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path, dtype=torch.float64).eval()
    assert type(again) is type(model)
    assert torch.equal(model(**padded(TEXTS, 9)).logits, again(**padded(TEXTS, 9)).logits)


def test_losses(model):
    batch = padded(TEXTS, 9)
    logits = model(**batch).logits
    labels = torch.tensor([2, 0, 1])
    expected = -torch.stack([logits[row].log_softmax(-1)[label] for row, label in enumerate(labels)]).mean()
    assert torch.allclose(model(**batch, labels=labels).loss, expected)
    model.config.problem_type = "regression"
    target = torch.randn(3, 3, dtype=torch.float64)
    assert torch.allclose(model(**batch, labels=target).loss, ((logits - target) ** 2).mean())


def test_tuple_on_request(model):
    loss, logits = model(**padded(TEXTS, 9), labels=torch.tensor([0, 1, 2]), return_dict=False)
    assert loss.dim() == 0
    assert logits.shape == (3, 3)


def test_trains_under_autocast(model):
    model.float().train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**padded(TEXTS, 9), labels=torch.tensor([0, 1, 2])).loss
    loss.backward()
    assert torch.isfinite(loss)


def test_dropout_sites_are_half(model):
    rates = [module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    assert set(rates) == {0.5}


def test_padding_vector_stays_zero(model):
    batch = padded(TEXTS, 9)
    model(**batch, labels=torch.tensor([0, 1, 2])).loss.backward()
    table = model.get_input_embeddings().weight
    assert torch.equal(table[0], torch.zeros_like(table[0]))
    assert torch.equal(table.grad[0], torch.zeros_like(table[0]))


@pytest.mark.parametrize("pooling", ["max", "last", "mean"])
def test_bilstm_equals_torch_on_packed_texts(pooling):
    config = BiLSTMConfig(vocab_size=20, embedding_size=5, hidden_size=4, num_hidden_layers=2, pooling=pooling)
    torch.manual_seed(1)
    model = BiLSTMForSequenceClassification(config).double().eval()
    reference = torch.nn.LSTM(5, 4, num_layers=2, batch_first=True, bidirectional=True).double()
    for depth, layer in enumerate(model.encoder.layers):
        for own, suffix in ((layer.ahead, ""), (layer.back, "_reverse")):
            for name, weight in own.named_parameters():
                getattr(reference, name.replace("_l0", f"_l{depth}{suffix}")).data.copy_(weight)
    batch = padded(TEXTS, 11)
    packed = pack_padded_sequence(
        model.encoder.embeddings(batch["input_ids"]),
        batch["attention_mask"].sum(1),
        batch_first=True,
        enforce_sorted=False,
    )
    output, (last, _) = reference(packed)
    states, lengths = pad_packed_sequence(output, batch_first=True)
    texts = [states[row, :length] for row, length in enumerate(lengths)]
    summary = {
        "max": torch.stack([text.amax(0) for text in texts]),
        "mean": torch.stack([text.mean(0) for text in texts]),
        "last": torch.cat([last[-2], last[-1]], -1),
    }[pooling]
    assert torch.allclose(model(**batch).logits, model.classifier(summary), rtol=0, atol=1e-14)


def test_unknown_pooling():
    with pytest.raises(InputError, match="did you mean max"):
        BiLSTMConfig(pooling="maxi")


def test_textcnn_equals_kims_equations():
    model = tiny("textcnn", num_labels=3, dtype=torch.float64)[0].eval()
    batch = padded(TEXTS, 9)
    summaries = []
    for text in TEXTS:
        words = model.get_input_embeddings().weight[torch.tensor(text)]
        strongest = []
        for convolution, window in zip(model.encoder.convolutions, (3, 4, 5), strict=True):
            left = (window - 1) // 2
            wide = torch.cat([words.new_zeros(left, 16), words, words.new_zeros(window - 1 - left, 16)])
            for filter_weight, bias in zip(convolution.weight, convolution.bias, strict=True):
                features = [torch.relu((filter_weight.T * wide[t : t + window]).sum() + bias) for t in range(len(text))]
                strongest.append(torch.stack(features).max())
        summaries.append(torch.stack(strongest))
    expected = model.classifier(torch.stack(summaries))
    assert torch.allclose(model(**batch).logits, expected, rtol=0, atol=1e-14)


def attended(attention, states):
    """Yang's equations 5 to 7 for one sequence (T, units)."""
    hidden = torch.tanh(states @ attention.project.weight.T + attention.project.bias)
    scores = torch.exp(hidden @ attention.context.weight[0])
    return (scores / scores.sum()) @ states


def both_ways(layer, values):
    """A bidirectional recurrence over one sequence (T, units)."""
    return torch.cat([layer.ahead(values)[0], layer.back(values.flip(0))[0].flip(0)], -1)


def test_texthan_equals_yangs_equations():
    model = tiny("texthan", num_labels=3, dtype=torch.float64)[0].eval()
    texts = [[[5, 6, 7, 8, 3], [9, 10]], [[11]], [[12, 3, 3], [13, 14, 3]], [[5, 6, 7, 8, 9, 10], [11, 12]]]
    encoder, documents = model.encoder, []
    for text in texts:
        words = [both_ways(encoder.words, encoder.embeddings.weight[torch.tensor(sentence)]) for sentence in text]
        summaries = torch.stack([attended(encoder.word_attention, states) for states in words])
        documents.append(attended(encoder.sentence_attention, both_ways(encoder.sentences, summaries)))
    batch = padded([[word for sentence in text for word in sentence] for text in texts], 10)
    expected = model.classifier(torch.stack(documents))
    assert torch.allclose(model(**batch).logits, expected, rtol=0, atol=1e-14)


def test_sentences_restart_with_every_text():
    ids = torch.tensor([[5, 3, 6, 7], [8, 9, 0, 0], [3, 3, 6, 0]])
    split = sentences(ids, ids > 0, torch.tensor([3]), 50)
    assert split.number.tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert split.slot.tolist() == [[0, 1, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert split.row.tolist() == [[0, 0, 1, 1], [2, 2, 0, 0], [3, 3, 4, 0]]
