"""The paper's figures as a list, from the tables in which they are easiest to compare with the paper.

    printed:
      - columns: {dataset: [imdb, ag_news], metric: accuracy}
        rows:
          - {model: bilstm, method: vanilla, values: [88.93, 91.47]}

becomes one entry a figure: dataset, metric, model, method, value. Further keys are settings by their paths, as in
`method.submodels: 3`. Numbers are percent where the paper prints percent.

`average: 90.2` of a row is one more entry, over its values. `differences` between two rows are entries too:

        differences:
          - {of: {method.submodels: 3}, to: {method.submodels: 2}, values: [0.07, 0.02]}

Both have `of`: the figures that they are made of, each with its weight.
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
    known = ("columns", "rows", "differences")
    if unknown := sorted(set(item) - set(known)):
        raise InputError(f"{where}: unknown key printed.{unknown[0]}; {did_you_mean(unknown[0], known)}")
    columns = item.get("columns", {})
    for row in item["rows"]:
        figures = list(figures_of_row(columns, dict(row), where))
        yield from figures
        if "average" in row:
            yield averaged(figures, columns, row["average"])
    for row in item.get("differences", ()):
        yield from differences(columns, item["rows"], row, where)


def averaged(figures: list[dict[str, Any]], columns: dict[str, Any], value: Any) -> dict[str, Any]:
    """The average over a row, by the name AVG in place of what differs."""
    listed = [key for key, one in columns.items() if isinstance(one, list)]
    common = {key: one for key, one in figures[0].items() if key not in (*listed, *FIGURE)}
    names = {key: "average" if key == "metric" else "AVG" for key in listed}
    return common | names | {"value": value, "of": [one | {"weight": 1 / len(figures)} for one in figures]}


def differences(
    columns: dict[str, Any], rows: list[dict[str, Any]], row: dict[str, Any], where: str
) -> Iterator[dict[str, Any]]:
    """What one row has more than another, figure by figure."""
    found = [[one for one in rows if one.items() >= row[side].items()] for side in ("of", "to")]
    if any(len(some) != 1 for some in found):
        raise InputError(f"{where}: expected one row for each of `of` and `to` of a difference, got {row}")
    above, below = (figures_of_row(columns, dict(some[0]), where) for some in found)
    said = " minus ".join(", ".join(f"{key} {one}" for key, one in row[side].items()) for side in ("of", "to"))
    for more, less, value in zip(above, below, row["values"], strict=True):
        pair = [more | {"weight": 1.0}, less | {"weight": -1.0}]
        yield {key: more[key] for key in NAMES} | {"value": value, "note": said, "of": pair}


def figures_of_row(columns: dict[str, Any], row: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The figures of one line of a table; a dash in the paper is null here and left out."""
    values, spreads, _ = (row.pop(key, None) for key in ("values", "sds", "average"))
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
    known = (*NAMES, *FIGURE, "note", "of")
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
