"""The worst synonyms of a text: gains by hand, the share of the words, sides, and pieces of words."""

import torch
from torch import Tensor, nn

from uegr.pieces.hull import Substitutes
from uegr.pieces.words import with_worst_words, word_counts


class Words(nn.Module):
    """Eight words on a line, at 0, 1, 4, 9, ..."""

    def get_input_embeddings(self) -> nn.Module:
        return nn.Embedding.from_pretrained(torch.arange(8.0).square().unsqueeze(1))


def table(goes_on: list[int] | None = None) -> Substitutes:
    """Word n may become n + 1 or n - 1; 0 and 7 may not change. Tokens of `goes_on` continue the word before."""
    numbers = torch.arange(8).unsqueeze(1)
    ids = torch.cat([numbers, numbers + 1, numbers - 1], 1).clamp(0, 7)
    mask = torch.cat([numbers >= 0, (numbers > 0) & (numbers < 7), (numbers > 0) & (numbers < 7)], 1)
    pieces = None if goes_on is None else torch.tensor([number in goes_on for number in range(8)])
    open_ended = None if goes_on is None else torch.arange(8) > 0
    return Substitutes(ids, mask, pieces, open_ended, separator=99)


def worst(text: list[int], slope: list[float], share: float, known: Substitutes | None = None, **more: Tensor) -> list:
    batch = {"input_ids": torch.tensor([text]), **more}
    gradient = torch.tensor(slope).view(1, -1, 1)
    return with_worst_words(Words(), batch, gradient, known or table(), share, "second").tolist()[0]


def test_the_best_substitute_follows_the_sign_of_the_gradient() -> None:
    assert worst([3, 3, 3], [1.0, -1.0, 0.0], share=1.0) == [4, 2, 3]


def test_the_largest_gains_come_first() -> None:
    assert worst([1, 5, 3, 4], [1.0, 1.0, 1.0, 1.0], share=0.5) == [1, 6, 3, 5]  # gains 3, 11, 7, 9
    assert worst([1, 5, 3, 4], [9.0, 1.0, 1.0, 1.0], share=0.25) == [2, 5, 3, 4]


def test_a_share_is_rounded_up_and_words_without_substitutes_count() -> None:
    assert worst([0, 0, 0, 2, 3], [1.0] * 5, share=0.25) == [0, 0, 0, 3, 4]
    assert worst([0, 2, 3], [1.0] * 3, share=0.01) == [0, 2, 4]


def test_padding_and_the_other_side_of_a_pair_stay() -> None:
    pair = {"token_type_ids": torch.tensor([[0, 0, 1, 1]]), "attention_mask": torch.tensor([[1, 1, 1, 0]])}
    assert worst([2, 3, 4, 5], [1.0] * 4, share=1.0, **pair) == [2, 3, 5, 5]
    counts = word_counts({"input_ids": torch.tensor([[2, 3, 4, 5]]), **pair}, table(), "second")
    assert counts.tolist() == [[1]]


def test_a_longer_word_counts_once_and_stays() -> None:
    known = table(goes_on=[6])
    assert worst([2, 6, 3, 1], [1.0] * 4, 1.0, known) == [2, 6, 4, 2]
    assert word_counts({"input_ids": torch.tensor([[2, 6, 3, 1, 0]])}, known, "both").tolist() == [[3]]


def test_a_gradient_that_is_not_finite_replaces_nothing() -> None:
    assert worst([3, 3], [float("nan"), float("inf")], share=1.0) == [3, 3]
