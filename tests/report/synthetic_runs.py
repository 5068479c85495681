"""Made-up results for tests and for looking at the page. Every figure here is invented: none was measured.

Everything is made by the types of uegr.result, so that it cannot drift from what runs write.
"""

import json
import math
import random
from pathlib import Path
from typing import Any

from uegr.report.groups import Group, grouped
from uegr.report.reading import Run
from uegr.result import (
    Attack,
    Bin,
    Calibration,
    Config,
    Curve,
    Drift,
    Evaluation,
    Landscape,
    Machine,
    Point,
    Result,
    Task,
    Training,
)
from uegr.statistics import Figure

METHODS = {"vanilla": (0.0, 0.0, 1.0), "fgm": (0.2, 4.0, 2.0), "rdrop": (0.6, 1.0, 2.1), "rat": (0.8, 6.0, 3.0)}
METHODS |= {"freelb": (0.5, 5.0, 3.1), "uegr": (1.2, 8.5, 3.2)}  # points own, points under perturbation, cost
DATASETS = {"snippets": 0.86, "imdb": 0.91, "agnews": 0.93}
LABELS = ("negative", "positive")
SIZES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
ROWS = 1000
UNKNOWN = float("nan")
TEXTS = (
    "a good film with a fine plot",
    "the scenes were dull and the end was poor",
    "bright, lovely and over too soon",
)
MACHINE = Machine(python="3.11.7", platform="made up", processor="none", cores=8, threads=8, gpu=None)
VERSIONS = {"uegr": "0.1.0", "torch": "2.13.0", "transformers": "5.22.2"}


def share(value: float, n: int = ROWS) -> Figure:
    value = min(0.995, max(0.01, value))
    half = 1.96 * math.sqrt(value * (1 - value) / n)
    return Figure(value, max(0.0, value - half), min(1.0, value + half), n)


def around(value: float, half: float, n: int = 200) -> Figure:
    return Figure(value, value - half, value + half, n)


def curve(start: float, gain: float, strength: float, draw: random.Random) -> Curve:
    points = []
    for size in SIZES:
        kept = start * math.exp(-strength * size) + gain * min(1.0, 4 * size) * math.exp(-1.5 * size)
        points.append(Point(epsilon=size, accuracy=share(kept + draw.gauss(0, 0.004) if size else start)))
    return Curve(points=points, mean_drop=share(start - points[4].accuracy.value))


def reliability(sure: float) -> list[Bin]:
    bins = []
    for place in range(7, 15):
        confidence, rows = (place + 0.6) / 15, 20 + 12 * (place - 7) ** 2
        right = share(confidence - sure * (confidence - 0.45), rows)
        bins.append(Bin(start=place / 15, end=(place + 1) / 15, confidence=confidence, accuracy=right))
    return bins


def evaluation(dataset: str, method: str, seed: int, bonus: float = 0.0) -> Evaluation:
    """Every measurement that there is."""
    draw = random.Random(f"{dataset} {method} {seed}")
    luck = random.Random(f"{dataset} {seed}").gauss(0, 0.004)  # a seed is easy or hard for every method
    own, hard, _ = (value / 100 for value in METHODS.get(method, (0.0, 0.0, 1.0)))
    accuracy = DATASETS.get(dataset, 0.8) + own + luck + bonus + draw.gauss(0, 0.002)
    ece = 0.06 - own + draw.gauss(0, 0.004)
    shift = {
        f"{dataset}_{name}": {
            "accuracy": share(accuracy - gap + hard / 3 + draw.gauss(0, 0.006), 800),
            "ece": share(ece + 0.03, 800),
        }
        for name, gap in (("tweets", 0.12), ("products", 0.06))
    }
    bins = reliability(0.25 - 2 * hard)
    adversarial = {"accuracy": share(0.4 + hard + draw.gauss(0, 0.01), 400), "ece": share(0.2, 400)}
    outliers = {"auroc": share(0.85 + own + draw.gauss(0, 0.004)), "aupr": share(0.8), "fpr95": share(0.5)}
    layers = [share(1 - 0.05 * layer + 4 * own * layer / 6 - draw.random() * 0.01) for layer in range(7)]
    return Evaluation(
        data=dataset,
        split="test",
        clean={"accuracy": share(accuracy)},
        calibration=Calibration(ece=share(ece), brier=share(0.2 - own), reliability=bins, bins=15),
        shift=shift,
        adversarial={f"adversarial_{dataset}": adversarial},
        anomaly={"20newsgroups": outliers},
        perturbation={"fgm": curve(accuracy, hard, 3.2, draw), "pgd": curve(accuracy, hard, 4.2, draw)},
        landscape=Landscape(input_gradient_norm=around(2.4 - 12 * hard, 0.4), sharpness=around(0.31 - hard, 0.06)),
        drift=Drift(cka=layers, weight_distance=Figure(0.04 - own, UNKNOWN, UNKNOWN, 100)),
        perspectives={
            "in_distribution": accuracy,
            "shift": accuracy - 0.09 + hard / 3,
            "adversarial": 0.4 + hard,
            "calibration": ece,
            "anomaly": 0.85 + own,
        },
    )


