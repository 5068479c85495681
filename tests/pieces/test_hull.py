"""The hull: known points (its corners are texts), the literal sum, and an ascent that rises and leaves no trace."""

import math
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from tests.models.families import tiny
from uegr.attacks.lexicons import Lexicon, Reading
from uegr.attacks.surface import Surface
from uegr.attacks.vocabulary import tables
from uegr.pieces.divergence import kl
from uegr.pieces.hull import Hull, Substitutes, combined, entropy, simplex, worst_point

FAMILIES = ["bert", "roberta", "xlnet", "gpt2", "bilstm", "texthan"]


def table() -> Substitutes:
    """The words from 10 to 29 have up to three others; the rest none."""
    ids, mask = torch.arange(40).unsqueeze(1).repeat(1, 4), torch.zeros(40, 4, dtype=torch.bool)
    mask[:, 0] = True
    for word in range(10, 30):
        for j in range(1, 1 + word % 4):
            ids[word, j], mask[word, j] = 10 + (word * 7 + j * 3) % 30, True
    return Substitutes(ids, mask)


def example(family: str) -> tuple[nn.Module, dict[str, Tensor]]:
    """A model away from its flat start, in evaluation, and a padded batch."""
    model, _ = tiny(family, num_labels=3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    ids = torch.randint(5, 40, (4, 7), generator=generator)
    mask = torch.ones_like(ids)
    pad = slice(0, 2) if family == "xlnet" else slice(5, 7)
    ids[1, pad], mask[1, pad] = 11, 0  # a word that has substitutes, so that only the mask protects it
    return model.eval(), {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([0, 1, 2, 1])}


def logits_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return model(**batch)["logits"]


def test_weights_sum_to_one_and_are_zero_outside() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False]])
    weights = simplex(torch.tensor([[1.0, 2.0, 99.0], [5.0, 9.0, 9.0]]), mask)
    assert weights[~mask].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2))
    assert weights[0, 1].item() == pytest.approx(math.e**2 / (math.e + math.e**2))


def test_entropy_and_its_gradient_ignore_what_is_outside() -> None:
    logits = torch.tensor([[0.3, -1.0, 7.0]], dtype=torch.float64, requires_grad=True)
    value = entropy(logits, torch.tensor([[True, True, False]]))
    p = math.exp(0.3) / (math.exp(0.3) + math.exp(-1.0))
    assert value.item() == pytest.approx(-p * math.log(p) - (1 - p) * math.log(1 - p), rel=1e-12)
    (slope,) = torch.autograd.grad(value.sum(), logits)
    assert slope[0, 2] == 0
    assert slope[0, 0].item() == pytest.approx(-p * (math.log(p) + value.item()), rel=1e-10)


