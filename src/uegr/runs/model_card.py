"""README.md in a run's folder: what the model is, how it was trained, what was measured, as the model hub reads it.

It says what is in result.json and nothing else, and is written anew whenever `uegr evaluate` or `uegr attack` adds to
that. Names of data sets and labels are the user's: they are escaped in the text and quoted by YAML at its head.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from uegr import data as data_room
from uegr import models
from uegr.files import write_text

FILE = "README.md"
MOST_LABELS = 30
LICENCES = {"Apache-2.0": "apache-2.0", "MIT": "mit", "GPL-3.0": "gpl-3.0"}
HUB_METRICS = {"matthews": "matthews_correlation", "macro_f1": "f1", "pearson": "pearsonr", "spearman": "spearmanr"}
Row = tuple[str, ...]


def write(folder: Path, result: dict[str, Any]) -> None:
    """The card of a run, whole or not at all."""
    write_text(folder / FILE, card(line(folder.resolve().name), result))


def card(name: str, result: dict[str, Any]) -> str:
    """Metadata in YAML, then the text in Markdown."""
    head = yaml.safe_dump(metadata(name, result), sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n" + "\n".join(body(name, result)) + "\n"


def metadata(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """What the hub indexes; what is not known is left out."""
    base, sets = base_card(result), data_cards(result)
    language = next((one.language for one in [*sets.values(), base] if one and one.language != "any"), None)
    found = {
        "language": language,
        "library_name": "transformers",
        "pipeline_tag": "text-classification",
        "license": None if base is None or base.licence is None else LICENCES.get(base.licence, "other"),
        "base_model": base_name(result),
        "datasets": [hub_name(one, sets[one]) for one in sets],
        "metrics": sorted({HUB_METRICS.get(metric, metric) for _, _, metric, _ in figures(result)}),
        "tags": ["uegr", result["config"]["method"]["name"]],
        "model-index": [{"name": name, "results": list(index(result))}],
    }
    return {key: value for key, value in found.items() if value}


def index(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The scores, one entry a data set and split."""
    entries: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for dataset, split, metric, value in figures(result):
        entry = {"type": HUB_METRICS.get(metric, metric), "value": round(value, 4)}
        entries.setdefault((dataset, split), []).append(entry)
    for (dataset, split), metrics in entries.items():
        yield {
            "task": {"type": "text-classification"},
            "dataset": {"name": dataset, "type": hub_name(dataset, data_cards(result).get(dataset)), "split": split},
            "metrics": metrics,
        }


