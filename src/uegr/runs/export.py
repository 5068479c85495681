"""A finished run as an ONNX file, which must say of a hundred texts what the torch model says."""

import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from uegr.errors import InputError
from uegr.files import refuse_special
from uegr.models.texts import Text, batches, evaluating, scores, texts_of
from uegr.runs import folder, manifest
from uegr.runs.finished import FinishedTask, held_out_rows, open_run

TEXTS, TOLERANCE, BATCH = 100, 1e-4, 16
FILE = "model.onnx"
WHO = ("The film", "This book", "My new phone", "The service", "A long walk", "他", "The small hotel by the river",
       "Nobody I know", "The second half of the game", "It")  # fmt: skip
WHAT = ("was a pleasure.", "fails at everything it tries!", "costs 20 dollars, which is fair", "很好。", "",
        "is neither good nor bad, and I would not do it again for any money in the world", "broke after two days",
        "made us laugh", "has no plot, no heart, no end", "?")  # fmt: skip


@dataclass(frozen=True)
class Exported:
    """Where the file is, on how many texts it was checked, and the largest difference of a probability there."""

    path: Path
    texts: int
    difference: float


def export_onnx(
    place: Path, output: Path | None = None, *, calibrate: bool = False, trust_remote_code: bool = False
) -> Exported:
    """Write the run's model as one ONNX file; nothing is left behind if the two disagree by more than 1e-4.

    `calibrate` divides its logits by the run's temperature. A file in the run's folder is listed in its manifest.
    """
    from uegr.models import export

    path = output or place / FILE
    check_place(place, path)
    run = next(iter(open_run(place, trust_remote_code=trust_remote_code).tasks.values()))
    export.refuse(run.model)
    texts, heat = check_texts(run), run.heat() if calibrate else 1.0
    with evaluating(run.model), export.exported(run.model, example(run, texts), path, heat) as made:
        difference = largest_difference(run, made, texts, heat)
        if not difference <= TOLERANCE:
            raise InputError(
                f"the ONNX model differs from the torch model by {difference:.1e} in a probability, expected at most "
                f"{TOLERANCE:.0e}; nothing was written"
            )
        if inside(place, path):
            with folder.lock(place):
                manifest.forget(place, path.name)  # a kill before the next lines leaves a file that is not listed
    if inside(place, path):
        with folder.lock(place):
            manifest.record(place, path.name)
    return Exported(path, len(texts), difference)


def inside(place: Path, path: Path) -> bool:
    """Whether a file is directly in the folder of the run."""
    return path.parent.resolve() == place.resolve()


def check_place(place: Path, path: Path) -> None:
    """Refuse what is not a place for a new file, and the files of the run itself."""
    if not path.parent.is_dir():
        raise InputError(f"expected a folder that exists for {path.name}, got {path.parent}")
    refuse_special(path)
    if inside(place, path) and path.suffix != manifest.EXPORT:
        raise InputError(f"expected a name that ends with .onnx in the folder of the run, got {path.name}")


def check_texts(run: FinishedTask) -> list[Text]:
    """The run's held-out texts, made up to a hundred by built-in sentences; only these where its data is not here."""
    try:
        own = texts_of(held_out_rows(run.held_out()).select(range(TEXTS)))
    except (InputError, IndexError):
        own = sentences(pairs=False)
    return [*own, *sentences(pairs=not isinstance(own[0], str))][:TEXTS]


def sentences(pairs: bool) -> list[Text]:
    """A hundred sentences, short and long, or as many pairs of them.

    >>> len(set(sentences(pairs=False))), sentences(pairs=True)[0]
    (100, ('The film was a pleasure.', 'The film fails at everything it tries!'))
    """
    made = [f"{who} {what}".strip() for who, what in product(WHO, WHAT)]
    return list(zip(made, [*made[1:], made[0]], strict=True)) if pairs else list(made)


def example(run: FinishedTask, texts: list[Text]) -> dict[str, Any]:
    """A batch for the exporter: some rows, some tokens, some padding."""
    return next(batch for _, batch in inputs(run, sorted(texts, key=lambda text: len(str(text)))[-8::2]))


def inputs(run: FinishedTask, texts: list[Text]) -> Any:
    return batches(run.model, run.tokenizer, texts, batch_size=BATCH, max_length=run.max_length)


def runtime() -> Any:
    """onnxruntime, told to keep to itself: since 1.29 it would report the model's name and hashes to its maker."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime


def largest_difference(run: FinishedTask, file: Path, texts: list[Text], temperature: float = 1.0) -> float:
    """Between the probabilities of onnxruntime and torch, over batches of many lengths and a batch of one."""
    session = runtime().InferenceSession(str(file), providers=["CPUExecutionProvider"])
    wanted = [node.name for node in session.get_inputs()]  # an input that the graph does not use is not in it
    differences = []
    with torch.inference_mode():
        for _, batch in (*inputs(run, texts), *inputs(run, texts[:1])):
            (found,) = session.run(["logits"], {name: batch[name].cpu().numpy() for name in wanted})
            ours = scores(run.model, run.model(**batch).logits, temperature=temperature)
            theirs = scores(run.model, torch.from_numpy(found).to(ours.device))
            differences.append(float((ours - theirs).abs().max()))
    return float(np.max(differences))  # not a number stays one
