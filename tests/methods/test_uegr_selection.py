"""What alpha means under each scope of UEGR's selective update, and which dropout rates a model gets by default."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor

from tests.methods.test_uegr_laws import batch_for, classifier, gradients
from uegr.methods import Method, rat_su, uegr, uegr_plus
from uegr.pieces import dropout
from uegr.pieces.sites import sites


@pytest.mark.parametrize("keep", ["salient", "printed"])
def test_alpha_is_the_share_of_a_models_entries_that_are_masked(keep: str) -> None:
    model = classifier()
    batch = batch_for(model, (6, 5, 6, 5), 6)
    torch.manual_seed(0)
    whole = gradients(uegr(selective_update=False), model, batch)
    torch.manual_seed(0)
    masked = gradients(uegr(alpha=0.9, beta=1e7, keep=keep), model, batch)  # type: ignore[arg-type]
    entries = sum(gradient.numel() for gradient in whole.values())
    kept = sum(int((gradient != 0).sum()) for gradient in masked.values())
    zeros = sum(int((gradient == 0).sum()) for gradient in whole.values())
    expected = 0.1 if keep == "salient" else 0.9 - zeros / entries
    assert kept / entries == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("alpha", [0.6, 0.9])
def test_under_scope_live_alpha_is_the_share_of_the_live_entries_that_are_masked(alpha: float) -> None:
    whole, masked = selected(uegr(alpha=alpha, beta=1e7, scope="live"))
    live = sum(int((gradient != 0).sum()) for gradient in whole.values())
    kept = sum(int((gradient != 0).sum()) for gradient in masked.values())
    assert live < 0.9 * sum(gradient.numel() for gradient in whole.values())  # absent words
    assert kept / live == pytest.approx(1 - alpha, abs=0.003)


@pytest.mark.parametrize("make", [uegr, rat_su])
def test_under_scope_encoder_embeddings_and_head_are_always_updated(make: Any) -> None:
    whole, masked = selected(make(alpha=0.9, beta=1e7, scope="encoder"))
    layers = [name for name in whole if ".layer." in name]
    assert 0 < len(layers) < len(whole)
    for name in whole.keys() - set(layers):
        assert torch.equal(masked[name], whole[name]), name
    entries = sum(whole[name].numel() for name in layers)
    assert sum(int((masked[name] != 0).sum()) for name in layers) / entries == pytest.approx(0.1, abs=0.003)


def test_scope_encoder_without_trainable_layers_is_refused() -> None:
    model = classifier()
    model.bert.encoder.requires_grad_(False)
    with pytest.raises(ValueError, match="expected trainable layers in the encoder, got Bert"):
        uegr(scope="encoder").objective.check(model)


def selected(method: Method) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The gradients before and after the selective update."""
    model = classifier()
    batch = batch_for(model, (6, 5, 6, 5), 6)
    found = []
    for one in (Method(method.objective), method):
        torch.manual_seed(0)
        found.append(gradients(one, model, batch))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("family", "own", "lowest", "highest"),
    [
        ("textcnn", 0.5, 0.3, 0.5),
        ("textcnn", 0.3, 0.3, 0.5),
        ("bilstm", 0.1, 0.3, 0.5),
        ("bert", 0.1, 0.075, 0.125),
        ("bert", 0.5, 0.375, 0.625),
    ],
)
@pytest.mark.parametrize("make", [uegr, uegr_plus])
def test_the_default_rates_follow_the_kind_of_model(
    make: Any, family: str, own: float, lowest: float, highest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trained from scratch: the paper's best range; pretrained: around the model's own rate."""
    check_range(make(), classifier(family), own, lowest, highest, monkeypatch)


@pytest.mark.parametrize("wrapped", [False, True])
def test_random_weights_make_an_encoder_one_trained_from_scratch(
    wrapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = classifier()
    model.from_scratch = True  # as `model.pretrained=false` marks it
    if wrapped:
        model = get_peft_model(model, LoraConfig(r=2, target_modules=["query"], modules_to_save=["classifier"]))
    check_range(uegr(), model, 0.1, 0.3, 0.5, monkeypatch)


def test_a_site_that_does_not_drop_stays_so_and_a_model_without_any_that_does_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = classifier("bilstm")
    words, features = sites(model).values()
    words.p, features.p = 0.0, 0.5
    first, second = drop_probabilities(uegr(), model, monkeypatch)[:2]
    assert not first.any()
    assert second.all()
    features.p = 0.0
    with pytest.raises(ValueError, match="expected a dropout rate above 0, got BiLSTM"):
        uegr().objective.check(model)


def check_range(
    method: Method, model: Any, own: float, lowest: float, highest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the drop probabilities in a model whose sites have the rate `own`."""
    for module in sites(model).values():
        module.p = own
    drops = drop_probabilities(method, model, monkeypatch)
    assert drops
    for q in drops:
        assert float(q.min()) == pytest.approx(lowest, abs=0.03)
        assert float(q.max()) == pytest.approx(highest, abs=0.03)
        assert lowest - 1e-9 <= float(q.min()) <= float(q.max()) <= highest + 1e-9


def drop_probabilities(method: Method, model: Any, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What the adaptive passes of a step drop with, site after site."""
    drops: list[Tensor] = []
    plain = dropout.dropped

    def watched(values: Tensor, q: Tensor) -> Tensor:
        drops.append(q)
        return plain(values, q)

    monkeypatch.setattr(dropout, "dropped", watched)
    gradients(method, model, batch_for(model))
    return drops
