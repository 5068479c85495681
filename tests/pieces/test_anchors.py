"""Anchors: distances and mixtures against literal sums, and weights that come back as they were."""

import copy
from typing import Any

import pytest
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from tests.models.families import FAMILIES, tiny
from uegr.pieces.anchors import Anchors, mixed
from uegr.pieces.encoder import encoder, encoder_names, extended, in_mode, layer_names, matrix_names
from uegr.pieces.fisher import fisher, largest

# What Child-Tuning and RoAST released, `"layer" in name or "transformer.h" in name`, written down for every family.
LAYERS = {
    "gpt2": "transformer.h.",
    "llama": "model.layers.",
    "qwen2": "model.layers.",
    "modernbert": "model.layers.",
    "xlnet": "transformer.layer.",
    "albert": "albert.encoder.albert_layer_groups.",
    "distilbert": "distilbert.transformer.layer.",
    "deberta-v2": "deberta.encoder.layer.",
    "bilstm": "encoder.layers.",
    "textcnn": "encoder.convolutions.",
    "mtdnn": "encoder.encoder.layer.",
}
HEADS = ("classifier", "score", "logits_proj", "sequence_summary", "pre_classifier", "head", "pooler")


def moved(model: nn.Module, by: float = 0.1) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(by * torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype))
    return model


def anchored(family: str = "bert", by: float = 0.1) -> tuple[nn.Module, Anchors, dict[str, Tensor]]:
    """A model that has moved from its anchors, and the anchors as a plain dict."""
    model, _ = tiny(family, dtype=torch.float64)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    anchors = Anchors()
    anchors.keep(model, matrix_names(model))
    return moved(model, by), anchors, before


@pytest.mark.parametrize("family", FAMILIES)
def test_the_parts_of_every_family(family: str) -> None:
    model, _ = tiny(family)
    names = [name for name, _ in model.named_parameters()]
    assert encoder(model) is model.base_model
    heads = [name for name in names if name.split(".")[0] in HEADS]
    assert heads
    assert set(encoder_names(model)) == set(names) - set(heads)
    if family == "texthan":  # has no list of layers
        assert set(layer_names(model)) == set(encoder_names(model)) - {"encoder.embeddings.weight"}
        return
    start = LAYERS.get(family, f"{family}.encoder.layer.")
    assert layer_names(model) == [name for name in names if name.startswith(start)]
    assert layer_names(model)


def test_matrices_are_neither_vectors_nor_embeddings() -> None:
    model, _ = tiny("bert")
    names = matrix_names(model)
    assert "bert.encoder.layer.0.attention.self.query.weight" in names
    assert "bert.pooler.dense.weight" in names
    assert not [name for name in names if "embeddings" in name or "bias" in name or "LayerNorm" in name]
    assert "classifier.weight" not in names


def test_with_lora_the_parts_are_adapters() -> None:
    config = LoraConfig(task_type=TaskType.SEQ_CLS, r=2, target_modules=["query"])
    model = get_peft_model(tiny("bert")[0], config)
    assert encoder(model) is model.get_base_model().bert
    assert len(encoder_names(model)) == 4  # A and B of two layers
    assert all("lora_" in name for name in [*encoder_names(model), *layer_names(model), *matrix_names(model)])


def test_the_squared_distance_is_the_sum_of_squares() -> None:
    model, anchors, before = anchored()
    value = anchors.squared_distance(model)
    value.backward()
    total = 0.0
    for name, weight in model.named_parameters():
        if name in anchors.values:
            pairs = zip(weight.flatten().tolist(), before[name].flatten().tolist(), strict=True)
            total += sum((w - u) ** 2 for w, u in pairs)
            torch.testing.assert_close(weight.grad, 2 * (weight - before[name]).detach(), rtol=1e-12, atol=1e-15)
        else:
            assert weight.grad is None
    assert value.item() == pytest.approx(total, rel=1e-12)


def test_half_precision_distances_are_summed_in_single() -> None:
    model = nn.Linear(100, 100).to(torch.bfloat16)
    anchors = Anchors()
    model.weight.data.fill_(0.0)
    anchors.keep(model, ["weight"])
    model.weight.data.fill_(1.0)
    assert anchors.squared_distance(model).item() == 10_000  # bfloat16 would stop at 256


