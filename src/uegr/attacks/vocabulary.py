"""The surface in a vocabulary: which token ids may replace which, for methods that work on embeddings (ASCC, RIFT).

A token takes part when it is a whole word that the surface knows, and its substitutes are those that are one token of
the same kind: WordPiece (`##` marks a continuation), byte-level BPE (`Ġ` marks a word's start), SentencePiece (`▁`
likewise), or a word-level vocabulary (no marks). Left out: words of several pieces; words with letters beyond ASCII in
byte-level vocabularies; single Chinese characters in piece vocabularies, more often parts of words than words.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from uegr.attacks.surface import Surface, ideographic, whole
from uegr.errors import InputError

STARTS = ("Ġ", "▁")


class Vocabulary(NamedTuple):
    """Tokens by id, and the mark of its kind: `##` for continuations, `Ġ` or `▁` for starts, or "" (word-level)."""

    tokens: list[str]
    mark: str
    special: frozenset[int]


def read_vocabulary(tokenizer: Any) -> Vocabulary:
    """The tokens of any transformers tokenizer, and its kind by the look of its tokens."""
    tokens = [str(token) for token in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    counts = {
        mark: sum(token.startswith(mark) and len(token) > len(mark) for token in tokens) for mark in (*STARTS, "##")
    }
    mark = max(counts, key=lambda mark: counts[mark])
    return Vocabulary(tokens, mark if counts[mark] else "", frozenset(tokenizer.all_special_ids))


def substitution_table(tokenizer: Any, surface: Surface, limit: int = 8) -> tuple[Tensor, Tensor]:
    """For every token of the vocabulary itself and up to `limit` substitutes: ids and mask, both (V, 1 + limit).

    The first column is always the token itself and always true; columns that are not used repeat it and are false.
    """
    if limit < 1:
        raise InputError(f"expected limit >= 1 substitutes per word, got {limit}")
    vocabulary = read_vocabulary(tokenizer)
    known = {token: number for number, token in enumerate(vocabulary.tokens)}
    ids = torch.arange(len(vocabulary.tokens)).unsqueeze(1).repeat(1, 1 + limit)
    mask = torch.zeros_like(ids, dtype=torch.bool)
    mask[:, 0] = True
    for number, token in enumerate(vocabulary.tokens):
        if number not in vocabulary.special:
            others = token_substitutes(token, vocabulary.mark, known, surface)[:limit]
            ids[number, 1 : 1 + len(others)] = torch.tensor(others, dtype=torch.long)
            mask[number, 1 : 1 + len(others)] = True
    return ids, mask


def token_substitutes(token: str, mark: str, known: dict[str, int], surface: Surface) -> list[int]:
    """Ids of the substitutes of one token that are one token with the same mark."""
    if mark == "##" and token.startswith(mark):
        return []
    prefix = mark if mark in STARTS and token.startswith(mark) else ""
    word = token[len(prefix) :]
    if not whole(word) or (mark and ideographic(word)) or (mark == "Ġ" and not word.isascii()):
        return []
    # A mark-less token of a BPE vocabulary is a whole word only where a text starts; it takes its own kind.
    found = (known.get(prefix + other) for other in surface.substitutes(word))
    return [number for number in found if number is not None]


def pieces(tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Two (V,) bools: the token may continue the word before it; the token may be continued by another one."""
    vocabulary = read_vocabulary(tokenizer)
    plain = torch.tensor([number not in vocabulary.special for number in range(len(vocabulary.tokens))])
    goes_on = torch.tensor([continues(token, vocabulary.mark) for token in vocabulary.tokens])
    open_ended = torch.tensor([token[-1:].isalnum() for token in vocabulary.tokens])
    return goes_on & plain, open_ended & plain


def continues(token: str, mark: str) -> bool:
    """Whether the token, seen after a letter, belongs to the same word."""
    if mark == "##":
        return token.startswith(mark)
    return mark in STARTS and not token.startswith(mark) and token[:1].isalnum()


def separator(tokenizer: Any) -> int | None:
    """The token that the tokenizer puts between the two texts of a pair, if it does so."""
    mark: int | None = tokenizer.sep_token_id
    return mark if mark in tokenizer("a", "b")["input_ids"][:-1] else None


class Tables(NamedTuple):
    """What the hull of a method needs of a tokenizer (pieces/hull.py), built once: two (V, 1 + limit) and two (V,).

    `separator` is the token between the two texts of a pair.
    """

    ids: Tensor
    mask: Tensor
    goes_on: Tensor
    open_ended: Tensor
    separator: int | None


_TABLES: WeakKeyDictionary[Any, dict[tuple[int, int], tuple[Surface, Tables]]] = WeakKeyDictionary()


def tables(tokenizer: Any, surface: Surface, limit: int = 8) -> Tables:
    """The tables of a tokenizer, a surface and a limit, kept as long as the tokenizer exists."""
    kept = _TABLES.setdefault(tokenizer, {})
    key = (id(surface), limit)  # the surface is kept too, so that no other one can get its id
    if key not in kept:
        words, ends = substitution_table(tokenizer, surface, limit), pieces(tokenizer)
        kept[key] = (surface, Tables(*words, *ends, separator(tokenizer)))
    return kept[key][1]
