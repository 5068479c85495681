"""Imports torch and transformers in the order and the manner that take the least time; it is enough to import this.

- torch._dynamo, which every optimizer needs, looks through all modules that are there: before those of transformers.
- transformers imports scipy.optimize for the losses of object detection, and peft to know its models: here, as soon as
  such a loss is called, and not at all, since a model of peft is there only if somebody has imported peft.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch._dynamo  # noqa: F401


class Deferred(ModuleType):
    """A module that is imported when one of its functions is called, or anything of it is asked for but its classes."""

    def __init__(self, name: str, functions: Sequence[str], classes: Sequence[str]) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        for function in functions:
            setattr(self, function, self.later(function))
        for each in classes:
            setattr(self, each, LaterClass(each, (), {"module": self}))

    def later(self, function: str) -> Any:
        return lambda *args, **kwargs: getattr(self.real(), function)(*args, **kwargs)

    def real(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)

    def is_imported(self) -> bool:
        return sys.modules.get(self.__name__, self) is not self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of any module
            raise AttributeError(name)
        return getattr(self.real(), name)


class LaterClass(type):
    """The type of a class that has no instances as long as its module is not imported."""

    module: Deferred

    def real(cls) -> type:
        return getattr(cls.module.real(), cls.__name__)  # type: ignore[no-any-return]

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.module.is_imported() and isinstance(instance, cls.real())

    def __subclasscheck__(cls, other: type) -> bool:
        return cls.module.is_imported() and issubclass(other, cls.real())

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.real()(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real(), name)


@contextmanager
def deferred(name: str, *, functions: Sequence[str] = (), classes: Sequence[str] = ()) -> Iterator[None]:
    """What is imported in here and takes these from the module of this name, takes them without importing it."""
    stand_in = Deferred(name, functions, classes)
    if name not in sys.modules and find_spec(name.partition(".")[0]) is not None:
        sys.modules[name] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]


with suppress(ImportError):  # in a version of transformers that wants more of them: whoever is next imports all
    with deferred("scipy.optimize", functions=["linear_sum_assignment"]):
        import transformers.loss.loss_utils
    with deferred("peft", classes=["PeftModel", "PeftMixedModel"]):
        import transformers.trainer  # noqa: F401