def attack(dataset: str, method: str, seed: int, bonus: float = 0.0) -> Attack:
    after = 0.35 + METHODS.get(method, (0, 0, 1))[1] / 60 - 2 * bonus + random.Random(seed).random() * 0.02
    return Attack(
        attack="pwws",
        data=dataset,
        examples=200,
        accuracy_before=share(0.9, 200),
        accuracy_after=share(after, 200),
        success_rate=share(1 - after / 0.9, 180),
        words_changed=2.4,
        words_changed_share=0.14,
        queries=121.5,
        skipped={},
        scored=20000,
        calls=300,
        seconds=31.0,
        seconds_predicting=29.0,
    )


def config(dataset: str, method: str, seed: int, model: str = "minilm", **options: Any) -> Config:
    own = {key: value for key, value in options.items() if key not in ("train_size", "epochs")}
    return Config.model_validate(
        {
            "method": {"name": method, **own},
            "model": {"name": model, "dtype": None},
            "dataset": {"name": dataset, "train_size": options.get("train_size")},
            "training": {"epochs": options.get("epochs", 3.0), "batch_size": 16, "report_to": "none"},
            "seed": seed,
        }
    )


def task(dataset: str, method: str, seed: int, bonus: float = 0.0, rows: int = 6000) -> Task:
    measured = evaluation(dataset, method, seed, bonus)
    return Task(
        dataset=dataset,
        head="single",
        labels=LABELS,
        metrics=("accuracy",),
        rows=rows,
        scores=dict.fromkeys(("validation", "test"), measured.clean),
        evaluation=measured,
        attacks={f"pwws on {dataset}": attack(dataset, method, seed, bonus)},
    )


def training(method: str, seed: int, rows: int, **more: Any) -> Training:
    factor = METHODS.get(method, (0, 0, 1.5))[2]
    seconds = round(rows / 50 * factor * (1 + seed / 50), 1)
    known = {"rows": rows, "steps": 1125, "epochs": 3.0, "seconds": seconds, "processor_seconds": 2 * seconds}
    return Training.model_validate({**known, "passes": (factor, factor), "max_length": 128, **more})


def result(dataset: str, method: str, seed: int, bonus: float = 0.0, **options: Any) -> Result:
    """A whole result; several data sets, separated by commas, are a run with several tasks."""
    rows = options.get("train_size") or 6000
    names = dataset.split(",")
    return Result(
        config=config(dataset, method, seed, **options),
        tasks={name: task(name, method, seed, bonus, rows) for name in names},
        training=training(method, seed, rows * len(names)),
        machine=MACHINE,
        versions=VERSIONS,
        command=f"uegr train --method {method} --dataset {dataset} --seed {seed}",
    )


def groups_of(*results: Result) -> list[Group]:
    """The settings among some results."""
    return grouped([Run(str(place), one) for place, one in enumerate(results)])


def with_evaluation(run: Result, **changes: Any) -> Result:
    """A copy in which some measurements of the only task are replaced."""
    (name,) = run.tasks
    measured = run.tasks[name].evaluation
    assert measured is not None
    return run.with_task(name, evaluation=measured.model_copy(update=changes))


