"""README.md in a run's folder: what the model is, how it was trained, what was measured, as the model hub reads it.

It says what is in result.json and nothing else, and is written again whenever `uegr evaluate` or `uegr attack` adds to
that. Names of data sets and labels are the user's: they are escaped in the text and quoted by YAML at its head.
"""

import html
import math
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from uegr import data as data_room
from uegr import models
from uegr.result import Evaluation, Result
from uegr.statistics import Figure
from uegr.statistics.classes import Classes, spelt

FILE = "README.md"
MOST_LABELS = 30
LICENCES = {"Apache-2.0": "apache-2.0", "MIT": "mit", "GPL-3.0": "gpl-3.0"}
HUB_METRICS = {"matthews": "matthews_correlation", "macro_f1": "f1", "pearson": "pearsonr", "spearman": "spearmanr"}
VERSIONS = ("uegr", "torch", "transformers")
MEASURED = ("data", "measure", "percent (95% interval)", "rows")
Row = tuple[str, ...]
OWN = (
    "This architecture is uegr's own: `pip install uegr`, and `import uegr.models.architectures` before "
    "`AutoModelForSequenceClassification.from_pretrained`."
)


def card(name: str, result: Result) -> str:
    """Metadata in YAML, then the text in Markdown; `name` is the folder's."""
    name = line(name)
    head = yaml.safe_dump(metadata(name, result), sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n" + "\n".join(body(name, result)) + "\n"


def metadata(name: str, result: Result) -> dict[str, Any]:
    """What the hub indexes; what is not known is left out."""
    base, sets = base_card(result), data_cards(result)
    known = [*sets.values(), base] if all(sets.values()) else sets.values()  # of an own file nobody said its language
    language = next((one.language for one in known if one and one.language != "any"), None)
    metrics = {metric for task in result.tasks.values() for scores in task.scores.values() for metric in scores}
    found = {
        "language": language,
        "library_name": "uegr" if is_own(result) else "transformers",
        "pipeline_tag": "text-classification",
        "license": None if base is None or base.licence is None else LICENCES.get(base.licence, "other"),
        "base_model": base_name(result),
        "datasets": [name for name in map(hub_name, sets.values()) if name],
        "metrics": sorted({HUB_METRICS.get(metric, metric) for metric in metrics}),
        "tags": ["uegr", result.config.method.name],
        "model-index": [{"name": name, "results": list(index(result))}],
    }
    return {key: value for key, value in found.items() if value}


def index(result: Result) -> Iterator[dict[str, Any]]:
    """The scores, one entry per data set and split."""
    cards = data_cards(result)
    for task in result.tasks.values():
        dataset = short(task.dataset)
        for split, scores in task.scores.items():
            metrics = [
                {"type": HUB_METRICS.get(name, name), "name": name, "value": round(one.value, 4)}
                for name, one in scores.items()
            ]
            if metrics:
                yield {
                    "task": {"type": "text-classification"},
                    "dataset": {"name": dataset, "type": hub_name(cards.get(dataset)) or "custom", "split": split},
                    "metrics": metrics,
                }


def short(name: str) -> str:
    """A data set without the folders of the machine it was on."""
    return line(Path(name).name or name)


def data_cards(result: Result) -> dict[str, Any]:
    """The data sets, each with its card where it has one."""
    return {short(task.dataset): data_room.cards().get(task.dataset) for task in result.tasks.values()}


def hub_name(found: Any) -> str | None:
    """A data set's name on the hub; None for what is not there, such as an own file."""
    hub = found.where.hub if found is not None else None
    return str(hub.path) if hub is not None else None


def base_of(result: Result) -> str:
    """The pretrained model that training started from."""
    model = result.config.model
    return models.card.base_of(model.name, (model.model_extra or {}).get("settings") or {})


def is_own(result: Result) -> bool:
    """Whether only uegr can load it: a model of its own, not an encoder of transformers."""
    card = models.cards().get(result.config.model.name)
    return card is not None and card.architecture is not None


def base_card(result: Result) -> models.Card | None:
    """The card of the alias that training started from."""
    return models.cards().get(base_of(result))


def base_name(result: Result) -> str | None:
    """The base model's name on the hub; None for a folder, whose name means nothing elsewhere."""
    found, name = base_card(result), base_of(result)
    if found is not None:
        return found.hub or found.origin
    return name if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name) and not Path(name).exists() else None


def body(name: str, result: Result) -> Iterator[str]:
    """The text, line by line."""
    config, tasks = result.config, result.tasks.values()
    sets = " and ".join(plain(short(task.dataset)) for task in tasks)
    yield f"# {plain(name)}\n"
    model, method = plain(short(config.model.name)), plain(config.method.name)
    yield f"{model}, fine-tuned on {sets} with the method {method} by uegr.\n"
    if is_own(result):
        yield f"{OWN}\n"
    yield from section("Scores", ("data", "split", "metric", "value (95% interval)", "rows"), clean_rows(result))
    yield from section("Classes", ("data", "class", "precision", "recall", "F1", "rows"), class_rows(result))
    yield from section("Confusion", ("data", "label", "predicted as, rows"), confusion_rows(result))
    yield from section(
        "Under perturbation", ("data", "measure", "percent (95% interval)", "rows"), measured_rows(result)
    )
    yield from section("Under attack", ("attack", "accuracy before", "after", "success", "rows"), attack_rows(result))
    yield from section("Training", ("setting", "value"), setting_rows(result))
    yield from section("Data", ("data", "labels"), label_rows(result))
    missing = [] if any(task.evaluation for task in tasks) else ["`uegr evaluate`"]
    missing += [] if any(task.attacks for task in tasks) else ["`uegr attack`"]
    if missing:
        yield f"Not measured: {' and '.join(missing)} would add to this page.\n"
    versions = ", ".join(f"{name} {result.versions[name]}" for name in VERSIONS if name in result.versions)
    trained = f"Trained on {plain(result.machine.gpu or 'a CPU')} in {result.training.seconds:.0f} seconds"
    yield f"{trained} with {plain(versions)}."


