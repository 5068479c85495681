"""MT-DNN's heads against a literal float64 transcription, one row and one word at a time, and its file."""

import math

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification

from tests.models.families import tiny
from uegr.models.mtdnn import MTDNNConfig, MTDNNForSequenceClassification

TASKS = [["texts", "single", ["a", "b", "c"]], ["pairs", "pair", ["x", "y", "z"]], ["grades", "regression", None]]
SEPARATOR = 39


def several(body, **values):
    torch.manual_seed(1)
    config = MTDNNConfig(encoder=body.config.to_dict(), tasks=TASKS, sep_token_id=SEPARATOR, pad_token_id=0, **values)
    return MTDNNForSequenceClassification(config, body)


@pytest.fixture
def model():
    """In float64, its weights large enough that no step is nearly linear."""
    whole = several(tiny("bert")[0].base_model, steps=4).double().eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in whole.classifier.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64) / 3)
    return whole


def softmax(numbers):
    parts = [math.exp(number - max(numbers)) for number in numbers]
    return [part / sum(parts) for part in parts]


def weighed(scores, words):
    return sum(share * word for share, word in zip(softmax(scores), words, strict=True))


def literal_answer(head, first, second):
    """The equations of the module's head, for one pair: lists of word vectors in, probabilities out."""
    (start,), look = head.start.weight, head.look.weight
    state = weighed([float(start @ word) for word in second], second)
    total = 0
    for _ in range(head.steps):
        seen = weighed([float(state @ look.T @ word) for word in first], first)
        state = literal_gru(head.cell, seen, state)
        compared = torch.cat([state, seen, abs(state - seen), state * seen])
        answer = softmax((head.output.weight @ compared + head.output.bias).tolist())
        total = total + torch.tensor(answer, dtype=torch.float64)
    return total / head.steps


def literal_gru(cell, seen, state):
    inputs = (cell.weight_ih @ seen + cell.bias_ih).chunk(3)
    before = (cell.weight_hh @ state + cell.bias_hh).chunk(3)
    reset, update = (1 / (1 + torch.exp(-inputs[gate] - before[gate])) for gate in (0, 1))
    new = torch.tanh(inputs[2] + reset * before[2])
    return (1 - update) * new + update * state


@torch.no_grad()
def test_the_answer_network_is_its_equations(model):
    rows = [([5, 6, 7], [8, 9]), ([10], [11, 12, 13, 14]), ([15, 16], [17])]
    tokens = [[*first, SEPARATOR, *second, SEPARATOR] for first, second in rows]
    longest = max(map(len, tokens))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in tokens])
    found = model.for_task("pairs")(ids, mask).logits
    for number, (first, second) in enumerate(rows):
        alone = torch.tensor([tokens[number]])
        states = model.encoder(alone, torch.ones_like(alone)).last_hidden_state[0]
        words = list(states)
        expected = literal_answer(model.classifier.tasks[1], words[: len(first)], words[len(first) + 1 : -1])
        assert len(second) == len(words[len(first) + 1 : -1])
        torch.testing.assert_close(found[number].exp(), expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("task", ["texts", "grades"])
@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert", "deberta-v2", "modernbert"])
def test_the_other_heads_are_their_equations(family, task):
    body = AutoModel.from_config(tiny(family)[0].config)
    whole = several(body).double().eval()
    ids = torch.tensor([[5, 6, 7, SEPARATOR]])
    summary = whole.encoder(ids, torch.ones_like(ids)).last_hidden_state[0, 0]
    if family in ("bert", "roberta"):
        summary = torch.tanh(body.pooler.dense.weight @ summary + body.pooler.dense.bias)
    head = whole.classifier.tasks[0 if task == "texts" else 2]
    expected = head.output.weight @ summary + head.output.bias
    torch.testing.assert_close(whole.for_task(task)(ids).logits[0], expected, rtol=1e-10, atol=1e-10)


def test_every_weight_learns_from_some_task_and_comes_back_from_a_file(tmp_path):
    whole = several(AutoModel.from_config(tiny("bert")[0].config)).train()
    ids = torch.tensor([[5, 6, SEPARATOR, 7], [8, 9, SEPARATOR, 10]])
    for task in range(3):
        labels = torch.tensor([0.5, 1.5]) if task == 2 else torch.tensor([0, 2])
        whole(ids, task_ids=torch.full((2,), task), labels=labels).loss.backward()
    assert [name for name, weight in whole.named_parameters() if weight.grad is None] == []
    whole.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    weights = again.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in whole.state_dict().items())
    assert len(weights) == len(whole.state_dict())
