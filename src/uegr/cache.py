"""What is computed once and kept, named by content; everything in the cache can be deleted and comes back."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uegr import files


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/uegr`, or `~/.cache/uegr`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uegr"


def data_folder() -> Path:
    """Where rows, token ids and small facts about them are kept."""
    folder = cache_folder() / "data"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key_of(*parts: Any) -> str:
    """A short name for content: equal for equal JSON, and for nothing else.

    >>> key_of("a", {"b": 1, "c": 2}) == key_of("a", {"c": 2, "b": 1}) != key_of("a")
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to. It becomes `path` at the end, and is deleted if anything raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as partial:
        yield partial


def remembered(key: str, compute: Callable[[], Any]) -> Any:
    """A small JSON value by content key, computed once."""
    path = data_folder() / "facts" / f"{key}.json"
    if not path.exists():
        value = compute()
        with replacing(path) as partial:
            partial.write_text(json.dumps(value), encoding="utf-8")
    return json.loads(path.read_text("utf-8"))
