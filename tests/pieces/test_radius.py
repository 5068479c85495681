"""The radius that is relative to the vectors: by hand, and for every norm."""

import pytest
import torch

from uegr.pieces.radius import mean_length, word_vectors
from uegr.testing.models import batch_for, classifier

BATCH = {"input_ids": torch.tensor([[5, 6, 0], [7, 8, 9]]), "attention_mask": torch.tensor([[1, 1, 0], [1, 1, 1]])}
VECTORS = torch.tensor([[[3.0, -4.0], [0.0, 1.0], [9.0, 9.0]], [[2.0, 0.0], [0.0, 4.0], [-6.0, 0.0]]])


@pytest.mark.parametrize("norm", ["example", "token"])
def test_each_example_has_the_mean_length_of_its_own_tokens(norm: str) -> None:
    assert mean_length(VECTORS, BATCH, norm).tolist() == [[[3.0]], [[4.0]]]


@pytest.mark.parametrize("norm", ["max", "sign"])
def test_the_largest_entry_is_the_length_where_the_perturbation_is_measured_so(norm: str) -> None:
    assert mean_length(VECTORS, BATCH, norm).tolist() == [[[2.5]], [[4.0]]]


def test_the_matrix_norm_has_one_radius_for_the_batch() -> None:
    assert mean_length(VECTORS, BATCH, "matrix").tolist() == [[[pytest.approx(18 / 5)]]]


def test_word_vectors_are_those_of_the_table_and_run_no_hook() -> None:
    model = classifier()
    batch = batch_for(model)
    with model.get_input_embeddings().register_forward_hook(lambda *_: pytest.fail("a hook ran")):
        found = word_vectors(model, batch)
    assert torch.equal(found, model.get_input_embeddings().weight[batch["input_ids"]])
    assert not found.requires_grad
