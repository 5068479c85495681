"""A word or character vocabulary for models that are not pretrained, built from the training split only."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from uegr.cache import data_folder, kept, key_of
from uegr.data import arrow
from uegr.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast

VERSION = 1
SPECIAL = ["[PAD]", "[UNK]", "[SEP]"]  # ids 0, 1, 2; the separator stands between the two texts of a pair
IDEOGRAPH = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
Mode = Literal["word", "character"]


def vocabulary(
    train: "Dataset",
    *,
    mode: Mode | None = None,
    min_frequency: int = 2,
    max_size: int = 50_000,
    max_length: int = 512,
) -> "PreTrainedTokenizerFast":
    """A tokenizer over the words, or the characters, of `train`: lower case, punctuation separate, [PAD] 0 and [UNK] 1.

    Words rarer than `min_frequency`, and all after the `max_size` most frequent, are [UNK]. `mode` defaults to
    characters for Chinese and to words for everything else. Kept in the cache by content; `save_pretrained` writes it
    beside a model, and `AutoTokenizer` reads it there without a network.
    """
    if min_frequency < 1 or max_size <= len(SPECIAL):
        raise InputError(f"expected min_frequency >= 1 and max_size > {len(SPECIAL)}, got {min_frequency}, {max_size}")
    chosen = mode or usual_mode(train)
    key = key_of("vocabulary", VERSION, train._fingerprint, chosen, min_frequency, max_size)
    path = data_folder() / "vocabularies" / f"{key}.json"
    kept(path, lambda made: built(train, chosen, min_frequency, max_size).save(str(made)))
    return wrapped(str(path), max_length)


def wrapped(file: str, max_length: int) -> "PreTrainedTokenizerFast":
    """The file as a tokenizer of transformers."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_file=file,
        pad_token="[PAD]",
        unk_token="[UNK]",
        sep_token="[SEP]",
        padding_side="right",
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
    )


def usual_mode(train: "Dataset", rows: int = 1_000) -> Mode:
    """Characters if at least a third of what is not white space is an ideograph."""
    text = "".join("".join(train[: min(rows, len(train))]["text"]).split())
    return "character" if 3 * len(IDEOGRAPH.findall(text)) >= max(1, len(text)) else "word"


def built(train: "Dataset", mode: Mode, min_frequency: int, max_size: int) -> Any:
    """A `tokenizers.Tokenizer`; frequent words get small ids."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False, lowercase=True)
    tokenizer.pre_tokenizer = (
        pre_tokenizers.BertPreTokenizer()
        if mode == "word"
        else pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")])
    )
    trainer = trainers.WordLevelTrainer(
        vocab_size=max_size, min_frequency=min_frequency, special_tokens=SPECIAL, show_progress=False
    )
    tokenizer.train_from_iterator(texts(train), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", pair="$A [SEP] $B", special_tokens=[("[SEP]", SPECIAL.index("[SEP]"))]
    )
    return tokenizer


def texts(train: "Dataset") -> Iterator[list[str]]:
    """All texts, a piece at a time."""
    columns = [name for name in ("text", "pair") if name in train.column_names]
    for batch in train.select_columns(columns).iter(batch_size=arrow.PIECE):
        for name in columns:
            yield batch[name]
