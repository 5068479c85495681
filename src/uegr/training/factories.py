"""A method by its name: one of the table, or `module:function` of the user's own.

A name with a colon imports a module, which runs its code. So such a name is taken from the command line and from Python
only, and from a file only where the user allows it (`refuse_code`); what it names must be a method, or a function that
`uegr.methods.configured` has decorated. A file cannot make this program call any other function.
"""

import importlib
import os
import sys
from typing import Any

from uegr.errors import InputError, did_you_mean
from uegr.methods import METHODS, Method
from uegr.methods.contract import MethodFactory, is_factory


def is_own(name: Any) -> bool:
    """Whether a method's name stands for code of the user's own.

    >>> is_own("my_module:my_method"), is_own("uegr")
    (True, False)
    """
    return ":" in str(name) and name not in METHODS


def factory(name: str) -> MethodFactory:
    """The function that makes the method; a module of the user's own is imported, nothing in it is called."""
    if name in METHODS:
        return METHODS[name]
    if not is_own(name):
        raise InputError(f"unknown method {name}; {did_you_mean(str(name), METHODS)}")
    found = imported(name)
    if isinstance(found, Method):
        return lambda: found
    if not is_factory(found):
        raise InputError(
            f"expected {name} to be a function with the decorator uegr.methods.configured, or a uegr.Method, "
            f"got {type(found).__name__}; decorate it"
        )
    return found  # type: ignore[no-any-return]


def imported(name: str) -> Any:
    """What `module:function` names; the module may be in the current folder."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"cannot import the method {name}: {error}") from error


def refuse_code(where: str, *, methods: Any, trusting: bool, allowed: bool) -> None:
    """Raise if a file names code to run and the user has not allowed it."""
    if allowed:
        return
    for name in methods:
        if is_own(name):
            raise InputError(
                f"{where} names the method {name}, which runs code; if you trust the file, use --allow-code"
            )
    if trusting:
        raise InputError(
            f"{where} sets model.trust_remote_code, which runs code; if you trust the file, use --allow-code"
        )
