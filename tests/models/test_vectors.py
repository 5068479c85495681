"""The three forms of word vectors, and what is refused."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from uegr.errors import InputError
from uegr.models.vectors import lookup

TABLE = {"the": [0.5, -1.25, 3.0], "Film": [1.0, 2.0, -4.0], ". . .": [7.0, 8.0, 9.0], "猫": [0.25, 0.0, -0.5]}


def write(path, form):
    lines = [" ".join([word, *map(str, vector)]) for word, vector in TABLE.items()]
    if form == "text":
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif form == "text with counts":
        path.write_text("\n".join(["4 3", *lines]), encoding="utf-8")
    elif form.startswith("binary"):
        end = b"\n" if form == "binary with line ends" else b""
        path.write_bytes(
            b"4 3\n"
            + b"".join(
                word.replace(" ", "").encode() + b" " + struct.pack("<3f", *row) + end for word, row in TABLE.items()
            )
        )
    else:
        save_file({"any": np.array(list(TABLE.values()), np.float32)}, path, {"words": json.dumps(list(TABLE))})


@pytest.mark.parametrize("form", ["text", "text with counts", "binary", "binary with line ends", "safetensors"])
def test_forms(tmp_path, form):
    path = tmp_path / ("vectors.safetensors" if form == "safetensors" else "vectors")
    write(path, form)
    dots = "..." if form.startswith("binary") else ". . ."  # a space ends a word there
    table, found = lookup(str(path), ["the", "film", "absent", "猫", dots])
    assert found.tolist() == [True, True, False, True, True]
    assert table.tolist() == [[0.5, -1.25, 3.0], [1.0, 2.0, -4.0], [0, 0, 0], [0.25, 0.0, -0.5], [7.0, 8.0, 9.0]]


def test_exact_spelling_wins(tmp_path):
    (tmp_path / "vectors").write_text("US 1 1\nus 2 2\nUs 3 3\nIT 4 4\nIt 5 5\n")
    table, _ = lookup(str(tmp_path / "vectors"), ["us", "it", "It"])
    assert table.tolist() == [[2, 2], [4, 4], [5, 5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"the 1 2 3\nfilm 1 2\n", "line 2: expected a word and 3 numbers"),
        (b"the 1 2 3\nfilm 1 x 2\n", "line 2: expected a word and 3 numbers"),
        (b"justoneword\n", "line 1: expected a word and some numbers"),
        (b"2 3\nthe " + struct.pack("<3f", 1, 2, 3) + b"film " + struct.pack("<2f", 1, 2), "ends after 1 of its 2"),
        (b"2 3\n" + b"\xff" * 5000, "none of the formats"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(InputError, match=message):
        lookup(str(tmp_path / "vectors"), ["the"])


def test_safetensors_without_words(tmp_path):
    save_file({"any": np.zeros((2, 3), np.float32)}, tmp_path / "vectors.safetensors")
    with pytest.raises(InputError, match="metadata `words`"):
        lookup(str(tmp_path / "vectors.safetensors"), ["the"])


def test_damaged_safetensors(tmp_path):
    (tmp_path / "vectors.safetensors").write_bytes(b"x" * 40)
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        lookup(str(tmp_path / "vectors.safetensors"), ["the"])


def test_unknown_name():
    with pytest.raises(InputError, match="did you mean glove"):
        lookup("glov", ["the"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word", "near", "far", "size"),
    [("glove", "good", "great", "telescope", 300), ("word2vec-zh", "高兴", "开心", "望远镜", 100)],
)
def test_named_vectors_have_meaning(name, word, near, far, size):
    table, found = lookup(name, [word, near, far])
    assert found.all()
    assert table.shape[1] == size
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2] + 0.3


def test_named_vectors_are_parsed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    write(tmp_path / "package", "text with counts")
    monkeypatch.setattr("uegr.models.vectors.fetch", lambda source: tmp_path / "package")
    first, found = lookup("glove", ["the", "film"])
    (tmp_path / "package").unlink()
    again, _ = lookup("glove", ["the", "film"])
    assert found.all()
    assert first.tolist() == again.tolist() == [[0.5, -1.25, 3.0], [1.0, 2.0, -4.0]]
