"""Three data sets and an encoder small enough to train a model of several tasks within a second."""

import gzip
import json
import random
from pathlib import Path

from tests.tiny_run import data_folder, model_folder, sentences
from uegr.training.config import RunConfig

COLUMNS = {"likeness": ("text", "pair", "label"), "stsb": ("sentence1", "sentence2", "label")}
TELLING = ("fine", "great", "poor", "awful")


def pairs(count, seed):
    """(text, pair, label, number): whether the same telling word is in both, and how often it is."""
    draw = random.Random(seed)
    rows = []
    for number, (text, _) in enumerate(sentences(count, seed)):
        word, same = draw.choice(TELLING), number % 2
        other = word if same else draw.choice([one for one in TELLING if one != word])
        rows.append((f"{text} {word}", f"the {other} film", ("different", "same")[same], 1.0 + 3 * same))
    return rows


def write_home(folder: Path) -> Path:
    """Texts with two labels, pairs with two labels, pairs with a number, and a tiny encoder."""
    model_folder(folder / "model")
    data_folder(folder / "opinions", train=60, other=16)
    for kind, column in (("likeness", 2), ("stsb", 3)):  # a card knows that its labels are numbers
        (folder / kind).mkdir()
        for seed, (split, count) in enumerate({"train": 42, "validation": 12, "test": 12}.items()):
            lines = [
                json.dumps(dict(zip(COLUMNS[kind], (r[0], r[1], r[column]), strict=True))) for r in pairs(count, seed)
            ]
            with gzip.open(folder / kind / f"{split}.jsonl.gz", "wt") as file:
                file.write("\n".join(lines))
    return folder


def configuration(home, method="vanilla", sets=("opinions", "likeness", "stsb"), model=None, **training):
    options = {"name": "mtdnn", "settings": {"encoder": str(home / "model"), "steps": 2}} | (model or {})
    return RunConfig(
        method={"name": method} if method in ("vanilla", "sam") else {"name": method, "epsilon": 0.01},
        model=options,
        dataset={"name": ",".join(name if name == "stsb" else str(home / name) for name in sets)},
        training={"batch_size": 8, "epochs": 2, "learning_rate": 0.01, "checkpoint_steps": 9, **training},
        seed=1,
    )
