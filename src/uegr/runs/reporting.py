"""Where a training is logged besides metrics.jsonl: whatever transformers has an integration for."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from uegr.errors import InputError

PACKAGES = {"azure_ml": "azureml-core", "comet_ml": "comet-ml", "flyte": "flytekit"}  # others have their own name


def reporters(given: str | Sequence[str]) -> list[str]:
    """The names, without "none".

    >>> reporters("none"), reporters("wandb"), reporters(("tensorboard", "mlflow"))
    ([], ['wandb'], ['tensorboard', 'mlflow'])
    """
    names = [given] if isinstance(given, str) else list(given)
    return [name for name in names if name != "none"]


def check_reporting(given: str | Sequence[str]) -> None:
    """Raise for a name that transformers does not know, and for one whose package is not installed."""
    names = [name for name in reporters(given) if name != "all"]
    if not names:
        return
    check_names(names)
    integrations: Any = import_module("transformers.integrations")
    try:
        integrations.get_reporting_integration_callbacks(names)
    except ValueError as error:
        raise InputError(f"training.report_to: {error}") from None
    here = integrations.get_available_reporting_integrations()
    for name in names:
        if name not in here:
            package = PACKAGES.get(name, name)
            raise InputError(f"training.report_to={name} needs the package {package}; pip install {package}")


def check_names(names: Sequence[str]) -> None:
    """Raise for a name that is empty, and for several in one."""
    for name in names:
        parts = [part.strip() for part in name.split(",") if part.strip()]
        if not parts:
            raise InputError(f"expected a name such as tensorboard, got {name!r}; use --report-to tensorboard")
        if len(parts) > 1 or "," in name:
            use = " ".join(f"--report-to {part}" for part in parts)
            raise InputError(f"expected one name for each --report-to, got {name!r}; use {use}")
