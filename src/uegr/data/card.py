"""The description of a data set: a YAML file of at most 25 lines in `cards/` beside this module."""

from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from uegr import safe_yaml
from uegr.errors import InputError, did_you_mean
from uegr.packages import PackageSource

Kind = Literal[
    "shift",  # the same labels, other texts
    "adversarial",  # texts changed to fool a model
    "anomaly",  # texts of no label that the model knows
    "contrast",  # texts changed a little so that the label changes
    "attack",  # clean texts for an attack to change
]


Text = Literal["first", "second"]  # of a pair


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hub(Strict):
    """A data set of the Hugging Face hub; `splits` where the hub has other names for them than the card."""

    path: str
    config: str | None = None
    splits: dict[str, str] = {}


class Member(Strict):
    """One tab-separated file without a header, inside an archive in a registry package."""

    package: PackageSource
    archive_sha256: str  # of the archive that the package carries
    file: str
    columns: tuple[str, ...]
    encoding: str = "utf-8"


class Where(Strict):
    """The sources. `files`: paths below `$UEGR_DATA` without `.jsonl.gz`, by split, where they are not name/split."""

    files: dict[str, str] = {}
    hub: Hub | None = None
    package: Member | None = None


class Columns(Strict):
    """The names of the source's columns."""

    text: str = "text"
    pair: str | None = None
    label: str = "label"


class Paper(Strict):
    """The split that the papers use where it is not the published one: pooled, ordered by a hash of the text, cut."""

    pool: tuple[str, ...]
    sizes: dict[str, int]


class Evaluation(Strict):
    """How this set tests a model of another task.

    `labels` maps a label name of the task to a label name here; names that are equal need no entry.
    """

    task: str
    kind: Kind
    labels: dict[str, str] = {}
    note: str = ""


class Card(Strict):
    """A data set. `splits` are the official sizes, after `drop`; `partial` says which splits are incomplete here."""

    name: str
    title: str
    licence: str
    language: str
    where: Where = Where()
    columns: Columns = Columns()
    changeable: Text | None = None  # the text of a pair that may change without changing the label
    labels: tuple[str, ...] | Literal["regression"]
    threshold: float | None = None  # the label is the sign of a number at least this far from 0
    drop: tuple[int, ...] = ()  # labels whose rows are left out
    keep: dict[str, tuple[str, ...]] = {}  # column and values: other rows are left out
    splits: Annotated[dict[str, int], Field(min_length=1)]
    hash_split: dict[str, int] = {}  # cut from the only file by a hash of the text; the rest is train
    partial: dict[str, str] = {}
    metrics: tuple[str, ...]
    paper: Paper | None = None
    evaluates: tuple[Evaluation, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def agree(self) -> "Card":
        unknown = set(self.partial) - set(self.splits)
        if unknown:
            raise ValueError(f"expected splits of the card in partial, got {sorted(unknown)}")
        if self.columns.pair and self.changeable is None:
            raise ValueError("expected changeable: first or second beside columns.pair, got none")
        if self.changeable and not self.columns.pair:
            raise ValueError(f"expected no changeable for single texts, got {self.changeable}")
        return self

    @property
    def kind(self) -> Literal["classification", "regression"]:
        return "regression" if self.labels == "regression" else "classification"

    @property
    def label_names(self) -> tuple[str, ...] | None:
        return None if self.labels == "regression" else self.labels


def cards() -> dict[str, Card]:
    """Every card by name.

    >>> cards()["snippets"].labels
    ('negative', 'positive')
    """
    return {name: card(name) for name in names()}


@cache
def names() -> tuple[str, ...]:
    """The names of all cards, without reading them."""
    folder = files("uegr.data") / "cards"
    return tuple(sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml")))


def read(file: str, text: str) -> Card:
    """One card; a mistake in it is one line.

    >>> read("x.yaml", "name: x")
    Traceback (most recent call last):
    uegr.errors.InputError: card x.yaml: title: Field required
    """
    try:
        card = Card.model_validate(safe_yaml.load(text, f"card {file}"))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"card {file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if card.name != file.removesuffix(".yaml"):
        raise InputError(f"card {file} has the name {card.name}; use the same word for both")
    return card


@cache
def card(name: str) -> Card:
    """The card of that name, or what was meant."""
    if name not in names():
        raise InputError(f"there is no data set {name!r}; {did_you_mean(name, names())}")
    return read(f"{name}.yaml", (files("uegr.data") / "cards" / f"{name}.yaml").read_text("utf-8"))


def changeable(card: Card | None) -> Text:
    """The text of a pair that attacks, and trainings against them, may change; without a card the second.

    >>> changeable(card("snli")), changeable(card("qnli")), changeable(None)
    ('second', 'first', 'second')
    """
    return (card and card.changeable) or "second"


def evaluation_sets(task: str) -> list[tuple[Card, Evaluation]]:
    """The cards that test a model of `task`, and how.

    >>> [(card.name, evaluation.kind) for card, evaluation in evaluation_sets("rte")]
    [('advglue_rte', 'adversarial'), ('hans_regenerated', 'shift'), ('scitail', 'shift')]
    """
    return [(card, use) for card in cards().values() for use in card.evaluates if use.task == task]
