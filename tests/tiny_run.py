"""A model folder and a data file small enough to train within a second, for tests of whole runs."""

import csv
import random
from pathlib import Path

import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification

from uegr.data.vocabulary import vocabulary

GOOD, BAD = ("fine", "great", "lovely", "bright"), ("poor", "awful", "dull", "grim")
NEUTRAL = ("the", "film", "was", "and", "with", "a", "plot", "scene")


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """(text, label): one telling word among neutral ones; texts differ."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        label = number % 2
        words = [*draw.choices(NEUTRAL, k=draw.randint(2, 7)), draw.choice((BAD, GOOD)[label]), f"w{number}"]
        draw.shuffle(words)
        rows.append((" ".join(words), ("bad", "good")[label]))
    return rows


def write_csv(path: Path, rows: list[tuple[str, str]], header: tuple[str, ...] = ("text", "label")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def data_folder(path: Path, train: int = 160, other: int = 24) -> Path:
    """train.csv, validation.csv and test.csv."""
    path.mkdir(parents=True)
    for seed, (name, count) in enumerate({"train": train, "validation": other, "test": other}.items()):
        write_csv(path / f"{name}.csv", [(f"{text} s{seed}", label) for text, label in sentences(count, seed)])
    return path


def model_folder(path: Path, dropout: float = 0.1) -> Path:
    """A BERT of one layer over the words of `sentences`."""
    tokenizer = vocabulary(Dataset.from_dict({"text": [text for text, _ in sentences(200)]}), max_length=32)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        pad_token_id=0,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    BertForSequenceClassification(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
