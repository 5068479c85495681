"""A configuration to start from: what must be chosen, and every other key with its default behind a comment sign."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import yaml

from uegr.training.config import RECOMMENDED
from uegr.training.keys import Key, keys, method_options

TITLE = (
    "# A run of uegr. Train it with: uegr train --config FILE",
    "# A line that starts with # shows a default. Remove the # to change it. The flags of uegr train override it.",
)


def template(
    *,
    method: str | None = None,
    model: str = "minilm",
    dataset: str = "snippets",
    reading: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The text of a YAML file that trains as it is; without a method, with the recommended one and its settings.

    `reading` is how the data set is read: further keys of its section.

    >>> print(template(dataset="reviews.csv").partition("dataset:")[2].splitlines()[1])
      name: reviews.csv  # a data set (`uegr list datasets`), a file or a folder; several for mtdnn, separated by commas
    """
    chosen = {"model.name": model, "dataset.name": dataset} | {
        f"dataset.{key}": value for key, value in reading.items()
    }
    named = {"name": method} if method else RECOMMENDED
    lines = [*TITLE, "", "method:", f"  name: {written(named['name'])}  # `uegr list methods`"]
    for name, default in method_options(named["name"]).items():
        lines.append(f"  {'' if name in named else '# '}{name}: {written(named.get(name, default))}")
    for section in dict.fromkeys(key.section for key in keys()):
        lines += ["", f"{section}:"]
        lines += section_lines([key for key in keys() if key.section == section], chosen)
    return "\n".join([*lines, "", "seed: 0  # determines every random number", ""])


def section_lines(some: list[Key], chosen: dict[str, Any]) -> Iterator[str]:
    """A line per key; those that are not chosen are comments."""
    for key in some:
        mark = "" if key.path in chosen else "# "
        yield f"  {mark}{key.name}: {written(chosen.get(key.path, key.default))}  # {key.meaning}"


def written(value: Any) -> str:
    """A value as YAML has it, in one line.

    >>> written(None), written((0.3, 0.5)), written("tab\\tand: colon")
    ('null', '[0.3, 0.5]', '"tab\\\\tand: colon"')
    """
    plain = list(value) if isinstance(value, tuple) else value
    return (
        yaml.safe_dump(plain, default_flow_style=True, allow_unicode=True, width=10_000).removesuffix("...\n").strip()
    )