def section(title: str, columns: Row, rows: Iterator[Row]) -> Iterator[str]:
    """A heading and a table, or nothing where there are no rows."""
    lines = [" | ".join(plain(cell) for cell in row) for row in rows]
    if lines:
        yield f"## {title}\n"
        yield from (f"| {line} |" for line in (" | ".join(columns), " | ".join("---" for _ in columns), *lines))
        yield ""


def clean_rows(result: Result) -> Iterator[Row]:
    for task in result.tasks.values():
        for split, scores in task.scores.items():
            for metric, figure in scores.items():
                yield short(task.dataset), split, metric, interval(figure, scale=1, digits=4), f"{figure.n:,}"


def judged(result: Result) -> Iterator[tuple[str, Classes]]:
    """The classes of each classifier, on its test split or else on another."""
    for task in result.tasks.values():
        for split in sorted(task.classes, key=lambda name: name != "test")[:1]:
            yield f"{short(task.dataset)}, {split}", task.classes[split]


def class_rows(result: Result) -> Iterator[Row]:
    """Every class; then what always answering the most frequent label gives."""
    for data, found in judged(result):
        for name, one in list(found.table.items())[:MOST_LABELS]:
            shares = (f"{100 * share:.1f}" for share in (one.precision, one.recall, one.f1))
            yield data, spelt(name), *shares, f"{one.n:,}"
        yield data, f"always {spelt(found.majority)}", f"accuracy {100 * found.majority_accuracy:.1f}", "-", "-", "-"


def confusion_rows(result: Result) -> Iterator[Row]:
    """What the rows of each label were taken for."""
    for data, found in judged(result):
        for name, counts in list(found.confusion.items())[:MOST_LABELS]:
            yield data, spelt(name), ", ".join(f"{spelt(other)} {count:,}" for other, count in counts.items())


def measured_rows(result: Result) -> Iterator[Row]:
    """What `uegr evaluate` found, task by task."""
    for task in result.tasks.values():
        for what, figure in evaluated(task.evaluation) if task.evaluation else ():
            yield short(task.dataset), what, interval(figure), f"{figure.n:,}"


def evaluated(found: Evaluation) -> Iterator[tuple[str, Figure]]:
    for metric, figure in found.clean.items():
        yield f"{metric}, {found.split}", figure
    for attack, curve in found.perturbation.items():
        for point in curve.points:
            if point.epsilon > 0:
                yield f"accuracy, {attack} within {point.size:g}", point.accuracy
    for kind, sets in (("shift", found.shift), ("adversarial", found.adversarial)):
        for name, scores in sets.items():
            yield from ((f"{metric}, {short(name)} ({kind})", scores[metric]) for metric in scores)
    if found.calibration is not None:
        yield "calibration error", found.calibration.ece
        if found.calibration.ece_calibrated is not None:
            yield "calibration error after a temperature", found.calibration.ece_calibrated
    for name, scores in found.anomaly.items():
        yield f"AUROC against {short(name)}", scores["auroc"]


def interval(figure: Figure | None, scale: float = 100, digits: int = 1) -> str:
    """
    >>> interval(Figure(0.8, 0.75, 0.84, 100)), interval(None)
    ('80.0 (75.0-84.0)', '-')
    """
    if figure is None or not math.isfinite(figure.value):
        return "-"
    value, low, high = (f"{scale * end:.{digits}f}" for end in (figure.value, figure.low, figure.high))
    return f"{value} ({low}-{high})" if math.isfinite(figure.low) and math.isfinite(figure.high) else value


def attack_rows(result: Result) -> Iterator[Row]:
    for task in result.tasks.values():
        for name, found in task.attacks.items():
            shares = (found.accuracy_before, found.accuracy_after, found.success_rate)
            yield name, *(interval(share) for share in shares), f"{found.examples:,}"


def setting_rows(result: Result) -> Iterator[Row]:
    """The method with its options, and what differs between runs of it."""
    config, training = result.config, result.training
    yield "method", config.method.name
    yield from ((f"method.{key}", str(value)) for key, value in (config.method.model_extra or {}).items())
    yield from ((f"training.{key}", str(value)) for key, value in config.training.items() if value is not None)
    rank = (config.model.model_extra or {}).get("lora")
    if rank:
        yield "model.lora", f"rank {rank}, merged"
    yield "seed", str(config.seed)
    yield "rows, steps", f"{training.rows:,}, {training.steps:,}"


def label_rows(result: Result) -> Iterator[Row]:
    for task in result.tasks.values():
        labels = task.labels or ("a number (regression)",)
        more = [f"and {len(labels) - MOST_LABELS} more"] if len(labels) > MOST_LABELS else []
        yield short(task.dataset), ", ".join([*labels[:MOST_LABELS], *more])


def plain(text: Any) -> str:
    """Text that Markdown and HTML show as it is, on one line.

    >>> plain("a|b <script>") == "a" + chr(92) + "|b &lt;script&gt;"
    True
    """
    return html.escape(re.sub(r"([\\`*_{}\[\]#|~@$:!])", r"\\\1", line(str(text))), quote=False)


def line(text: str) -> str:
    """Text without line breaks and what else is not seen."""
    seen = (" " if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter for letter in text)
    return " ".join("".join(seen).split())
