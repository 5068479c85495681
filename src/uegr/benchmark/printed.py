"""The paper's figures as a list, from the tables in which they are easiest to compare with the paper.

    printed:
      - columns: {dataset: [imdb, ag_news], metric: accuracy}
        rows:
          - {model: bilstm, method: vanilla, values: [88.93, 91.47]}

becomes one entry a figure: dataset, metric, model, method, value. Further keys are settings by their paths, as in
`method.submodels: 3`. Numbers are percent where the paper prints percent.
"""

from collections.abc import Iterator
from typing import Any

from uegr.errors import InputError, did_you_mean

NAMES = ("method", "model", "dataset", "metric")
FIGURE = ("value", "sd")


def expanded(printed: Any, where: str) -> list[dict[str, Any]]:
    """One entry per figure.

    >>> table = {"columns": {"dataset": ["a", "b"], "metric": "f1"}, "rows": [{"model": "x", "method": "m", "values": [1, None]}]}
    >>> expanded([table], "x.yaml")
    [{'dataset': 'a', 'metric': 'f1', 'model': 'x', 'method': 'm', 'value': 1.0}]
    """  # noqa: E501
    if not isinstance(printed, list):
        raise InputError(f"{where}: expected printed as a list, got {printed!r:.60}")
    return [checked(entry, where) for item in printed for entry in entries(item, where)]


def entries(item: Any, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(item, dict):
        raise InputError(f"{where}: expected mappings in printed, got {item!r:.60}")
    if "rows" not in item:
        yield item
        return
    if unknown := sorted(set(item) - {"columns", "rows"}):
        raise InputError(f"{where}: unknown key printed.{unknown[0]}; {did_you_mean(unknown[0], ('columns', 'rows'))}")
    for row in item["rows"]:
        yield from figures_of_row(item.get("columns", {}), dict(row), where)


def figures_of_row(columns: dict[str, Any], row: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The figures of one line of a table; a dash in the paper is null here and left out."""
    values, spreads = row.pop("values", None), row.pop("sds", None)
    lists = {"values": values, **{key: one for key, one in columns.items() if isinstance(one, list)}}
    lists |= {} if spreads is None else {"sds": spreads}
    sizes = {key: len(one) if isinstance(one, list) else 0 for key, one in lists.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{key} {size}" for key, size in sizes.items())
        raise InputError(f"{where}: expected as many values as columns in the row of {row}, got {counts}")
    for place, value in enumerate(values or ()):
        if value is not None:
            heads = {key: one[place] if isinstance(one, list) else one for key, one in columns.items()}
            yield heads | row | {"value": value} | ({} if spreads is None else {"sd": spreads[place]})


def checked(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """The figure with its numbers as numbers; other keys are settings that vary."""
    known = (*NAMES, *FIGURE, "note")
    for key in entry:
        if key not in known and "." not in key:
            raise InputError(f"{where}: unknown key printed.{key}; {did_you_mean(key, known)}")
    numbers = {key: entry[key] for key in FIGURE if key in entry}
    strange = any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers.values())
    if strange or not all(key in entry for key in (*NAMES, "value")):
        raise InputError(
            f"{where}: expected a printed figure with {', '.join(NAMES)} and a number as value, got {entry}"
        )
    return entry | {key: float(one) for key, one in numbers.items()}
