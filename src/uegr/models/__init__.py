"""Models by alias, folder or hub name, and what the papers train from scratch.

    from uegr.models import cards, load
    loaded = load("minilm", labels=("negative", "positive"), seed=1)
    loaded.model, loaded.tokenizer

torch and transformers are imported when a model is loaded, not before: listing the cards stays quick.
"""

from typing import TYPE_CHECKING, Any

from uegr.models.card import DEFAULT, Card, Source, cards
from uegr.models.download import fetch
from uegr.models.huggingface import load
from uegr.models.loaded import Loaded

if TYPE_CHECKING:
    from uegr.models.architectures import build as build
    from uegr.models.tokens import tokenized as tokenized

__all__ = ["DEFAULT", "Card", "Loaded", "Source", "build", "cards", "fetch", "load", "tokenized"]


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for."""
    if name == "build":
        from uegr.models.architectures import build

        return build
    if name == "tokenized":
        from uegr.models.tokens import tokenized

        return tokenized
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
