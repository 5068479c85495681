"""Imports torch and transformers in the order and the manner that take the least time; it is enough to import this.

- torch._dynamo, which every optimizer needs, looks through all modules that are there: before those of transformers.
- transformers imports scipy.optimize for the losses of object detection: here, when one of them is called.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import torch._dynamo  # noqa: F401


class Deferred(ModuleType):
    """A module that is imported when one of its functions is called, or anything else of it is asked for."""

    def __init__(self, name: str, functions: tuple[str, ...]) -> None:
        super().__init__(name)
        for function in functions:
            setattr(self, function, self.later(function))

    def later(self, function: str) -> Any:
        return lambda *args, **kwargs: getattr(self.real(), function)(*args, **kwargs)

    def real(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of any module
            raise AttributeError(name)
        return getattr(self.real(), name)


@contextmanager
def deferred(name: str, *functions: str) -> Iterator[None]:
    """What is imported in here and takes these functions from the module of this name, takes them unimported."""
    stand_in = Deferred(name, functions)
    sys.modules.setdefault(name, stand_in)
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]


with suppress(ImportError), deferred("scipy.optimize", "linear_sum_assignment"):
    import transformers.loss.loss_utils  # noqa: F401  a version without it takes what time it takes
