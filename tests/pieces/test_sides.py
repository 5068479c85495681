"""The two texts of a pair, told apart by token types or by separators, for every kind of tokenizer."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from uegr.attacks.vocabulary import separator
from uegr.pieces.sides import check_side, on_side

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "man", "sleeps", "is", "awake"]
TEMPLATES = {
    "bert": ("[CLS] $A [SEP]", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", True),
    "distilbert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", False),
    "roberta": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]", False),
    "roberta with zeros": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]", True),
    "scratch": ("$A", "$A [SEP] $B", False),
    "xlnet": ("$A:0 [SEP]:0 [CLS]:2", "$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2", True),
}
FIRST, SECOND = ["a man sleeps", "a man"], ["man is awake", "awake"]


def tokenizer_of(kind: str) -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    single, pair, types = TEMPLATES.get(kind, ("$A", "$A $B", False))
    inner.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        sep_token=None if kind == "gpt2" else "[SEP]",
        padding_side="left" if kind == "xlnet" else "right",
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if types else [])],
    )


def words_at(batch: dict[str, Tensor], where: Tensor) -> list[list[str]]:
    """The plain words at the places of a mask."""
    rows = zip(batch["input_ids"].tolist(), where.tolist(), strict=True)
    return [[WORDS[i] for i, inside in zip(ids, mask, strict=True) if inside and i > 3] for ids, mask in rows]


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_side_is_its_text_and_nothing_else(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    batch = dict(tokenizer(FIRST, SECOND, padding=True, return_tensors="pt"))
    mark = separator(tokenizer)
    assert mark == 3
    assert words_at(batch, on_side(batch, "second", mark)) == [text.split() for text in SECOND]
    assert words_at(batch, on_side(batch, "first", mark)) == [text.split() for text in FIRST]
    both = [f"{one} {other}".split() for one, other in zip(FIRST, SECOND, strict=True)]
    assert words_at(batch, on_side(batch, "both", mark)) == both


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("side", ["first", "second", "both"])
def test_all_of_a_single_text_may_change(kind: str, side: str) -> None:
    tokenizer = tokenizer_of(kind)
    batch = dict(tokenizer(FIRST, padding=True, return_tensors="pt"))
    assert words_at(batch, on_side(batch, check_side(side), separator(tokenizer))) == [text.split() for text in FIRST]


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_tokenizer_that_marks_no_boundary_is_refused(side: str) -> None:
    tokenizer = tokenizer_of("gpt2")
    batch = dict(tokenizer(FIRST, SECOND, padding=True, return_tensors="pt"))
    assert separator(tokenizer) is None
    with pytest.raises(ValueError, match=r"expected token types or a separator .* got neither; use side='both'"):
        on_side(batch, check_side(side), separator(tokenizer))
    assert on_side(batch, "both", None).all()


def test_a_separator_that_is_never_put_between_two_texts_is_none() -> None:
    tokenizer = tokenizer_of("gpt2")
    tokenizer.add_special_tokens({"sep_token": "[SEP]"})
    assert separator(tokenizer) is None


def test_padding_after_a_single_text_is_not_a_second_one() -> None:
    ids = torch.tensor([[4, 5, 3, 0], [4, 3, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    assert on_side({"input_ids": ids, "attention_mask": mask}, "second", 3).all()


def test_an_unknown_side_is_refused() -> None:
    with pytest.raises(ValueError, match="expected side to be one of second, first, both, got 'left'"):
        check_side("left")
