"""A classifier as one ONNX file: token ids of any batch and any length in, logits out.

torch's exporter follows the model's Python code into a graph. Two families cannot be exported: XLNet, whose
relative positions the exporter cannot translate, and texthan, whose sentences depend on the ids.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uegr.errors import InputError
from uegr.files import replacing

if TYPE_CHECKING:
    from torch import Tensor, nn

IMPOSSIBLE = {"xlnet": "XLNet", "uegr_texthan": "texthan", "uegr_mtdnn": "mtdnn"}
LIMIT = 2**31  # bytes: the largest protobuf file
PACKAGES = ("onnx", "onnxruntime", "onnxscript")


def refuse(model: Any) -> None:
    """Refuse what cannot be exported before the exporter starts."""
    kind = model.config.model_type
    if kind in IMPOSSIBLE:
        others = "BERT's relatives, GPT-2, Llama, Qwen, textcnn and bilstm can be"
        raise InputError(f"{IMPOSSIBLE[kind]} cannot be exported to ONNX; {others}")
    size = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    if size >= LIMIT:
        raise InputError(f"expected a model below 2 GiB for one ONNX file, got {size / 2**30:.1f} GiB")
    missing = [name for name in PACKAGES if not importable(name)]
    if missing:
        raise InputError(f"expected the packages {', '.join(missing)} for ONNX, got none; pip install 'uegr[onnx]'")


def importable(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


@contextmanager
def exported(model: nn.Module, batch: Mapping[str, Tensor], path: Path, temperature: float = 1.0) -> Iterator[Path]:
    """A file beside `path`. It replaces `path` when the body ends, and is deleted when the body raises.

    Its logits are the model's, divided by the temperature.

    `batch` is an example of two rows or more and two tokens or more: a dimension of one would become a constant.
    """
    with replacing(path, suffix=".onnx") as made:
        write(model, batch, str(made), temperature)
        yield made


def write(model: nn.Module, batch: Mapping[str, Tensor], file: str, temperature: float = 1.0) -> None:
    """The graph with its weights, in one file."""
    import torch

    axes = tuple({0: "batch", 1: "length"} for _ in batch)
    with torch.no_grad(), silence():
        try:
            torch.onnx.export(
                _logits(model, tuple(batch), temperature),
                tuple(batch.values()),
                file,
                input_names=list(batch),
                output_names=["logits"],
                dynamo=True,
                dynamic_shapes={"values": axes},
                external_data=False,
                verbose=False,
            )
        except Exception as error:  # any exception in a step of the exporter means the same for the user
            if isinstance(error, OSError) and error.errno is not None:  # but a full disk is not the model's fault
                raise
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{type(model).__name__} cannot be exported to ONNX: {reason}") from error


def _logits(model: nn.Module, names: tuple[str, ...], temperature: float) -> nn.Module:
    """The model as a function of tensors in order."""
    from torch import nn

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *values: Tensor) -> Tensor:
            logits: Tensor = self.model(**dict(zip(names, values, strict=True)))["logits"]
            return logits if temperature == 1 else logits / temperature

    return Logits().eval()


@contextmanager
def silence() -> Iterator[None]:
    """The exporter reports its steps and hints; only a failure matters here."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
