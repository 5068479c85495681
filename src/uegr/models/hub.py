"""A model's name on the Hugging Face hub: there, in the hub's cache, or nowhere."""

from dataclasses import dataclass
from typing import Any

from uegr.errors import InputError, did_you_mean
from uegr.models.card import Card, cards


@dataclass(frozen=True)
class Place:
    """What from_pretrained is given, and whether it must not ask the network."""

    path: str
    local: bool
    card: Card | None


def hub(name: str, card: Card | None) -> Place:
    """A hub name, asked once with a short timeout, or what the hub's cache already holds of it."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    try:
        HfApi().model_info(name, timeout=5)
        return Place(name, False, card)
    except Exception as error:  # any exception of the network stack means: not available from the hub now
        if isinstance(kept(name, try_to_load_from_cache), str):
            return Place(name, True, card)
        raise InputError(unknown(name, card, error)) from error


def kept(name: str, lookup: Any) -> object:
    """The cached config.json of a hub name; a name that the hub could not have is cached nowhere."""
    try:
        return lookup(name, "config.json")
    except ValueError:
        return None


def unknown(name: str, card: Card | None, error: Exception) -> str:
    """What was tried for a name that leads nowhere, and the remedy."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    if card:
        return (
            f"{card.name} is {name} on the model hub, which does not answer ({reason}) and is not in the hub's cache; "
            "connect once, or give the folder of a copy"
        )
    return (
        f"unknown model {name}: no alias of that name ({did_you_mean(name, cards())}), no folder, "
        f"and nothing on the model hub ({reason})"
    )
