"""Labels and texts that are probably a mistake, found before a model is trained on them."""

from typing import TYPE_CHECKING

from uegr.data.labels import form
from uegr.errors import InputError, warn

if TYPE_CHECKING:
    from uegr.data.load import Data

MANY = 10  # labels; fewer may be one per row in a small file
FEW = 4  # rows per label on average, below which most labels are hardly learnt
NO_LABEL = {"n/a", "na", "nan", "null", "none", "#n/a", "<na>"}  # what other programs write for a missing value
NUMERIC = {"whole numbers", "fractions"}  # forms of labels
DOMINANT = 0.8  # of the training rows, from which on one label is more than all others should leave it
SHOWN = 3  # rare labels in a warning
RARE = 0.1  # of an even share of the rows, below which a label is hardly learnt


def check_labels(data: "Data") -> None:
    """Raise for labels that cannot be learnt; warn of labels that may be a mistake."""
    if line := unlearnable(data):
        raise InputError(f"{data.name}: {line}")
    for same in alike(data.labels or ()) if data.card is None else ():
        warn(f"{data.name}: the labels {' and '.join(map(repr, same))} differ only by case or space; are they one?")
    for line in doubtful(data):
        warn(f"{data.name}: {line}")


def unlearnable(data: "Data") -> str | None:
    """No label, one label only, or nearly one label per row, of an own file: what is wrong, and what to do."""
    if data.card is None and "label" not in data.splits.get("train", next(iter(data.splits.values()))).column_names:
        return "no label column was found; name it with --label-column, or call it 'label'"
    if data.card is not None or data.labels is None or "train" not in data.splits:
        return None
    rows, names = len(data.splits["train"]), data.labels
    if len(names) == 1:
        return (
            f"expected at least two labels, got {names[0]!r} in all {rows:,} training rows; "
            "name the right column with --label-column"
        )
    if len(names) > max(MANY, rows / 2):
        return (
            f"{len(names):,} different labels in {rows:,} training rows, such as {names[0]!r}, look like "
            f"an identifier; name the right column with --label-column{or_numbers(names)}"
        )
    return None


def or_numbers(names: tuple[str, ...]) -> str:
    """The remedy for labels that are numbers.

    >>> or_numbers(("1", "2.5")), or_numbers(("u0", "u1"))
    (', or use --kind regression for numbers', '')
    """
    return ", or use --kind regression for numbers" if {form(name) for name in names} <= NUMERIC else ""


def doubtful(data: "Data") -> list[str]:
    """What can be learnt from an own file's labels but may be a mistake: few rows per label, a word for no label."""
    found, counts = [], counted(data)
    rows = sum(counts.values())
    if len(counts) > max(MANY, rows / FEW):
        found.append(
            f"{len(counts):,} different labels in {rows:,} training rows, {rows / len(counts):.1f} rows per label, are "
            "hardly learnt; join rare labels, or name another column with --label-column"
        )
    for name, count in counts.items():
        if name.strip().casefold() in NO_LABEL:
            found.append(
                f"the label {name!r} of {count:,} training rows is taken as a class; where it means that there is no "
                "label, leave the field empty and use --drop-missing"
            )
    return found


def counted(data: "Data") -> dict[str, int]:
    """The training rows of each label of an own file; empty where there are no classes."""
    if data.card is not None or data.labels is None or "train" not in data.splits:
        return {}
    counts = [0] * len(data.labels)
    for label in data.splits["train"]["label"]:
        counts[label] += 1
    return dict(zip(data.labels, counts, strict=True))


def warn_of_imbalance(data: "Data") -> None:
    """Warn before training if a label has more than 80% of the rows, or less than a tenth of an even share of them."""
    if line := unbalanced(data):
        warn(f"{data.name}: {line}")


def warn_of_empty_texts(data: "Data") -> None:
    """Warn of training rows that say nothing: a model learns the label of an empty text from them."""
    rows = data.splits["train"]
    sides = [rows[name] for name in ("text", "pair") if name in rows.column_names]
    if empty := sum(not all(text.strip() for text in texts) for texts in zip(*sides, strict=True)):
        warn(f"{data.name}: {empty:,} of {len(rows):,} training texts are empty; `uegr data check` names their rows")


def unbalanced(data: "Data") -> str | None:
    """The imbalance of an own file's training rows, and what to do; None if there is none."""
    counts = counted(data)
    return imbalance(counts) if counts else None


def imbalance(counts: dict[str, int]) -> str | None:
    """What is wrong with the rows of each label, and what to do; None if nothing is.

    >>> imbalance({"happy": 100, "angry": 60}) is None
    True
    >>> print(imbalance({"happy": 300, "angry": 12}).partition(";")[0])
    300 of 312 training rows are 'happy', and only 12 are 'angry'
    """
    rows, (most, count) = sum(counts.values()), max(counts.items(), key=lambda one: one[1])
    rare = [name for name, found in counts.items() if found < RARE * rows / len(counts)]
    if count <= DOMINANT * rows and not rare:
        return None
    few = [f"only {counts[name]:,} are {name!r}" for name in rare[:SHOWN]]
    few += [f"{len(rare) - SHOWN} more labels are as rare"] if len(rare) > SHOWN else []
    return (
        f"{', and '.join([f'{count:,} of {rows:,} training rows are {most!r}', *few])}; always answering {most!r} has "
        f"accuracy {count / rows:.2f} there; read macro F1 and balanced accuracy, choose the epoch with --metric "
        "macro_f1, and train with --balance weights or --balance sampling"
    )


def alike(names: tuple[str, ...]) -> list[list[str]]:
    """Groups of names that differ by case or white space alone.

    >>> alike(("Good", "bad", "good ", "very  bad", "very bad"))
    [['Good', 'good '], ['very  bad', 'very bad']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(name.casefold().split()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
