"""Substitution tables over WordPiece, byte-level BPE, SentencePiece-like and word-level vocabularies."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from uegr.attacks.lexicons import Lexicon, Reading
from uegr.attacks.surface import Surface
from uegr.attacks.vocabulary import substitution_table, tables
from uegr.errors import InputError
from uegr.pieces.hull import Substitutes

ENTRIES = {"good": ("fine", "nice", "great"), "film": ("movie", "picture"), "play": ("film",)}
SURFACE = Surface(Lexicon("tiny", "en", {word: (Reading("", 0, others),) for word, others in ENTRIES.items()}))
SPECIAL = ["[PAD]", "[UNK]", "[CLS]"]


def fast(model, pre_tokenizer):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]")


def numbered(tokens):
    return {token: number for number, token in enumerate(tokens)}


def wordpiece():
    words = ["good", "fine", "great", "film", "movie", "play", "##ing", "##film", "!", "Good", "Fine"]
    return fast(models.WordPiece(numbered(SPECIAL + words), unk_token="[UNK]"), pre_tokenizers.Whitespace())


def byte_level():
    words = ["Ġgood", "Ġfine", "Ġgreat", "Ġfilm", "Ġmovie", "good", "nice", "ing", "Ġplay", "!", "Ġ(", "<s>"]
    return fast(models.WordLevel(numbered(SPECIAL + words), unk_token="[UNK]"), pre_tokenizers.WhitespaceSplit())


def word_level():
    words = ["good", "fine", "great", "film", "movie", "play", "!"]
    return fast(models.WordLevel(numbered(SPECIAL + words), unk_token="[UNK]"), pre_tokenizers.Whitespace())


def named(tokenizer, ids, mask):
    return [tokenizer.convert_ids_to_tokens(row[keep].tolist()) for row, keep in zip(ids, mask, strict=True)]


@pytest.mark.parametrize(
    ("make", "token", "expected"),
    [
        (wordpiece, "good", ["good", "fine", "great"]),
        (wordpiece, "Good", ["Good", "Fine"]),
        (wordpiece, "play", ["play", "film"]),
        (wordpiece, "##film", ["##film"]),
        (wordpiece, "[CLS]", ["[CLS]"]),
        (byte_level, "Ġgood", ["Ġgood", "Ġfine", "Ġgreat"]),
        (byte_level, "good", ["good", "nice"]),
        (byte_level, "Ġplay", ["Ġplay", "Ġfilm"]),
        (word_level, "film", ["film", "movie"]),
        (word_level, "!", ["!"]),
    ],
)
def test_table_rows(make, token, expected):
    tokenizer = make()
    ids, mask = substitution_table(tokenizer, SURFACE, limit=4)
    number = tokenizer.convert_tokens_to_ids(token)
    assert named(tokenizer, ids[[number]], mask[[number]]) == [expected]
    assert torch.equal(ids[:, 0], torch.arange(len(tokenizer)))
    assert mask[:, 0].all()
    assert (ids[number][~mask[number]] == number).all()


def test_limit_counts_substitutes_without_the_word_itself():
    tokenizer = wordpiece()
    ids, mask = substitution_table(tokenizer, SURFACE, limit=1)
    number = tokenizer.convert_tokens_to_ids("good")
    assert named(tokenizer, ids[[number]], mask[[number]]) == [["good", "fine"]]
    with pytest.raises(InputError, match="limit >= 1"):
        substitution_table(tokenizer, SURFACE, limit=0)


@pytest.mark.parametrize(
    ("make", "tokens", "free"),
    [
        (wordpiece, "[CLS] good play ##ing film ! [PAD]", "good film"),
        (byte_level, "[CLS] good Ġplay ing Ġfilm ! Ġ( good [PAD]", "good Ġfilm good"),
        (byte_level, "Ġfilm good", ""),
        (word_level, "good play film", "good play film"),
    ],
)
def test_only_whole_words_have_substitutes(make, tokens, free):
    tokenizer = make()
    batch = torch.tensor([tokenizer.convert_tokens_to_ids(tokens.split())])
    hull = Substitutes(*tables(tokenizer, SURFACE, 4)).hull({"input_ids": batch})
    free_slots = (hull.slots >= 0)[0]
    assert [token for token, keep in zip(tokens.split(), free_slots, strict=True) if keep] == free.split()
    assert torch.equal(hull.ids[:, 0], batch[0][free_slots])


def test_tables_are_built_once():
    tokenizer = wordpiece()
    assert tables(tokenizer, SURFACE, 4).ids is tables(tokenizer, SURFACE, 4).ids


def test_byte_level_of_a_real_trained_tokenizer():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    from tokenizers.trainers import BpeTrainer

    text = ["good film fine movie great film good movie playing play good"] * 9
    tokenizer.train_from_iterator(text, BpeTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False))
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    ids, mask = substitution_table(wrapped, SURFACE, limit=4)
    film = wrapped.convert_tokens_to_ids("Ġfilm")
    assert wrapped.decode(ids[film][mask[film]]) == " film movie"