def figures(result: dict[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """(data set, split, metric, value) of the clean scores."""
    sets = set_names(result)
    for place, scores in result["scores"].items():
        dataset, _, split = place.rpartition(" ") if "tasks" in result else (next(iter(sets)), "", place)
        for metric, value in scores.items():
            if metric != "n":
                yield short(dataset), split, metric, value


def set_names(result: dict[str, Any]) -> list[str]:
    """The data sets that it was trained on."""
    return list(result["tasks"]) if "tasks" in result else [result["config"]["dataset"]["name"]]


def short(name: str) -> str:
    """A data set without the folders of the machine it lay on."""
    return line(Path(name).name or name)


def data_cards(result: dict[str, Any]) -> dict[str, Any]:
    """The data sets, each with its card where it has one."""
    return {short(name): data_room.cards().get(name) for name in set_names(result)}


def hub_name(name: str, found: Any) -> str:
    """A data set's name on the hub, else its own."""
    hub = found.where.hub if found is not None else None
    return str(hub.path) if hub is not None else name


def base_of(result: dict[str, Any]) -> str:
    """What training began with; a multi-task model names its encoder."""
    options = result["config"]["model"]
    return str(options["settings"].get("encoder", models.DEFAULT) if "tasks" in result else options["name"])


def base_card(result: dict[str, Any]) -> models.Card | None:
    """The card of the alias that training began with."""
    return models.cards().get(base_of(result))


def base_name(result: dict[str, Any]) -> str | None:
    """The base model's name on the hub; None for a folder, whose name says nothing elsewhere."""
    found, name = base_card(result), base_of(result)
    if found is not None:
        return found.hub or found.origin
    return name if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name) and not Path(name).exists() else None


def body(name: str, result: dict[str, Any]) -> Iterator[str]:
    """The text, line by line."""
    config = result["config"]
    sets = " and ".join(plain(short(one)) for one in set_names(result))
    yield f"# {plain(name)}\n"
    yield (
        f"{plain(short(config['model']['name']))}, fine-tuned on {sets} with the method "
        f"{plain(config['method']['name'])} by uegr.\n"
    )
    yield from section("Scores", ("data", "metric", "value", "rows"), clean_rows(result))
    yield from section("Under perturbation", ("measure", "percent (95% interval)", "rows"), measured_rows(result))
    yield from section("Under attack", ("attack", "accuracy before", "after", "success", "rows"), attack_rows(result))
    yield from section("Training", ("setting", "value"), setting_rows(result))
    yield from section("Data", ("data", "labels"), label_rows(result))
    missing = [what for what in ("evaluation", "attacks") if what not in result]
    if missing:
        commands = {"evaluation": "`uegr evaluate`", "attacks": "`uegr attack`"}
        yield f"Not measured: {' and '.join(commands[what] for what in missing)} would add to this page.\n"
    machine = result["machine"]
    yield (
        f"Trained on {plain(machine['gpu'] or 'a CPU')} in {result['training']['seconds']:.0f} seconds with uegr "
        f"{machine['uegr']}, torch {machine['torch']}, transformers {machine['transformers']}."
    )


def section(title: str, columns: Row, rows: Iterator[Row]) -> Iterator[str]:
    """A heading and a table, or nothing where there are no rows."""
    lines = [" | ".join(plain(cell) for cell in row) for row in rows]
    if lines:
        yield f"## {title}\n"
        yield from (f"| {line} |" for line in (" | ".join(columns), " | ".join("---" for _ in columns), *lines))
        yield ""


def clean_rows(result: dict[str, Any]) -> Iterator[Row]:
    for place, scores in result["scores"].items():
        for metric, value in scores.items():
            if metric != "n":
                yield place, metric, f"{value:.4f}", f"{scores['n']:,}"


def measured_rows(result: dict[str, Any]) -> Iterator[Row]:
    """What `uegr evaluate` found, each task of several by its name."""
    found = result.get("evaluation", {})
    for task, one in found.get("tasks", {"": found} if found else {}).items():
        for what, figure in evaluated(one):
            yield f"{task} {what}".strip(), share(figure), f"{figure['n']:,}"


def evaluated(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for metric, figure in found["clean"].items():
        yield f"{metric}, {found['split']}", figure
    for attack, curve in found.get("perturbation", {}).items():
        for point in curve["points"]:
            if point["epsilon"] > 0:
                yield f"accuracy, {attack} within {point['epsilon']:g}", point | {"value": point["accuracy"]}
    for kind in ("shift", "adversarial"):
        for name, scores in found.get(kind, {}).items():
            yield from ((f"{metric}, {short(name)} ({kind})", scores[metric]) for metric in scores)
    if "calibration" in found:
        yield "calibration error", found["calibration"]["ece"]
    for name, scores in found.get("anomaly", {}).items():
        yield f"AUROC against {short(name)}", scores["auroc"]


def share(figure: dict[str, Any]) -> str:
    """
    >>> share({"value": 0.8, "low": 0.75, "high": 0.84}), share({"value": None})
    ('80.0 (75.0-84.0)', '-')
    """
    if figure["value"] is None:
        return "-"
    low, high = figure.get("low"), figure.get("high")
    around = "" if low is None or high is None else f" ({100 * low:.1f}-{100 * high:.1f})"
    return f"{100 * figure['value']:.1f}{around}"


def attack_rows(result: dict[str, Any]) -> Iterator[Row]:
    for name, found in result.get("attacks", {}).items():
        shares = (found["accuracy_before"], found["accuracy_after"], found["success_rate"])
        yield name, *(share({"value": value}) for value in shares), f"{found['examples']:,}"


def setting_rows(result: dict[str, Any]) -> Iterator[Row]:
    """The method with its options, and what differs between runs of it."""
    config, training = result["config"], result["training"]
    yield from ((f"method.{key}" if key != "name" else "method", str(value)) for key, value in config["method"].items())
    yield from ((f"training.{key}", str(value)) for key, value in config["training"].items() if value is not None)
    if config["model"].get("lora"):
        yield "model.lora", f"rank {config['model']['lora']}, merged"
    yield "seed", str(config["seed"])
    yield "rows, steps", f"{training['rows']:,}, {training['steps']:,}"


def label_rows(result: dict[str, Any]) -> Iterator[Row]:
    tasks = result.get("tasks") or {set_names(result)[0]: {"labels": result["labels"]}}
    for name, task in tasks.items():
        labels = task["labels"] or ["a number (regression)"]
        more = [f"and {len(labels) - MOST_LABELS} more"] if len(labels) > MOST_LABELS else []
        yield short(name), ", ".join([*labels[:MOST_LABELS], *more])


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
