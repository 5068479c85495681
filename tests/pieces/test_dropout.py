"""Adaptive dropout: ranks, drop probabilities, masks, and what every family's sites learn and apply."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.models.families import FAMILIES, tiny
from uegr.pieces.dropout import AdaptiveDropout, centre, drop_probabilities, mean_ranks
from uegr.pieces.embedding import repeated
from uegr.pieces.masks import dropped, random_bits
from uegr.pieces.sites import sites

WITH_SITES = [family for family in FAMILIES if family not in ("llama", "qwen2")]


def batch_for(model: nn.Module, lengths: tuple[int, ...], width: int) -> dict[str, Tensor]:
    left = model.config.model_type == "xlnet"
    mask = torch.tensor([[int(t >= width - n) if left else int(t < n) for t in range(width)] for n in lengths])
    ids = torch.randint(5, 40, mask.shape, generator=torch.Generator().manual_seed(0))
    ids = torch.where(mask == 1, ids, model.config.pad_token_id)
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.arange(len(lengths)) % 2}


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5, 7.0]), min_size=2, max_size=12))
def test_ranks_are_mean_ranks(values: list[float]) -> None:
    def slow(value: float) -> float:
        below, equal = sum(v < value for v in values), sum(v == value for v in values)
        return (below + (equal - 1) / 2) / (len(values) - 1)

    assert mean_ranks(torch.tensor(values)).tolist() == pytest.approx([slow(value) for value in values], abs=1e-15)


def test_a_single_unit_is_in_the_middle() -> None:
    assert mean_ranks(torch.tensor([3.0])).tolist() == [0.5]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.lists(st.floats(0, 0.99), min_size=1, max_size=3),
    st.floats(0, 1),
)
def test_probabilities_are_rate_plus_spread_clipped(ranks: list[float], rates: list[float], spread: float) -> None:
    q = drop_probabilities(torch.tensor(ranks).double(), torch.tensor(rates).double(), spread)
    for k, rate in enumerate(rates):
        for j, rank in enumerate(torch.tensor(ranks).double().tolist()):
            assert q[k, j].item() == pytest.approx(min(max(rate + spread * (2 * rank - 1), 0), 0.95), abs=1e-6)


def test_the_papers_range_and_the_share_of_an_own_rate() -> None:
    ranks = {"site/3": torch.tensor([0.0, 0.5, 1.0]).double()}
    paper = AdaptiveDropout((0.4, 0.4), ranks=ranks).probabilities("site", 0.1, 3, 2)
    torch.testing.assert_close(paper, torch.tensor([[0.3, 0.4, 0.5]] * 2).double())
    own = AdaptiveDropout(None, ranks=ranks).probabilities("site", 0.2, 3, 2)
    torch.testing.assert_close(own, torch.tensor([[0.15, 0.2, 0.25]] * 2).double())
    scratch = AdaptiveDropout(None, ranks=ranks).probabilities("site", centre(0.1, from_scratch=True), 3, 2)
    torch.testing.assert_close(scratch, torch.tensor([[0.3, 0.4, 0.5]] * 2).double())
    wider = AdaptiveDropout(None, spread=0.5, ranks=ranks).probabilities("site", 0.4, 3, 2)
    torch.testing.assert_close(wider, torch.tensor([[0.2, 0.4, 0.6]] * 2).double())
    unknown = AdaptiveDropout((0.2, 0.6)).probabilities("site", 0.1, 3, 2)
    torch.testing.assert_close(unknown, torch.tensor([[0.2] * 3, [0.6] * 3]).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_what_is_dropped_follows_q_and_the_mean_stays(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    q = torch.tensor([0.0, 0.001, 0.3, 0.5, 0.95], dtype=torch.float64)
    times = 200_000
    out = dropped(torch.ones(times, 5, dtype=dtype), q)
    assert out.dtype == dtype
    share = (out == 0).double().mean(0)
    allowed = 4.5 * (q * (1 - q) / times).sqrt()
    assert ((share - q).abs() <= allowed).all()
    kept = out.double().amax(0)
    torch.testing.assert_close(kept, 1 / (1 - q), rtol=2 * torch.finfo(dtype).eps, atol=0)
    torch.testing.assert_close(out.double().mean(0) * (1 - q) / (1 - share), torch.ones(5).double(), rtol=0.01, atol=0)


def test_no_probability_is_no_change() -> None:
    values = torch.randn(50, 7)
    assert torch.equal(dropped(values, torch.zeros(7).double()), values)


@pytest.mark.parametrize("shape", [(1,), (3,), (4, 5), (2, 3, 7)])
def test_random_bits_fill_the_shape_and_the_range(shape: tuple[int, ...]) -> None:
    bits = random_bits(torch.Size(shape), torch.device("cpu"))
    assert bits.shape == shape
    assert bits.dtype == torch.int32
    many = random_bits(torch.Size([100_000]), torch.device("cpu")).double()
    assert abs(many.mean() / 2**31) < 4 / math.sqrt(3 * 100_000)
    assert many.min() < -0.999 * 2**31
    assert many.max() > 0.999 * 2**31
    assert abs(torch.stack([many[::2], many[1::2]]).corrcoef()[0, 1]) < 5 / math.sqrt(50_000)


def what_enters_and_leaves(model: nn.Module, batch: dict[str, Tensor]) -> tuple[list[Any], Any]:
    """The name, input and output of every call of a site, and the model's output."""
    seen: list[Any] = []
    handles = [
        module.register_forward_hook(lambda m, inputs, out, name=name: seen.append((name, inputs[0], out)))
        for name, module in sites(model).items()
    ]
    output = model(**batch)
    for handle in handles:
        handle.remove()
    return seen, output


