"""Weights from an ONNX file: its named initializers, and the matrices that exporters leave without a name.

An exporter turns a linear layer y = x W' + b into MatMul and Add. W', transposed, loses its name; the bias keeps it. So
the MatMul whose output is added to `X.bias` holds `X.weight` transposed.

Of the format only initializers and nodes are needed, four message types of a stable wire format: these sixty lines
instead of a dependency on onnx and protobuf. The files read with it are pinned by their hash.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from uegr.errors import InputError

Field = Any  # an integer, or a memoryview of a string, a message or a number of fixed size
FLOAT = 1  # TensorProto.DataType


@dataclass(frozen=True)
class Node:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def weights(path: Path) -> dict[str, Tensor]:
    """Every float32 weight of the model by its torch name."""
    graph = message(message(memoryview(path.read_bytes()))[7][0])
    tensors = dict(tensor(message(field), path.parent) for field in graph[5])
    floats = {name: value for name, value in tensors.items() if value is not None}
    named = {name: value for name, value in floats.items() if not name.startswith("onnx::")}
    return {**named, **matrices([node(message(field)) for field in graph[1]], floats)}


def matrices(nodes: list[Node], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weight of every linear layer, found by its bias."""
    multiplied = {
        step.outputs[0]: tensors[step.inputs[1]]
        for step in nodes
        if step.kind == "MatMul" and len(step.inputs) == 2 and step.inputs[1] in tensors
    }
    found = {}
    for step in nodes:
        if step.kind == "Add":
            biases = [name for name in step.inputs if name in tensors and name.endswith(".bias")]
            products = [multiplied[name] for name in step.inputs if name in multiplied]
            if biases and products:
                found[biases[0].removesuffix("bias") + "weight"] = products[0].T.contiguous()
    return found


def node(fields: dict[int, list[Field]]) -> Node:
    """NodeProto: input 1, output 2, op_type 4."""
    return Node(text(fields[4][0]), tuple(map(text, fields[1])), tuple(map(text, fields[2])))


def tensor(fields: dict[int, list[Field]], folder: Path) -> tuple[str, Tensor | None]:
    """TensorProto: dims 1, data_type 2, float_data 4, name 8, raw_data 9, external_data 13; None unless float32."""
    name = text(fields[8][0])
    if fields[2] != [FLOAT]:
        return name, None
    data = fields[9][0] if fields[9] else outside(fields[13], folder) if fields[13] else b"".join(map(bytes, fields[4]))
    return name, torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(dimensions(fields[1]))


def dimensions(fields: list[Field]) -> list[int]:
    """dims, one by one or packed."""
    return [number for field in fields for number in ([field] if isinstance(field, int) else packed(field))]


def outside(entries: list[Field], folder: Path) -> bytes:
    """Data kept in a file beside the model, between an offset and a length."""
    pairs = (message(entry) for entry in entries)
    place = {text(pair[1][0]): text(pair[2][0]) for pair in pairs}
    with (folder / Path(place["location"]).name).open("rb") as file:
        file.seek(int(place.get("offset", 0)))
        return file.read(int(place.get("length", -1)))


def text(field: Field) -> str:
    return bytes(field).decode()


def message(data: memoryview) -> dict[int, list[Field]]:
    """The fields of one protobuf message by number."""
    fields: dict[int, list[Field]] = defaultdict(list)
    for number, value in pieces(data):
        fields[number].append(value)
    return fields


def pieces(data: memoryview) -> Iterator[tuple[int, Field]]:
    """(field number, value) in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 2:
            size, at = varint(data, at)
        if size is None or at + size > len(data):
            raise InputError("expected an ONNX model, got a damaged file; remove it and fetch it again")
        yield key >> 3, data[at : at + size]
        at += size


def packed(data: memoryview) -> list[int]:
    """Integers one after another."""
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer with seven bits per byte, lowest first, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
