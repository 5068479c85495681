"""The door of a perturbation: it moves the right token of the right example in every family, and closes again."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.models.families import FAMILIES, tiny
from uegr.pieces.embedding import arranged, embedding_layer, parts, perturbed, repeated, token_mask, unwrapped


def batch_for(model: nn.Module, lengths: tuple[int, ...], width: int, seed: int = 0) -> dict[str, Tensor]:
    """Padding on the left for XLNet, whose summary is its last position."""
    left = model.config.model_type == "xlnet"
    rows = [[int(t >= width - n) if left else int(t < n) for t in range(width)] for n in lengths]
    mask = torch.tensor(rows)
    ids = torch.randint(5, 40, mask.shape, generator=torch.Generator().manual_seed(seed))
    return {"input_ids": torch.where(mask == 1, ids, model.config.pad_token_id), "attention_mask": mask}


def logits(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return model(**batch).logits


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [3, 5])  # 5 examples of 5 tokens: the ids could be turned without anybody noticing
def test_a_moved_token_changes_its_own_example_only(family: str, size: int) -> None:
    model, _ = tiny(family, dtype=torch.float64)
    model.eval()
    batch = batch_for(model, (5, 4, 5, 5, 3)[:size], 5)
    before = logits(model, batch)
    width = embedding_layer(model).weight.shape[1]
    for example, token in ((0, 2), (1, 1), (2, 4)):
        delta = torch.zeros(size, 5, width, dtype=torch.float64)
        delta[example, token] = torch.linspace(1, 4, width, dtype=torch.float64)
        with perturbed(model, delta, batch):
            moved = logits(model, batch)
        changed = (moved - before).abs().amax(1)
        assert changed[example] > 1e-8, (example, token)
        changed[example] = 0
        assert changed.max() < 1e-12
    torch.testing.assert_close(logits(model, batch), before, rtol=0, atol=0)
    assert not embedding_layer(model)._forward_hooks


def test_it_is_the_same_as_embedded_inputs_where_a_model_takes_them() -> None:
    model, _ = tiny("bert", dtype=torch.float64)
    model.eval()
    batch = batch_for(model, (4, 3), 4)
    delta = torch.randn(2, 4, 16, dtype=torch.float64)
    with perturbed(model, delta, batch):
        moved = logits(model, batch)
    embedded = embedding_layer(model)(batch["input_ids"]) + delta
    with torch.no_grad():
        expected = model(inputs_embeds=embedded, attention_mask=batch["attention_mask"]).logits
    torch.testing.assert_close(moved, expected)


def test_the_hook_goes_when_the_body_raises() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model, (3,), 3)
    with pytest.raises(RuntimeError, match="inside"), perturbed(model, torch.zeros(1, 3, 16), batch):
        raise RuntimeError("inside")
    assert not embedding_layer(model)._forward_hooks


def test_values_follow_the_order_in_which_a_model_shows_its_ids() -> None:
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    values = torch.arange(6).view(2, 3)
    assert arranged(values, ids.clone(), ids).tolist() == values.tolist()
    assert arranged(values, ids.T.contiguous(), ids).tolist() == values.T.tolist()
    assert arranged(values, ids.view(3, 2), ids).tolist() == values.view(3, 2).tolist()
    square = torch.tensor([[1, 2], [3, 4]])
    assert arranged(square, square.T.contiguous(), square).tolist() == square.T.tolist()
    with pytest.raises(ValueError, match=r"expected an embedding layer that sees the \(2, 3\) input ids, got \(2, 2\)"):
        arranged(values, ids[:, :2], ids)


def test_repeated_batches_go_pass_after_pass() -> None:
    batch: dict[str, Any] = {
        "input_ids": torch.tensor([[1, 2], [3, 4], [5, 6]]),
        "labels": torch.tensor([0, 1, 2]),
        "num_items_in_batch": torch.tensor(3),
        "flag": True,
    }
    many = repeated(batch, 2)
    assert many["labels"].tolist() == [0, 1, 2, 0, 1, 2]
    assert many["input_ids"][3].tolist() == [1, 2]
    assert many["num_items_in_batch"].item() == 6
    assert many["flag"] is True
    assert repeated(batch, 1)["input_ids"] is batch["input_ids"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_parts_are_the_batch_and_their_shares_are_one(count: int) -> None:
    batch = {"input_ids": torch.arange(5)[:, None], "labels": torch.tensor([1, -100, 0, 1, 1])}
    found = list(parts(batch, count, batch["labels"] != -100))
    assert len(found) == count
    rows = sorted(row for piece, _, _ in found for row in range(piece.start, piece.stop))
    assert rows == [0, 1, 2, 3, 4]
    sizes = [piece.stop - piece.start for piece, _, _ in found]
    assert max(sizes) <= -(-5 // count)
    assert sum(share for _, _, share in found) == pytest.approx(1)
    for piece, part, share in found:
        assert torch.equal(part["input_ids"], batch["input_ids"][piece])
        if count > 1:
            assert share == (batch["labels"][piece] != -100).sum().item() / 4
    counts = [share > 0 for _, _, share in found]
    assert counts == sorted(counts)  # the last piece has labels: its backward is synchronised


def test_the_mask_defaults_to_all_tokens() -> None:
    assert token_mask({"input_ids": torch.zeros(2, 3)}).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_wrappers_are_seen_through() -> None:
    model, _ = tiny("bert")
    compiled = nn.Module()
    compiled._orig_mod = model  # what torch.compile returns has it, and takes seconds to import
    assert unwrapped(nn.DataParallel(model)) is model
    assert unwrapped(compiled) is model
    assert unwrapped(nn.DataParallel(compiled)) is model
    assert embedding_layer(nn.DataParallel(model)) is model.bert.embeddings.word_embeddings
