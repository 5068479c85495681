"""Labels that are probably a mistake, found before a model is trained on them."""

from typing import TYPE_CHECKING

from uegr.errors import InputError, warn

if TYPE_CHECKING:
    from uegr.data.load import Data

MANY = 10  # labels; fewer may be one per row in a small file


def check_labels(data: "Data") -> None:
    """Raise for one label only, and for nearly one label per row; warn of labels that differ by case or space."""
    if data.card is not None or data.labels is None:
        return
    rows, names = len(data.splits["train"]), data.labels
    if len(names) == 1:
        raise InputError(
            f"{data.name}: expected at least two labels, got {names[0]!r} in all {rows:,} training rows; "
            "name the right column with --label-column"
        )
    if len(names) > max(MANY, rows / 2):
        raise InputError(
            f"{data.name}: {len(names):,} different labels in {rows:,} training rows, such as {names[0]!r}, look like "
            "an identifier; name the right column with --label-column, or use --kind regression for numbers"
        )
    for same in alike(names):
        warn(f"{data.name}: the labels {' and '.join(map(repr, same))} differ only by case or space; are they one?")


def alike(names: tuple[str, ...]) -> list[list[str]]:
    """Groups of names that differ by case or white space alone.

    >>> alike(("Good", "bad", "good ", "very  bad", "very bad"))
    [['Good', 'good '], ['very  bad', 'very bad']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(name.casefold().split()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
