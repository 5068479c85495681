"""Every family under the methods that touch a model in every way: embeddings, sub-models, several passes, weights."""

import pytest
import torch

from tests.methods.tiny_models import made
from tests.models.families import FAMILIES, tiny
from uegr.methods import METHODS
from uegr.models.mtdnn import MTDNNConfig, MTDNNForSequenceClassification
from uegr.testing.models import batch_for, classifier, spread_out, without_dropout
from uegr.testing.subject import gradients, prepared, step
from uegr.testing.traces import check_finite, unchanged

WITHOUT_SITES = {"llama": "LlamaForSequenceClassification", "qwen2": "Qwen2ForSequenceClassification"}
every_family = pytest.mark.parametrize("family", FAMILIES)
chosen_methods = pytest.mark.parametrize("name", ["vanilla", "rat", "freelb", "sam", "uegr"])


def batch_of(model):
    """Eight texts of unequal length; XLNet's summary is the last position, so it is padded on the left."""
    batch = batch_for(model)
    if model.config.model_type != "xlnet":
        return batch
    turned = {name: batch[name].flip(1) for name in ("input_ids", "attention_mask")}
    return batch | turned


def loss(model, batch):
    model.eval()
    with torch.no_grad():
        value = float(model(**batch)["loss"])
    model.train()
    return value


@every_family
@chosen_methods
def test_it_leaves_no_trace_and_learns(family, name):
    model = spread_out(without_dropout(tiny(family, num_labels=3)[0], attention_only=True))
    batch = batch_of(model)
    if family in WITHOUT_SITES and name in ("rat", "uegr"):
        with pytest.raises(ValueError, match=rf"{WITHOUT_SITES[family]} with none; give it dropout, or choose"):
            prepared(made(name), model, batch)
        return
    method = prepared(made(name), model, batch)
    step(method, model, batch)  # a tensor that has had a hook keeps an empty list of them
    with unchanged(model):
        terms = step(method, model, batch)
    check_finite(model)
    assert all(torch.isfinite(value) for value in terms.values())
    found = gradients(model)
    assert any(gradient.any() for gradient in found.values())
    if name == "uegr":
        assert method.objective.dropout.ranks  # the sites whose units have a rate of their own
    first = loss(model, batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    optimizer.step()
    for number in range(2):
        step(method, model, batch, seed=number)
        optimizer.step()
    assert loss(model, batch) < first


TASKS = [["texts", "single", ["a", "b", "c"]], ["pairs", "pair", ["x", "y", "z"]], ["grades", "regression", None]]


@pytest.fixture
def several():
    """An MT-DNN with a head of each kind."""
    encoder = classifier("bert").config.to_dict()
    config = MTDNNConfig(encoder=encoder, tasks=TASKS, sep_token_id=39, pad_token_id=0, steps=3)
    torch.manual_seed(0)
    return spread_out(MTDNNForSequenceClassification(config))


@pytest.mark.parametrize("name", METHODS)
def test_each_head_of_mtdnn_under_every_method(several, name):
    if name == "rift":
        pytest.skip("rift wants classes in every batch, and a regression has none")
    batches = []
    for task in range(3):
        batch = batch_for(several, labels=1 if task == 2 else 3, seed=task)
        batch["input_ids"][:, 1] = torch.where(batch["attention_mask"][:, 1] == 1, 39, 0)  # the separator
        batches.append(batch | {"task_ids": torch.full((8,), task)})
    method = prepared(made(name), several, batches[0])
    for task, batch in enumerate(batches):
        with unchanged(several):
            terms = step(method, several, batch)
        check_finite(several)
        assert all(torch.isfinite(value) for value in terms.values())
        touched = {
            int(key.split(".")[2]) for key, value in gradients(several).items() if ".tasks." in key and value.any()
        }
        assert touched == {task}, "the other heads rest"


def test_a_batch_of_two_tasks_is_refused(several):
    batch = batch_for(several)
    with pytest.raises(ValueError, match=r"expected a batch of one task, got task_ids \[0, 1\]"):
        several(**batch, task_ids=torch.arange(8) % 2)


def test_the_answer_network_gives_probabilities_and_leaves_out_padding(several):
    view = several.eval().for_task("pairs")
    ids = torch.tensor([[5, 6, 39, 7, 8, 39]])
    exact = view(ids, torch.ones_like(ids)).logits
    longer = torch.cat([ids, torch.zeros(1, 3, dtype=torch.long)], 1)
    padded = view(longer, (longer != 0).long()).logits
    torch.testing.assert_close(exact.exp().sum(-1), torch.ones(1))
    torch.testing.assert_close(padded, exact, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(view(ids.flip(1), torch.ones_like(ids)).logits, exact, atol=1e-4)  # its sides differ
    assert (view.config.num_labels, several.config.num_labels) == (3, 2)
    alone = torch.tensor([[5, 6, 7]])  # no second text
    assert torch.isfinite(view(alone, torch.ones_like(alone)).logits).all()


def test_steps_are_left_out_only_in_training(several):
    view = several.for_task("pairs")
    batch = {"input_ids": torch.tensor([[5, 39, 7]]).repeat(50, 1)}
    for module in view.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    view.classifier.tasks[1].prediction_dropout = 0.5
    assert len(view.train()(**batch).logits.unique(dim=0)) > 1
    assert len(view.eval()(**batch).logits.round(decimals=5).unique(dim=0)) == 1
