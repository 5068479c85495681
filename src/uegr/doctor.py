"""What this machine has: versions, processors, data, the cache, and what is missing for which feature.

The model hub is asked only on request, once and with a short timeout: being offline is not a problem.
"""

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from uegr.cache import cache_folder

SECONDS = 3.0  # to wait for the hub
BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # processor flags: x86, x86 with matrices, ARM
CPU = Path("/proc/cpuinfo")
UNITS = ("bytes", "kB", "MB", "GB", "TB")
FEATURES = {  # an optional extra of the package, and what it is for
    "peft": "train adapters: `uegr train --lora`",
    "gguf": "the model smollm2",
    "sentencepiece": "tokenizers of DeBERTa-v3",
    "tensorboard": "logs for TensorBoard: training.report_to",
    "onnx": "ONNX files: `uegr export --onnx`",
    "search": "the search of a grid",
    "playground": "a local page to try runs: `uegr playground`",
    "ray": "grids on a cluster: `uegr benchmark --backend ray`",
}


@dataclass(frozen=True)
class Finding:
    """One line; `wrong` if the package cannot work like this."""

    section: str
    name: str
    value: str
    wrong: bool = False


def findings(ask_hub: bool = False) -> Iterator[Finding]:
    """Everything, in the order in which it is shown."""
    for section, look in SECTIONS.items():
        yield from (Finding(section, *found) for found in look())
    yield Finding("data and models", "hub", hub_state() if ask_hub else "not asked; use --hub")
    yield from (Finding("features", *found) for found in features())


def requirements() -> list[Requirement]:
    """What the installed package says that it needs."""
    return [Requirement(line) for line in metadata.requires("uegr") or ()]


def installed(name: str) -> str | None:
    """The version of an installed package.

    >>> installed("uegr") is None, installed("no-such-package") is None
    (False, True)
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def complaint(needed: Requirement) -> str | None:
    """Why a package does not do; None if it does.

    >>> complaint(Requirement("uegr<0")), complaint(Requirement("uegr")), complaint(Requirement("no-such-package"))
    ('expected <0', None, 'missing')
    """
    found = installed(needed.name)
    if found is None:
        return "missing"
    return None if needed.specifier.contains(found, prereleases=True) else f"expected {needed.specifier}"


def versions() -> Iterator[tuple[str, str, bool]]:
    """Python, this package, and what it needs."""
    yield "python", f"{platform.python_version()} on {platform.platform(terse=True)}", False
    yield "uegr", installed("uegr") or "not installed", False
    for needed in requirements():
        if needed.marker is None:
            wrong = complaint(needed)
            value = installed(needed.name) or "missing"
            yield needed.name, value + (f"; {wrong}" if wrong and value != wrong else ""), wrong is not None


def machine() -> Iterator[tuple[str, str]]:
    """Processors and what can be computed with."""
    import torch

    limit = os.environ.get("OMP_NUM_THREADS")
    told = f" (OMP_NUM_THREADS={limit})" if limit else ""
    yield "processors", f"{os.cpu_count()}; threads of torch: {torch.get_num_threads()}{told}"
    yield "bf16 instructions", bf16(CPU)
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    count = torch.accelerator.device_count() if device is not None else 0
    yield "accelerator", f"{count} x {device.type}" if device is not None else "none, models run on the processor"


def bf16(about: Path) -> str:
    """Whether the processor computes in bfloat16 itself; training in bf16 is slow where it does not."""
    found = bf16_flags(about)
    if found is None:
        return "not known on this system"
    return f"yes: {', '.join(found)}" if found else "no; `uegr train --precision bf16` is slow here"


def bf16_flags(about: Path = CPU) -> list[str] | None:
    """The processor's flags for bfloat16; None where the system does not tell its flags."""
    if not about.is_file():
        return None
    names = {"flags", "Features"}
    lines = (line.partition(":") for line in about.read_text(encoding="utf-8", errors="replace").splitlines())
    known = next((rest.split() for name, _, rest in lines if name.strip() in names), [])
    return [flag for flag in BF16 if flag in known]


def data_and_models() -> Iterator[tuple[str, str]]:
    """Data sets whose rows are at hand, and the size of what was kept."""
    from uegr.data.card import cards
    from uegr.data.resolve import card_files, data_root

    root, sets = data_root(), cards().values()
    packed = sum(card.where.package is not None for card in sets)
    local = sum(card.where.package is None and bool(card_files(card)) for card in sets)
    yield "data sets", f"{len(sets)} known: {packed} from packages, {local} in $UEGR_DATA, others from the hub"
    missing = "" if root is None or root.is_dir() else ", which is not a folder"
    yield "$UEGR_DATA", f"{root}{missing}" if root is not None else "not set"
    yield "cache", f"{in_units(size_of(cache_folder()))} in {cache_folder()}"


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder; 0 where there is none."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def in_units(size: float) -> str:
    """
    >>> in_units(0), in_units(2_340_000)
    ('0 bytes', '2.3 MB')
    """
    power = 0
    while size >= 1000 and power < len(UNITS) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.{1 if power else 0}f} {UNITS[power]}"


def hub_state() -> str:
    """Whether the model hub answers now."""
    from huggingface_hub import constants, get_session

    if constants.is_offline_mode():
        return "not asked: HF_HUB_OFFLINE is set"
    try:
        answer = get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception as error:  # whatever the network stack raises: the hub cannot be used now
        return f"does not answer ({type(error).__name__}); local models and data work without it"
    return "answers" if answer.status_code < 500 else f"answers with status {answer.status_code}"


def features() -> Iterator[tuple[str, str]]:
    """Each optional extra: installed, or what is missing and how to get it."""
    for extra, use in FEATURES.items():
        parts = [one for one in requirements() if one.marker is not None and one.marker.evaluate({"extra": extra})]
        missing = [one.name for one in parts if complaint(one)]
        state = f"missing {', '.join(missing)}: pip install 'uegr[{extra}]'" if missing else "installed"
        yield extra, f"{use}; {state}"


SECTIONS: dict[str, Callable[[], Iterator[tuple[str, str, bool]] | Iterator[tuple[str, str]]]] = {
    "versions": versions,
    "machine": machine,
    "data and models": data_and_models,
}