def test_a_hull_has_the_tokens_with_substitutes_in_order() -> None:
    _, batch = example("bert")
    hull, known = table().hull(batch), table()
    number = 0
    for i, row in enumerate(batch["input_ids"].tolist()):
        for t, token in enumerate(row):
            if batch["attention_mask"][i, t] and known.mask[token].sum() > 1:
                assert hull.slots[i, t] == number
                assert torch.equal(hull.ids[number], known.ids[token])
                number += 1
            else:
                assert hull.slots[i, t] == -1
    assert len(hull.ids) == number > 5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_corner_of_the_hull_is_another_text(family: str) -> None:
    model, batch = example(family)
    hull = table().hull(batch)
    last = hull.mask.sum(-1) - 1
    other = batch["input_ids"].clone()
    other[hull.slots >= 0] = hull.ids[torch.arange(len(last)), last]
    with torch.no_grad(), combined(model, hull, nn.functional.one_hot(last, 4).double(), batch):
        there = logits_of(model, batch)
    replaced = logits_of(model, batch | {"input_ids": other})
    if family == "texthan":
        assert not torch.isin(other, torch.tensor(model.config.sentence_ends)).any()  # or sentences would differ
    torch.testing.assert_close(there, replaced, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(there, logits_of(model, batch))


@pytest.mark.parametrize("family", FAMILIES)
def test_all_weight_on_the_word_itself_changes_nothing(family: str) -> None:
    model, batch = example(family)
    hull = table().hull(batch)
    itself = nn.functional.one_hot(torch.zeros(len(hull.ids), dtype=torch.long), 4).double()
    with torch.no_grad(), combined(model, hull, itself, batch):
        there = logits_of(model, batch)
    assert torch.equal(there, logits_of(model, batch))


def test_the_gradient_goes_to_the_substitutes_vectors() -> None:
    model, batch = example("bert")
    hull = table().hull(batch)
    weights = simplex(torch.randn(hull.ids.shape, dtype=torch.float64), hull.mask)
    seen: list[Tensor] = []
    with combined(model, hull, weights, batch):
        handle = model.get_input_embeddings().register_forward_hook(lambda *call: seen.append(call[2]))
        model(**batch)
        handle.remove()
    matrix = model.get_input_embeddings().weight
    (found,) = torch.autograd.grad(seen[0].sum(), matrix)
    expected = torch.zeros_like(matrix)
    for i, row in enumerate(batch["input_ids"].tolist()):
        for t, token in enumerate(row):
            slot = int(hull.slots[i, t])
            if slot < 0:
                expected[token] += 1
                continue
            for j, word in enumerate(hull.ids[slot].tolist()):
                expected[word] += weights[slot, j]
    torch.testing.assert_close(found, expected)


def climbed(model: nn.Module, batch: dict[str, Tensor], steps: int, **changes: Any) -> tuple[Hull, Tensor]:
    hull = table().hull(batch)
    options = {"step_size": 1.0, "sparsity": 0.0} | changes
    return hull, worst_point(model, batch, hull, lambda: logits_of(model, batch), kl, steps=steps, **options)


def divergence_at(model: nn.Module, batch: dict[str, Tensor], hull: Hull, weights: Tensor) -> Tensor:
    with torch.no_grad():
        clean = logits_of(model, batch)
        with combined(model, hull, weights, batch):
            return kl(clean, logits_of(model, batch))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ascent_rises(family: str) -> None:
    model, batch = example(family)
    hull, weights = climbed(model, batch, steps=10)
    start = simplex(torch.zeros(hull.ids.shape, dtype=torch.float64), hull.mask)
    before, after = (divergence_at(model, batch, hull, w) for w in (start, weights))
    assert (after >= before - 1e-12).all()
    assert after.sum() > 1.2 * before.sum()


def test_sparsity_draws_the_weights_to_the_corners() -> None:
    model, batch = example("bert")
    _, loose = climbed(model, batch, steps=20)
    _, sparse = climbed(model, batch, steps=20, sparsity=0.01)
    assert float(torch.special.entr(loose).sum()) > 0.1
    assert float(torch.special.entr(sparse).sum()) < 0.01


def test_an_example_climbs_as_if_it_were_alone() -> None:
    model, batch = example("bert")
    hull, together = climbed(model, batch, steps=4)
    for i in range(4):
        _, alone = climbed(model, {name: value[i : i + 1] for name, value in batch.items()}, steps=4)
        own = hull.slots[i][hull.slots[i] >= 0]
        torch.testing.assert_close(alone, together[own], rtol=1e-9, atol=1e-11)


def test_the_ascent_leaves_no_gradient_no_graph_and_no_mode() -> None:
    model, batch = example("bert")
    model.train()
    torch.manual_seed(0)
    state = torch.get_rng_state()
    _, weights = climbed(model, batch, steps=2)
    assert not weights.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(module.training for module in model.modules())
    assert torch.equal(torch.get_rng_state(), state)  # dropout was off
    assert not model.get_input_embeddings()._forward_hooks


def test_a_batch_without_substitutes_is_left_alone() -> None:
    model, batch = example("bert")
    batch["input_ids"] = torch.full_like(batch["input_ids"], 7)
    hull, weights = climbed(model, batch, steps=3)
    assert weights.shape == (0, 4)
    with torch.no_grad(), combined(model, hull, weights, batch):
        there = logits_of(model, batch)
    assert torch.equal(there, logits_of(model, batch))


def test_pieces_of_longer_words_are_left_alone_as_by_the_attacks() -> None:
    entries = {"good": ("fine", "great"), "film": ("movie",), "play": ("film",)}
    surface = Surface(Lexicon("tiny", "en", {word: (Reading("", 0, others),) for word, others in entries.items()}))
    words = ["[PAD]", "[UNK]", "[CLS]", "good", "fine", "great", "film", "movie", "play", "##ing", "!"]
    model = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    model.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]")
    ids = tokenizer(["good playing film!", "play good filming !"], return_tensors="pt")["input_ids"]
    hull = Substitutes(*tables(tokenizer, surface, 4)).hull({"input_ids": ids})
    free = [[True, False, False, True, False], [True, True, False, False, False]]  # good, film; play, good
    assert (hull.slots >= 0).tolist() == free
    named = [[words[token] for token in row[mask]] for row, mask in zip(hull.ids, hull.mask, strict=True)]
    assert named == [["good", "fine", "great"], ["film", "movie"], ["play", "film"], ["good", "fine", "great"]]


def test_wrong_tables_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"expected token ids below 40, the table's size, got 41"):
        table().hull({"input_ids": torch.tensor([[41]])})
    with pytest.raises(ValueError, match=r"expected ids and a bool mask, both \(vocabulary, corners\)"):
        Substitutes(torch.zeros(4, 2, dtype=torch.long), torch.zeros(4, 3, dtype=torch.bool))