def test_without_anchors_the_remedy_is_named() -> None:
    model, _ = tiny("bert")
    with pytest.raises(ValueError, match=r"call method.objective.prepare\(model, batches\)"):
        Anchors().squared_distance(model)
    with pytest.raises(ValueError, match="expected trainable weights in the encoder, got none"):
        Anchors().keep(model.requires_grad_(False), encoder_names(model))


def test_anchors_of_another_model_are_refused() -> None:
    _, anchors, _ = anchored("bert")
    with pytest.raises(ValueError, match="expected the model that was prepared"):
        anchors.squared_distance(tiny("gpt2")[0])


def test_a_checkpoint_holds_sums_and_refuses_other_anchors() -> None:
    _, anchors, _ = anchored()
    state = anchors.state_dict()
    assert sum(value.numel() for value in state.values()) == 3
    anchors.load_state_dict(state)
    other, _ = tiny("bert", dtype=torch.float64)
    resumed = Anchors()
    resumed.keep(moved(other, 0.01), matrix_names(other))
    with pytest.raises(ValueError, match="expected the weights that this training started from"):
        resumed.load_state_dict(state)


def test_each_weight_of_the_mixture_is_its_anchor_or_moved_further() -> None:
    model, anchors, _ = anchored()
    torch.manual_seed(0)
    kept = total = 0
    with mixed(model, anchors, 0.6, "weight"):
        for name, u in anchors.values.items():
            owner, _, attribute = name.rpartition(".")
            mixture = getattr(model.get_submodule(owner), attribute)
            w = trained(name)
            further = u + (w - u) / 0.4
            is_anchor = (mixture - u).abs() < 1e-12
            torch.testing.assert_close(mixture, torch.where(is_anchor, u, further), rtol=1e-10, atol=1e-12)
            kept, total = kept + int(is_anchor.sum()), total + u.numel()
    assert kept / total == pytest.approx(0.6, abs=4 * (0.24 / total) ** 0.5)


def trained(name: str) -> Tensor:
    """The trained weight, which inside the mixture only an equally moved copy can tell."""
    copied, _ = tiny("bert", dtype=torch.float64)
    return moved(copied).get_parameter(name).detach()


@pytest.mark.parametrize("unit", ["neuron", "weight"])
def test_the_mean_of_many_mixtures_is_the_weight(unit: str) -> None:
    model = nn.Linear(20, 20, bias=False).double()
    anchors = Anchors()
    anchors.keep(model, ["weight"])
    moved(model, 1.0)
    torch.manual_seed(0)
    total = torch.zeros_like(model.weight)
    for _ in range(2000):
        with mixed(model, anchors, 0.6, unit):  # type: ignore[arg-type]
            total += model.weight
    spread = (model.weight - anchors.values["weight"]).abs() * (0.6 / 0.4 / 2000) ** 0.5
    assert ((total / 2000 - model.weight).abs() <= 6 * spread + 1e-12).all()


@pytest.mark.parametrize(
    ("module", "axis"),
    [
        (nn.Linear(30, 7), 1),
        (nn.Conv1d(30, 7, 3), 1),
        (nn.Embedding(30, 7), 0),  # the neuron is the word
        (Conv1D(7, 30), 0),  # GPT-2's linear layer is stored (in, out)
    ],
)
def test_all_outgoing_weights_of_a_neuron_are_replaced_together(module: nn.Module, axis: int) -> None:
    """Lee 2020: the released MixLinear draws one row of the mask and repeats it for every output."""
    module.double()
    anchors = Anchors()
    anchors.keep(module, ["weight"])
    moved(module, 1.0)
    torch.manual_seed(0)
    with mixed(module, anchors, 0.5, "neuron"):
        by_neuron = module.weight.movedim(axis, 0).flatten(1) - anchors.values["weight"].movedim(axis, 0).flatten(1)
    replaced = by_neuron == 0
    assert (replaced.all(1) | ~replaced.any(1)).all()
    assert 0 < replaced.all(1).sum() < 30


def test_the_entries_of_a_vector_are_neurons_of_their_own() -> None:
    module = nn.LayerNorm(50).double()
    anchors = Anchors()
    anchors.keep(module, ["weight"])
    moved(module, 1.0)
    torch.manual_seed(0)
    with mixed(module, anchors, 0.5, "neuron"):
        assert 0 < (module.weight == anchors.values["weight"]).sum() < 50


