"""Models by alias, folder or hub name, and what the papers train from scratch.

    from uegr.models import cards, load
    loaded = load("minilm", labels=("negative", "positive"), seed=1)
    loaded.model, loaded.tokenizer

torch and transformers are imported when a model is loaded, not before: listing the cards stays quick.
"""

from typing import TYPE_CHECKING, Any

from uegr.models.card import DEFAULT, Card, Source, cards
from uegr.models.download import fetch
from uegr.models.huggingface import Loaded, load

if TYPE_CHECKING:
    from uegr.models.architectures import build as build

__all__ = ["DEFAULT", "Card", "Loaded", "Source", "build", "cards", "fetch", "load"]


def __getattr__(name: str) -> Any:
    """`build` defines torch modules, so it is imported when it is asked for."""
    if name == "build":
        from uegr.models.architectures import build

        return build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
