"""Models by alias, folder or hub name, and what the papers train from scratch.

    from uegr.models import cards, load
    loaded = load("minilm", labels=("negative", "positive"), seed=1)
    loaded.model, loaded.tokenizer

torch and transformers are imported when a model is loaded, not before: listing the cards stays quick.
"""

from uegr.models.card import Card, Source, cards
from uegr.models.download import fetch
from uegr.models.huggingface import Loaded, load

__all__ = ["Card", "Loaded", "Source", "cards", "fetch", "load"]