def test_the_mixtures_gradient_reaches_the_weights() -> None:
    model, anchors, _ = anchored("bert")
    name = "bert.encoder.layer.0.output.dense.weight"
    with mixed(model, anchors, 0.6, "neuron"):
        mixture = model.bert.encoder.layer[0].output.dense.weight
        mixture.sum().backward()
    gradient = model.get_parameter(name).grad
    is_anchor = (mixture - anchors.values[name]).abs() < 1e-12
    torch.testing.assert_close(gradient, torch.where(is_anchor, 0.0, 1 / 0.4).double())


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2", "bilstm"])
def test_the_weights_come_back_also_after_an_exception(family: str) -> None:
    model, anchors, _ = anchored(family)
    before = {name: (id(weight), weight.detach().clone()) for name, weight in model.named_parameters()}
    ids = torch.arange(5, 13).view(2, 4)
    clean = model.eval()(input_ids=ids)["logits"]

    def fail() -> None:
        with mixed(model, anchors, 0.6, "neuron"):
            assert not torch.equal(model(input_ids=ids)["logits"], clean)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(before) == [name for name, _ in model.named_parameters()]
    for name, weight in model.named_parameters():
        assert id(weight) == before[name][0]
        assert torch.equal(weight, before[name][1])
    assert torch.equal(model(input_ids=ids)["logits"], clean)
    copy.deepcopy(model)  # nothing of the graph is left in a recurrent layer's own list


def test_a_tied_weight_is_mixed_alike_in_all_its_places() -> None:
    first = nn.Linear(8, 8, bias=False)
    second = nn.Linear(8, 8, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, second)
    anchors = Anchors()
    anchors.keep(model, ["0.weight"])
    moved(model)
    with mixed(model, anchors, 0.5, "neuron"):
        assert model[0].weight is model[1].weight
        assert not isinstance(model[0].weight, nn.Parameter)
    assert model[1].weight is model[0].weight


def test_an_extended_output_has_one_more_entry_until_the_end() -> None:
    model, _ = tiny("bert")
    ids = torch.arange(5, 9).view(1, 4)
    with extended(model, "more", lambda: model.classifier.weight.sum()):
        output = model(input_ids=ids)
        assert set(output) == {"logits", "more"}
    assert "more" not in model(input_ids=ids)


def test_every_module_gets_its_own_mode_back() -> None:
    model, _ = tiny("bilstm")
    model.train()
    model.encoder.dropout.eval()
    modes = [module.training for module in model.modules()]

    def fail() -> None:
        with in_mode(model, training=False, leave=nn.RNNBase):
            assert [type(module) for module in model.modules() if module.training] == [nn.LSTM, nn.LSTM]
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [module.training for module in model.modules()] == modes


def test_fisher_is_the_mean_squared_gradient_and_draws_no_number() -> None:
    model = nn.Sequential(nn.Linear(3, 1, bias=False), nn.Dropout(0.0)).double()
    batches = [{"input": torch.tensor([[1.0, 2.0, 0.0]]).double()}, {"input": torch.tensor([[3.0, 0.0, 0.0]]).double()}]
    model.eval()
    state = torch.get_rng_state()
    found = fisher(model, ["0.weight"], batches, lambda output: output.sum())
    assert found["0.weight"].tolist() == [[(1 + 9) / 2, 4 / 2, 0.0]]
    assert torch.equal(torch.get_rng_state(), state)
    assert not model.training
    assert model[0].weight.grad is None
    with pytest.raises(ValueError, match="at least one batch"):
        fisher(model, ["0.weight"], [], lambda output: output.sum())


@pytest.mark.parametrize(("share", "kept"), [(0.3, 300), (1.0, 1000), (1e-9, 1)])
def test_the_largest_share_is_kept(share: float, kept: int) -> None:
    values: Any = torch.randperm(1000, generator=torch.Generator().manual_seed(0)).double()
    found = largest({"a": values[:600], "b": values[600:].view(20, 20)}, share)
    flat = torch.cat([found["a"], found["b"].flatten()])
    assert int(flat.sum()) == kept
    assert torch.equal(flat, values >= 1000 - kept)