def outcome(index: int, text: str, found: str | None, status: str = "success") -> dict[str, Any]:
    return {
        "kind": "outcome",
        "index": index,
        "status": status,
        "reason": "",
        "text": text,
        "label": 1,
        "predicted": 1,
        "probability": 0.93,
        "found": found,
        "found_predicted": 0,
        "found_probability": 0.31,
        "words": 7,
        "changes": [],
        "queries": 41 + index,
    }


def journal(method: str, texts: tuple[str, ...] = TEXTS) -> str:
    """An attack's journal: vanilla loses every row, the others every second one."""
    lines: list[dict[str, Any]] = [{"kind": "settings", "attack": "pwws"}]
    for index, text in enumerate(texts):
        withstood = method != "vanilla" and (index + len(method)) % 2 == 0
        words = text.split(" ")
        words[1] = "decent"
        words[-1] = "narrative"
        lines.append(
            outcome(index, text, None if withstood else " ".join(words), "failure" if withstood else "success")
        )
    return "".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "outc'  # a crash cut the last line off


def write_run(folder: Path, run: Result, attacked: bool = False, texts: tuple[str, ...] = TEXTS) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("method:\n  name: x\nmodel: {}\ndataset: {}\n")
    (folder / "result.json").write_text(run.to_json())
    for one in run.tasks.values() if attacked else ():
        for made in one.attacks.values():
            path = folder / "attacks" / f"{made.attack}-{made.data.replace('/', '_')}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(journal(run.config.method.name, texts))
    return folder


def write_set(top: Path, seeds: int = 3) -> Path:
    """Six methods on three data sets, a grid with printed figures, sweeps, and runs that are not finished."""
    for dataset in DATASETS:
        for method in METHODS:
            for seed in range(seeds):
                name = f"{dataset}-minilm-{method}-{seed}"
                write_run(top / "main" / name, result(dataset, method, seed), attacked=seed == 0)
    write_sweeps(top, seeds)
    unfinished = top / "main" / "snippets-minilm-sam-0"
    unfinished.mkdir()
    (unfinished / "config.yaml").write_text(
        "method:\n  name: sam\nmodel:\n  name: minilm\ndataset:\n  name: snippets\n"
    )
    (top / "main" / "broken").mkdir()
    (top / "main" / "broken" / "result.json").write_text('{"config": {"method"')
    return top


def write_sweeps(top: Path, seeds: int) -> None:
    """K, training size, rate and epsilon; K as a grid whose paper printed figures."""
    for seed in range(seeds):
        for count in (2, 3, 4, 5):
            run = result(
                "snippets", "uegr", seed, 0.004 * (count - 2) - 0.002 * (count - 3) ** 2, model="bert", submodels=count
            )
            write_run(top / "table5" / "cells" / f"k{count}-{seed}", run)
        write_run(top / "table5" / "cells" / f"vanilla-{seed}", result("snippets", "vanilla", seed, model="bert"))
        for method in ("vanilla", "uegr"):
            for size in (100, 500, 2000, 8000):
                run = result("agnews", method, seed, -0.8 / math.sqrt(size), model="textcnn", train_size=size)
                write_run(top / "sizes" / f"{method}-{size}-{seed}", run)
    for rate in (0.1, 0.2, 0.3, 0.4):
        for epsilon in (0.05, 0.1, 0.5, 1.0):
            bonus = -0.2 * (rate - 0.2) ** 2 - 0.02 * abs(math.log10(epsilon / 0.1))
            write_run(
                top / "map" / f"{rate}-{epsilon}",
                result("imdb", "rat", 0, bonus, model="bert", rates=rate, epsilon=epsilon),
            )
    common = {"method": "uegr", "model": "bert", "dataset": "snippets", "metric": "accuracy"}
    printed = [
        common | {"value": 86.9, "submodels": 2},
        common | {"value": 89.4, "submodels": 3},
        common | {"model": "bert-large", "value": 88.0, "submodels": 4},
        common | {"method": "sam", "value": 85.0},
        common | {"method": "vanilla", "metric": "pwws", "value": 36.0},
    ]
    grid = {
        "title": "Table V: the number of sub-models",
        "source": "a paper that does not exist, table 5",
        "printed": printed,
    }
    (top / "table5" / "grid.yaml").write_text(json.dumps(grid))
