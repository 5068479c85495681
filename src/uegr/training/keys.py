"""Every key of a run's configuration: what it may be, its default, and its meaning, as config.py has them.

The meaning of a key is the comment behind it in config.py: it is written once, where the key is.
"""

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from uegr.training.config import AugmentConfig, DatasetConfig, ModelConfig, Strict, TrainingConfig
from uegr.training.factories import factory

SECTIONS: dict[str, type[Strict]] = {
    "model": ModelConfig,
    "dataset": DatasetConfig,
    "training": TrainingConfig,
    "augment": AugmentConfig,
}
COMMENTED = re.compile(r"^    (\w+): .*?  # (.+)$", re.MULTILINE)
BOUNDS = {"Ge": ("ge", ">="), "Gt": ("gt", ">"), "Le": ("le", "<="), "Lt": ("lt", "<")}


@dataclass(frozen=True)
class Key:
    """One key of a section."""

    section: str
    name: str
    kind: str
    default: Any
    required: bool
    meaning: str

    @property
    def path(self) -> str:
        """As `--set` takes it."""
        return f"{self.section}.{self.name}"


@cache
def keys() -> list[Key]:
    """The keys of every section except the method's, in the order of config.py.

    >>> [key.default for key in keys() if key.path == "training.batch_size"]
    [16]
    """
    return [key_of(section, name, field) for section, model in SECTIONS.items() for name, field in fields(model)]


def fields(model: type[Strict]) -> list[tuple[str, FieldInfo]]:
    return list(model.model_fields.items())


def key_of(section: str, name: str, field: FieldInfo) -> Key:
    meaning = comments(section).get(name, "")
    for python, yaml in {"None": "null", "False": "false", "True": "true"}.items():
        meaning = meaning.replace(python, yaml)
    return Key(section, name, kind_of(field), field.get_default(), field.is_required(), meaning)


@cache
def comments(section: str) -> dict[str, str]:
    """The comments behind the keys of a section."""
    return dict(COMMENTED.findall(inspect.getsource(SECTIONS[section])))


def kind_of(field: FieldInfo) -> str:
    """What a value may be, with its bounds.

    >>> kind_of(TrainingConfig.model_fields["warmup"]), kind_of(TrainingConfig.model_fields["precision"])
    ('float, >= 0, <= 1', 'fp32 or bf16')
    """
    signs = [(BOUNDS[type(bound).__name__], bound) for bound in field.metadata if type(bound).__name__ in BOUNDS]
    return ", ".join([spoken(field.annotation), *(f"{sign} {getattr(bound, name)}" for (name, sign), bound in signs)])


def spoken(annotation: Any) -> str:
    """A type in words; that it may be null is said by its default.

    >>> spoken(tuple[str, ...] | None), spoken(Literal["a", "b"] | None)
    ('list of str', 'a or b')
    """
    if get_origin(annotation) is Annotated:
        return spoken(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return " or ".join(map(str, get_args(annotation)))
    if get_origin(annotation) is tuple:
        return f"list of {spoken(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return "mapping"
    if arguments := get_args(annotation):
        parts = [spoken(one) for one in arguments if isinstance(one, type) or get_origin(one)]
        return " or ".join(part for part in parts if part != "NoneType")
    return str(annotation.__name__)


def method_options(name: str) -> dict[str, Any]:
    """The options of a method and their defaults."""
    return {key: one.default for key, one in inspect.signature(factory(name)).parameters.items()}
