"""The token ids of a training's rows, made by the rules of models/texts.py and kept in the cache by content."""

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uegr.cache import data_folder, kept, key_of, remembered
from uegr.errors import InputError, warn
from uegr.models.texts import encode, length_limit

if TYPE_CHECKING:
    from datasets import Dataset

VERSION = 2  # raise it when the same rows would give other token ids


def tokenized(dataset: "Dataset", tokenizer: Any, max_length: int | None = None) -> "Dataset":
    """`input_ids`, `attention_mask`, any other output of the tokenizer, `labels` where there are any, and `length`.

    Nothing is padded: the collator pads each batch to its longest row. `max_length` None is the model's own limit.
    Warns with the number of rows that are cut.
    """
    from datasets import Dataset

    if not isinstance(dataset, Dataset):
        got = type(dataset).__name__
        raise InputError(f"expected a Dataset, got {got}; take rows with split.select(range(8))")
    limit = length_limit(tokenizer, max_length)
    key = key_of("tokens", VERSION, dataset._fingerprint, tokenizer_key(tokenizer), limit)
    path = data_folder() / "tokens" / f"{key}.arrow"
    tokens = mapped(kept(path, lambda made: write(made, dataset, tokenizer, limit)), key)
    report_cuts(key, tokens, limit)
    return tokens.remove_columns("cut")


def write(path: Path, dataset: "Dataset", tokenizer: Any, limit: int | None) -> None:
    """Tokenise all rows into an Arrow file."""

    def tokens_of(batch: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
        check_columns(batch, rows[0])
        return encoded(batch, tokenizer, limit)

    with progress_in_a_terminal():
        dataset.map(
            tokens_of,
            batched=True,
            with_indices=True,
            remove_columns=dataset.column_names,
            cache_file_name=str(path),
            load_from_cache_file=False,
            desc="tokenising",
        )


def check_columns(batch: dict[str, list[Any]], start: int) -> None:
    """Raise for the first row that has no text where one belongs; `start` is the number of the batch's first row."""
    for name in ("text", "pair"):
        for row, text in enumerate(batch.get(name, ()), start):
            if not isinstance(text, str):
                raise InputError(
                    f"row {row}: expected a text in the column {name}, got {text!r:.60}; "
                    "make it a str, or leave out the row"
                )


def mapped(path: Path, key: str) -> "Dataset":
    """The file, not read but mapped."""
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

    return Dataset(MemoryMappedTable.from_file(str(path)), fingerprint=key)


@contextmanager
def progress_in_a_terminal() -> Iterator[None]:
    """The library's progress bar, but not in logs and pipes."""
    import datasets

    if sys.stderr.isatty() or datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def tokenizer_key(tokenizer: Any) -> str:
    """A name for what the tokenizer does; the padding and truncation of its last call do not count."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is not None:
        digest = fast_digest(fast.to_str())
    else:
        digest = state_digest({"vocabulary": sorted(tokenizer.get_vocab().items()), "repr": repr(tokenizer)})
    sides = [tokenizer.truncation_side, list(tokenizer.model_input_names), type(tokenizer).__name__]
    return key_of(digest, sides)


@lru_cache(maxsize=4)
def fast_digest(written: str) -> str:
    """The digest of a tokenizer in its own JSON; cached, since every split needs it."""
    state = json.loads(written)
    return state_digest({name: part for name, part in state.items() if name not in ("truncation", "padding")})


def state_digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def encoded(batch: dict[str, list[Any]], tokenizer: Any, limit: int | None) -> dict[str, list[Any]]:
    """The columns of some rows of `text`, maybe `pair`, maybe `label`; `cut` says which rows lost tokens."""
    texts = (batch["text"], batch["pair"]) if "pair" in batch else (batch["text"],)
    columns = encode(tokenizer, texts, limit)
    result = dict(columns)
    result["length"] = [len(ids) for ids in result["input_ids"]]
    result["cut"] = cuts(columns, texts, tokenizer, limit, result["length"])
    if "label" in batch:
        result["labels"] = batch["label"]
    return result


def cuts(
    columns: Any, texts: tuple[list[str], ...], tokenizer: Any, limit: int | None, lengths: list[int]
) -> list[bool]:
    """A fast tokenizer keeps what it cut off; a slow one is asked again, for the full rows only."""
    if limit is None:
        return [False] * len(lengths)
    if columns.encodings is not None:
        return [bool(encoding.overflowing) for encoding in columns.encodings]
    full = [index for index, length in enumerate(lengths) if length >= limit]
    if not full:
        return [False] * len(lengths)
    again = tokenizer(*[[column[index] for index in full] for column in texts], truncation=False, verbose=False)
    longer = {index for index, ids in zip(full, again["input_ids"], strict=True) if len(ids) > limit}
    return [index in longer for index in range(len(lengths))]


def is_cut(tokenizer: Any, texts: tuple[list[str], ...], limit: int | None) -> list[bool]:
    """Which of some texts, or pairs in two columns, lose tokens."""
    columns = encode(tokenizer, texts, limit)
    return cuts(columns, texts, tokenizer, limit, [len(ids) for ids in columns["input_ids"]])


def report_cuts(key: str, tokens: "Dataset", limit: int | None) -> None:
    """Warn every time how many rows are cut; they are counted once."""

    def count() -> int:
        return sum(sum(batch["cut"]) for batch in tokens.select_columns(["cut"]).iter(batch_size=10_000))

    cut = remembered(key_of("cut", key), count)
    if cut:
        share = 100 * cut / len(tokens)
        warn(f"{cut:,} of {len(tokens):,} rows ({share:.1f}%) are longer than {limit} tokens and are cut there")
