"""InfoNCE against known values and literal loops, and the features it is computed from."""

import copy
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification

from tests.models.families import FAMILIES, tiny
from uegr.pieces.contrast import Projections, cosine_scores, info_nce
from uegr.pieces.encoder import encoder
from uegr.pieces.features import FrozenEncoder, features, passenger, probe


def test_what_tells_nothing_apart_has_no_information() -> None:
    torch.testing.assert_close(info_nce(torch.full((5, 5), 3.0)), torch.zeros(5), rtol=0, atol=1e-6)


def test_what_tells_all_apart_has_all_of_it() -> None:
    torch.testing.assert_close(info_nce(1000 * torch.eye(5)), torch.full((5,), -math.log(5)))


def test_scores_are_cosines_over_the_temperature() -> None:
    first, second = torch.tensor([[3.0, 4.0], [0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, -7.0]])
    torch.testing.assert_close(cosine_scores(first, second, 0.2), torch.tensor([[3.0, -4.0], [0.0, -5.0]]))


def test_the_bound_is_the_double_loop_of_equation_10() -> None:
    torch.manual_seed(0)
    heads = Projections(classes=4, size=6, hidden=5, output=3, temperature=0.2).double()
    s, t = torch.randn(9, 6).double(), torch.randn(9, 6).double()
    labels = torch.tensor([0, 1, 1, 0, 2, 1, 0, 1, 0])  # one class of a single example, one of none
    total = 0.0
    for y in (0, 1, 2):
        places = [i for i in range(9) if labels[i] == y]
        for i in places:
            scores = [float(score(heads, y, s[i], t[j])) for j in places]
            own = scores[places.index(i)]
            total -= math.log(math.exp(own) / sum(map(math.exp, scores))) + math.log(len(places))
    assert float(heads(s, t, labels).detach()) == pytest.approx(total / 9, rel=1e-12)


def score(heads: Projections, y: int, s: Tensor, t: Tensor) -> Tensor:
    with torch.no_grad():
        one, other = heads.trained[y](s), heads.pretrained[y](t)
        return (one @ other) / one.norm() / other.norm() / 0.2


def test_every_class_has_a_gradient_zero_if_the_batch_lacks_it() -> None:
    heads = Projections(classes=3, size=4, hidden=5, output=2, temperature=0.2)
    heads(torch.randn(4, 4), torch.randn(4, 4), torch.tensor([0, 0, 1, 1])).backward()
    for y in range(3):
        for head in (heads.trained[y], heads.pretrained[y]):
            assert all(weight.grad is not None for weight in head.parameters())
            assert any(bool(weight.grad.any()) for weight in head.parameters()) == (y < 2)


def test_half_precision_features_meet_the_heads_precision() -> None:
    heads = Projections(classes=1, size=4, hidden=5, output=2, temperature=0.2)
    assert heads(torch.randn(3, 4).bfloat16(), torch.randn(3, 4), torch.zeros(3)).dtype == torch.float32


def batch_of(model: nn.Module) -> dict[str, Tensor]:
    ids = torch.arange(5, 13).view(2, 4)
    mask = torch.ones_like(ids)
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_features_and_a_frozen_copy_that_has_the_same(family: str) -> None:
    model, _ = tiny(family, num_labels=3)
    model.eval()
    batch, frozen = batch_of(model), FrozenEncoder(model)
    with features(model, batch) as own, frozen.beside(model, batch) as kept:
        model(**batch)
    assert own[0].shape == (2, probe(model)[0])
    assert probe(model)[1] == 2
    assert own[0].requires_grad
    assert not kept[0].requires_grad
    torch.testing.assert_close(own[0], kept[0])
    assert not encoder(model)._forward_hooks


def test_the_frozen_copy_stays_while_the_model_moves_and_keeps_no_gradient() -> None:
    model, _ = tiny("bert")
    batch, frozen = batch_of(model), FrozenEncoder(model)
    model.train()
    with frozen.beside(model, batch) as before:
        model(**batch)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    with frozen.beside(model, batch) as after:
        model(**batch)["logits"].sum().backward()
    assert torch.equal(before[0], after[0])  # no dropout either
    assert not any(weight.requires_grad or weight.grad is not None for weight in frozen.module.parameters())


def test_bert_s_feature_is_its_pooler_s_and_roberta_s_the_mean_over_tokens() -> None:
    for family in ("bert", "roberta"):
        model, _ = tiny(family)
        batch = batch_of(model.eval())
        batch["attention_mask"][0, 2:] = 0
        with features(model, batch) as found:
            model(**batch)
        output = model.base_model(**batch)
        states = output.last_hidden_state
        mean = torch.stack([states[0, :2].mean(0), states[1].mean(0)])
        expected = output.pooler_output if family == "bert" else mean
        torch.testing.assert_close(found[0], expected)


def test_a_probe_leaves_modes_and_random_numbers() -> None:
    model, _ = tiny("bert")
    model.train()
    model.dropout.eval()
    state = torch.get_rng_state()
    probe(model)
    assert model.training
    assert not model.dropout.training
    assert torch.equal(torch.get_rng_state(), state)


def test_a_passenger_is_trained_and_never_saved(tmp_path: Path) -> None:
    model, _ = tiny("bert")
    plain = copy.deepcopy(model).state_dict()
    for _ in range(2):  # a second training has a new one
        passenger(model, "extra", nn.Linear(3, 2))
    assert "extra.weight" in dict(model.named_parameters())
    assert list(model.state_dict()) == list(plain)
    assert model.load_state_dict(plain).missing_keys == []
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["unexpected_keys"]
    assert not report["missing_keys"]
    assert all(torch.equal(value, plain[name]) for name, value in loaded.state_dict().items())
    wrapped = nn.DataParallel(model)
    assert not [name for name in wrapped.state_dict() if "extra" in name]
