"""Pretrained word vectors: by name from a registry package, or from a file.

Three formats are read, recognised by their content:
- text: one `word number number ...` per line, with or without a first line of two counts (GloVe, fastText, word2vec);
- word2vec's binary format: a line of two counts, then words, each with its numbers as little-endian float32;
- safetensors: one matrix, and in the metadata `words`, a JSON list with the word of every row.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from uegr import safe_yaml
from uegr.cache import cache_folder, kept
from uegr.errors import InputError, did_you_mean
from uegr.files import share
from uegr.packages import PackageSource, fetch

Vector = tuple[str, np.ndarray]
WORD_LIMIT = 1000  # bytes; a longer "word" means that the file is something else


def named() -> dict[str, PackageSource]:
    """The vectors that have a name.

    >>> sorted(named())
    ['glove', 'word2vec-zh']
    """
    text = (Path(__file__).parent / "vectors.yaml").read_text(encoding="utf-8")
    return {name: PackageSource(**source) for name, source in safe_yaml.load(text, "vectors.yaml").items()}


def locate(name: str) -> Path:
    """Named vectors, written once as safetensors, which is read ten times faster; or the file of that name."""
    if name in named():
        path = cache_folder() / "vectors" / f"{name}.safetensors"
        return kept(path, lambda made: save(read(fetch(named()[name])), made))
    if not Path(name).is_file():
        raise InputError(f"no vectors {name}: neither a name ({did_you_mean(name, named())}) nor a file")
    return Path(name)


def save(pairs: Iterator[Vector], path: Path) -> None:
    """The vectors as a safetensors file."""
    from safetensors.numpy import save_file

    words, table = zip(*pairs, strict=True)
    save_file({"vectors": np.stack(table)}, path, {"words": json.dumps(words)})
    share([path])


def lookup(name: str, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of `words`, all different, (words, dimensions) in float32, and which were found.

    A word that has no vector takes that of the first word that differs from it only in case.
    """
    rows = {word: row for row, word in enumerate(words)}
    pairs = read(locate(name))
    try:
        first = next(pairs)
    except StopIteration:
        raise InputError(f"no vectors in {name}: the file is empty") from None
    table = np.zeros((len(words), len(first[1])), np.float32)
    exact, alike = np.zeros(len(words), bool), np.zeros(len(words), bool)
    for word, vector in chain([first], pairs):
        row, lower = rows.get(word), rows.get(word.lower())
        if row is not None and not exact[row]:
            table[row], exact[row] = vector, True
        elif lower is not None and not (exact[lower] or alike[lower]):
            table[lower], alike[lower] = vector, True
    return table, exact | alike


def read(path: Path) -> Iterator[Vector]:
    """(word, vector) in the order of the file."""
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    with path.open("rb") as file:
        head = file.readline(10_000_000).split()
        if len(head) != 2 or not all(part.isdigit() for part in head):
            return read_text(path, header=False)
        is_text = all(map(is_number, file.readline(100_000).split()[-int(head[1]) :]))
    return read_text(path, header=True) if is_text else read_binary(path)


def is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read_text(path: Path, header: bool) -> Iterator[Vector]:
    """Lines; a word may hold spaces (GloVe 840B has ". . ."), so the numbers are counted from the right."""
    width = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for place, line in enumerate(lines, 1):
            if header and place == 1:
                width = int(line.split()[1])
                continue
            fields = line.rstrip().split(" ")
            width = width or len(fields) - 1
            yield " ".join(fields[:-width]), numbers(path, place, fields[-width:], width)


def numbers(path: Path, place: int, fields: list[str], width: int) -> np.ndarray:
    """One line's vector."""
    try:
        vector = np.array(fields, np.float32)
    except ValueError:
        vector = np.empty(0, np.float32)
    if len(vector) != width or not width:
        raise InputError(f"{path}, line {place}: expected a word and {width or 'some'} numbers, got {fields[:3]}")
    return vector


def read_binary(path: Path) -> Iterator[Vector]:
    """word2vec's binary format."""
    with path.open("rb") as file:
        count, width = map(int, file.readline().split())
        for place in range(count):
            word = read_word(file).lstrip(b"\n").decode("utf-8", "replace")
            data = file.read(4 * width)
            if len(data) != 4 * width:
                raise InputError(f"{path} ends after {place} of its {count} words; copy it again")
            yield word, np.frombuffer(data, "<f4")


def read_word(file: BinaryIO) -> bytes:
    """The bytes before the next space."""
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        word += byte
        if not byte or len(word) > WORD_LIMIT:
            raise InputError(f"{file.name} is in none of the formats text, word2vec-binary and safetensors")
    return bytes(word)


def read_safetensors(path: Path) -> Iterator[Vector]:
    """One matrix with its words in the metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names, words = list(file.keys()), json.loads((file.metadata() or {}).get("words", "null"))
            table = file.get_tensor(names[0]) if len(names) == 1 else np.empty(0)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from error
    if table.ndim != 2 or not isinstance(words, list) or len(words) != len(table):
        raise InputError(f"{path}: expected one matrix and metadata `words`, a JSON list with one word per row")
    return zip(words, table.astype(np.float32), strict=True)
