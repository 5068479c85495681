"""Tiny random classifiers with a tokenizer whose words are w5 .. w39, the ids of tests/models/families.py."""

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from tests.models.families import tiny
from uegr.evaluation.perturbation import Subject, checked_labels, surviving
from uegr.models.texts import texts_of


def tokenizer_for(model, special=True):
    """[CLS] text [SEP] or bare words; padded with the model's own padding id, on the side that it wants."""
    pad = model.config.pad_token_id
    names = {index: f"[{index}]" for index in range(5)} | {index: f"w{index}" for index in range(5, 40)}
    words = Tokenizer(WordLevel({name: index for index, name in names.items()}, unk_token="[4]"))
    words.pre_tokenizer = WhitespaceSplit()
    if special:
        ids = [("[1]", 1), ("[2]", 2)] if pad not in (1, 2) else [("[0]", 0), ("[2]", 2)]
        first, last = ids[0][0], ids[1][0]
        words.post_processor = TemplateProcessing(
            single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=ids
        )
    side = "left" if model.config.model_type == "xlnet" else "right"
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token=names[pad],
        unk_token="[4]",
        padding_side=side,
        model_max_length=30,
        model_input_names=["input_ids", "attention_mask"],
    )


def subject(family="bert", num_labels=2, dtype=torch.float32, special=True):
    """A model in eval mode and its tokenizer; its matrices are drawn large enough for answers that differ."""
    model, _ = tiny(family, num_labels, dtype)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1 and weight.std() < 0.05:  # what transformers initialises for training
                weight.copy_(0.4 * torch.randn(weight.shape, generator=generator))
    return model.eval(), tokenizer_for(model, special)


def some_texts(count, seed=0, longest=12):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest + 1, count)
    return [" ".join(f"w{word}" for word in generator.integers(5, 40, length)) for length in lengths]


def some_rows(count, seed=0, num_labels=2, longest=12):
    generator = np.random.default_rng(seed + 1)
    return [
        {"text": text, "label": int(label)}
        for text, label in zip(some_texts(count, seed, longest), generator.integers(0, num_labels, count), strict=True)
    ]


def own_labels(model, tokenizer, rows):
    """The rows with the model's own predictions as labels: it is right on all of them until it is attacked."""
    from uegr.evaluation import probabilities

    answers = probabilities(model, tokenizer, [row["text"] for row in rows]).argmax(1)
    return [{**row, "label": int(answer)} for row, answer in zip(rows, answers, strict=True)]


def right_rows(model, tokenizer, rows, search, epsilons=(0.3,)):
    """Which rows the search leaves right, (epsilons, rows)."""
    given = Subject(model, tokenizer, texts_of(rows), checked_labels(model, rows), 8, None)
    return surviving(given, list(epsilons), search, None)
