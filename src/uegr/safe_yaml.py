"""YAML from anyone: plain values only, and neither its aliases nor its nesting can exhaust the memory.

A few lines of YAML can stand for billions of values ("a billion laughs"), and a hundred thousand brackets end the
process. Every reader of YAML in this package comes here.
"""

from pathlib import Path
from typing import Any

import yaml

from uegr.errors import InputError

DEPTH = 100  # mappings and lists inside each other
REPEATED = 100_000  # values that aliases may add to those in the text
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same, ten times as fast


def load(text: str, where: str) -> Any:
    """The values in a text; one line names `where` it came from if it cannot be read.

    >>> load("a: [1, true, b]", "x.yaml")
    {'a': [1, True, 'b']}
    >>> load("a: [1", "x.yaml")
    Traceback (most recent call last):
    uegr.errors.InputError: x.yaml is not valid YAML: line 2, column 1: while parsing a flow sequence...
    """
    try:
        check_depth(text)
        loader = LOADER(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            check_size(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, OverflowError) as error:  # !!int x, 2020-13-45
        raise InputError(f"{where} is not valid YAML: {complaint(error)}") from None


def complaint(error: Exception) -> str:
    """Where and what is wrong, on one line."""
    mark = error.problem_mark or error.context_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return " ".join(str(error).replace(' in "<unicode string>",', " at").split())
    said = ", ".join(filter(None, (error.context, error.problem)))
    return f"line {mark.line + 1}, column {mark.column + 1}: {' '.join(said.split())}"


def read_mapping(path: Path, keys: str) -> dict[str, Any]:
    """A mapping from a YAML file; `keys` names those that are expected."""
    try:
        content = load(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise InputError(f"no file {path}; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else "it is not text in UTF-8"
        raise InputError(f"cannot read {path}: {reason}") from None
    if not isinstance(content, dict):
        raise InputError(f"expected a mapping with keys such as {keys} in {path}, got {content!r:.60}")
    return content


def check_depth(text: str) -> None:
    """Raise before the parser recurses too deep; without as many signs as levels it cannot."""
    depth = 0
    if sum(map(text.count, "[{-?:")) <= DEPTH:
        return
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH:
            raise yaml.YAMLError(f"expected at most {DEPTH} levels of nesting; simplify the file")


def check_size(node: yaml.Node) -> None:
    """Raise if aliases stand for too many values, or for what contains them."""
    sizes: dict[int, int] = {}
    whole = size(node, sizes)
    if whole > len(sizes) + REPEATED:
        raise yaml.YAMLError(f"its aliases stand for more than {REPEATED:,} values; write them out or leave them out")


def size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many values a node stands for, each alias counted as what it repeats."""
    if (known := sizes.get(id(node))) == 0:
        raise yaml.YAMLError("an alias contains itself; leave it out")
    if known is None:
        sizes[id(node)] = 0  # being counted
        sizes[id(node)] = 1 + sum(size(child, sizes) for child in children(node))
    return sizes[id(node)]


def children(node: yaml.Node) -> list[yaml.Node]:
    """The nodes directly below one."""
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
