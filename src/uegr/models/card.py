"""An alias is a card: cards/NAME.yaml says what the model is, its licence, and where its weights come from."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from uegr import safe_yaml
from uegr.errors import InputError, did_you_mean, nearest
from uegr.packages import PackageSource

FOLDER = Path(__file__).parent / "cards"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
DEFAULT = "minilm"  # the encoder that needs no hub


class Source(BaseModel):
    """Weights inside registry packages, and how they become a folder with config.json and model.safetensors.

    `folder` is such a folder, and `archive` contains one; `bin` is one whose weights are a torch file, read without
    unpickling code; `onnx` and `gguf` are single files. Several packages are parts of one archive, in order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    packages: tuple[PackageSource, ...]
    form: Literal["folder", "archive", "bin", "onnx", "gguf"] = "folder"
    member: str | None = None  # the path in the archive that the packages make, if they are one; "." is its top folder
    config: dict[str, Any] | None = None  # config.json, where the package has none
    tokenizer: str | None = None  # the alias that has the same vocabulary, where the package has none


class Card(BaseModel):
    """What an alias stands for: exactly one of `sources` (tried in order), `hub` and `architecture`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    language: str = "en"
    licence: str | None = None  # of the weights; None where there are none yet
    parameters: float | None = None  # millions, without the head; None where they depend on the vocabulary
    max_length: int | None = None  # tokens; where the configuration does not say it
    epochs: float | None = None  # of its paper, where it is not the usual number
    sources: tuple[Source, ...] = ()
    hub: str | None = None
    origin: str | None = None  # the name of the packages' weights on the hub, for the model cards of runs
    architecture: Literal["bilstm", "textcnn", "texthan", "mtdnn"] | None = None  # made here, nothing to fetch

    @model_validator(mode="after")
    def one_origin(self) -> "Card":
        origins = [bool(self.sources), self.hub is not None, self.architecture is not None]
        if sum(origins) != 1:
            raise ValueError("expected exactly one of sources, hub and architecture")
        return self

    @property
    def scratch(self) -> bool:
        """Nothing in it is pretrained; the encoder of mtdnn is."""
        return self.architecture not in (None, "mtdnn")


@cache
def cards() -> dict[str, Card]:
    """Every card by its alias.

    >>> cards()["minilm"].licence
    'Apache-2.0'
    """
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.yaml"))}


def read(path: Path) -> Card:
    """One card; its alias is the name of its file."""
    try:
        return Card(name=path.stem, **safe_yaml.load(path.read_text(encoding="utf-8"), path.name))
    except (ValidationError, TypeError) as error:
        raise InputError(f"{path.name} is not a model card: {error}") from error


def card(name: str) -> Card:
    """The card of an alias.

    >>> card("minlm")
    Traceback (most recent call last):
    ...
    uegr.errors.InputError: no model card minlm; did you mean minilm?
    """
    if name not in cards():
        raise InputError(f"no model card {name}; {did_you_mean(name, cards())}")
    return cards()[name]


def check_name(name: str) -> None:
    """Raise for what is neither an alias, nor a folder, nor a name that the hub could have (owner/name).

    >>> check_name("minlm")
    Traceback (most recent call last):
    ...
    uegr.errors.InputError: expected an alias, a folder or owner/name, got minlm; did you mean minilm...
    """
    if name not in cards() and not Path(name).expanduser().is_dir() and not HUB_NAME.fullmatch(name):
        remedy = nearest(name, cards(), "uegr list models")
        raise InputError(f"expected an alias, a folder or owner/name, got {name}; {remedy}")


def from_scratch(name: str) -> bool:
    """Whether nothing of a model is pretrained; folders and hub names count as pretrained.

    >>> from_scratch("textcnn"), from_scratch("owner/name")
    (True, False)
    """
    return name in cards() and cards()[name].scratch


def base_of(name: str, settings: Mapping[str, Any]) -> str:
    """The pretrained model that training starts from: the model itself, or the encoder of one that is built on one.

    >>> base_of("mtdnn", {}), base_of("minilm", {})
    ('minilm', 'minilm')
    """
    found = cards().get(name)
    return str(settings.get("encoder", DEFAULT)) if found is not None and found.architecture == "mtdnn" else name