def slow_squares(model: nn.Module, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Every site's summed squared gradients, from examples that run alone and without padding."""
    squares: dict[str, Tensor] = {}
    for i in range(len(batch["input_ids"])):
        kept = batch["attention_mask"][i] == 1
        single = {
            "input_ids": batch["input_ids"][i : i + 1, kept],
            "attention_mask": batch["attention_mask"][i : i + 1, kept],
            "labels": batch["labels"][i : i + 1],
        }
        seen, output = what_enters_and_leaves(model, single)
        loss = output.loss / len(batch["input_ids"])
        seen = [(name, values) for name, values, _ in seen if values.requires_grad and values.dim() <= 3]
        slopes = torch.autograd.grad(loss, [values for _, values in seen], allow_unused=True)
        for (name, _), slope in zip(seen, slopes, strict=True):
            if slope is not None:
                units = slope.shape[-1]
                total = slope.reshape(-1, units).square().sum(0)
                squares[f"{name}/{units}"] = squares.get(f"{name}/{units}", 0) + total
    return squares


def without_randomness(model: nn.Module) -> nn.Module:
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0
    return model


@pytest.mark.parametrize("family", WITH_SITES)
@pytest.mark.parametrize("examples", [2, 4])  # as many examples as tokens, too
def test_ranks_follow_the_gradients_of_what_enters_each_site(family: str, examples: int) -> None:
    model = without_randomness(tiny(family, dtype=torch.float64)[0])
    batch = batch_for(model, (4, 3, 4, 2)[:examples], 4)
    dropout = AdaptiveDropout()
    with dropout.learning(model, batch):
        model(**batch).loss.backward()
    expected = slow_squares(model, batch)
    shared_by_examples = {key for key in dropout.ranks if key in expected}
    assert shared_by_examples
    for key, squares in expected.items():
        if "pos_dropout" in key:  # relative positions: all examples share the activation, so their gradients add up
            continue
        pairs = [(a, b) for a in range(len(squares)) for b in range(len(squares)) if squares[a] > 1.001 * squares[b]]
        ranks = dropout.ranks[key]
        assert all(ranks[a] > ranks[b] for a, b in pairs), key
    assert not any(module._forward_pre_hooks for module in model.modules())


class Careless(nn.Module):
    """Its loss sees padding, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(9, 3), nn.Dropout(0.5)
        self.slopes = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [9.0, 6.0, 1.0]])  # of three positions

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(self, input_ids: Tensor, **rest: Tensor) -> Tensor:
        return self.dropout(self.embedding(input_ids))


def test_padding_teaches_nothing() -> None:
    model = Careless().train()
    batch = {"input_ids": torch.tensor([[1, 2, 0], [3, 4, 0]]), "attention_mask": torch.tensor([[1, 1, 0]] * 2)}
    dropout = AdaptiveDropout()
    entered: list[Tensor] = []
    model.dropout.register_forward_hook(lambda module, inputs, output: entered.append(inputs[0]))
    with dropout.learning(model, batch):
        model(**batch)
        (entered[0] * model.slopes).sum().backward()
    assert dropout.ranks["dropout/3"].tolist() == [0.0, 0.5, 1.0]  # with padding it would be the other way round


def test_nothing_is_learned_when_the_body_raises_or_the_gradient_is_broken() -> None:
    model = without_randomness(tiny("bert")[0])
    batch = batch_for(model, (4, 3), 4)
    dropout = AdaptiveDropout()
    with pytest.raises(RuntimeError, match="second time"), dropout.learning(model, batch):
        [loss.backward() for loss in [model(**batch).loss] * 2]
    assert dropout.ranks == {}
    assert not any(module._forward_pre_hooks for module in model.modules())
    with dropout.learning(model, batch):
        (model(**batch).loss * math.nan).backward()
    assert dropout.ranks == {}


@pytest.mark.parametrize("family", WITH_SITES)
@pytest.mark.parametrize("examples", [6, 12])  # 12 rows of 12 tokens, and 24
def test_every_pass_drops_at_its_own_rate_at_every_site(family: str, examples: int) -> None:
    torch.manual_seed(0)
    model, _ = tiny(family)
    model.train()
    batch = repeated(batch_for(model, (12,) * examples, 12), 2)
    with AdaptiveDropout((0.1, 0.8), spread=0.0).applied(model, batch, 2):
        seen, _ = what_enters_and_leaves(model, batch)
    rows, checked = 2 * examples, 0
    for name, values, out in seen:
        if values.dim() > 3:
            continue
        share = ((out == 0) & (values != 0)).float().sum() / (values != 0).float().sum()
        axis = 1 if family == "xlnet" and values.dim() == 3 else 0
        if values.shape[axis] != rows:  # relative positions belong to no example: the mean rate
            assert 0.3 < share < 0.6, name
            continue
        first, second = ((half == 0).float().mean().item() for half in out.chunk(2, axis))
        room = 4 * math.sqrt(0.25 / (out.numel() / 2)) + 0.01
        zeros = (values == 0).float().mean().item()  # such as a rectified unit
        assert 0.1 + 0.9 * zeros == pytest.approx(first, abs=room + 0.05 * zeros), name
        assert 0.8 + 0.2 * zeros == pytest.approx(second, abs=room + 0.05 * zeros), name
        checked += 1
    assert checked


class Folding(nn.Module):
    """Halves of texts as rows of their own, already where it embeds them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(40, 8), nn.Dropout(0.5)

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(self, input_ids: Tensor, **rest: Tensor) -> Tensor:
        return self.dropout(self.embedding(input_ids.view(2 * len(input_ids), -1)))


def test_every_pass_has_its_rate_in_a_model_that_folds_its_rows() -> None:
    torch.manual_seed(0)
    model = Folding().train()
    batch = {"input_ids": torch.randint(0, 40, (40, 12))}
    with AdaptiveDropout((0.1, 0.8), spread=0.0).applied(model, repeated(batch, 2), 2):
        out = model(**repeated(batch, 2))
    assert [(half == 0).float().mean().item() for half in out.chunk(2)] == pytest.approx([0.1, 0.8], abs=0.03)


def test_what_no_site_may_change_stays() -> None:
    """In evaluation nothing is dropped; attention probabilities keep their own dropout."""
    model, _ = tiny("bert")
    batch = batch_for(model, (4, 3), 4)
    model.eval()
    expected = model(**batch).logits
    with AdaptiveDropout((0.9, 0.9)).applied(model, batch, 1):
        assert torch.equal(model(**batch).logits, expected)
    attention = nn.Dropout(0.0).train()
    holder = nn.ModuleDict({"a": attention})
    holder.get_input_embeddings = lambda: nn.Embedding(2, 2)  # type: ignore[assignment]
    with AdaptiveDropout((0.9, 0.9)).applied(holder, batch, 1):
        probabilities = torch.rand(2, 2, 4, 4)
        assert torch.equal(attention(probabilities), probabilities)


def test_the_forwards_come_back_as_they_were() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model, (4, 3), 4)
    own: Any = lambda values: values  # noqa: E731
    special = next(iter(sites(model).values()))
    special.forward = own
    for error in (None, RuntimeError("stop")):
        try:
            with AdaptiveDropout((0.5, 0.5)).applied(model, batch, 1):
                assert special.__dict__["forward"] is not own
                if error:
                    raise error
        except RuntimeError:
            pass
        for module in sites(model).values():
            assert module.__dict__.get("forward") is (own if module is special else None)
        assert not any(module._forward_pre_hooks for module in model.modules())


def test_refusals() -> None:
    bare, _ = tiny("llama")
    with pytest.raises(ValueError, match=r"expected a model with nn.Dropout modules .* got Llama.* with none"):
        AdaptiveDropout().check(bare)
    still = without_randomness(tiny("bert")[0])
    with pytest.raises(
        ValueError, match=r"expected a dropout rate above 0, got BertFor.* with all rates 0; give rates"
    ):
        AdaptiveDropout().check(still)
    AdaptiveDropout((0.1, 0.1)).check(still)
    AdaptiveDropout(spread=0.0).check(still)  # on purpose: the step is then exactly twice vanilla's
