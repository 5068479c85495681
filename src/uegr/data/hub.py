"""Data sets of the Hugging Face hub, with every file it writes kept in this project's cache."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import getproxies

from uegr.cache import data_folder, key_of
from uegr.data.arrow import PIECE
from uegr.data.source import Row, Source
from uegr.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset


def download(path: str, config: str | None) -> "Mapping[str, Dataset]":
    """All splits; an error is one line."""
    import datasets

    folder = data_folder() / "hub"
    kept = datasets.DownloadConfig(cache_dir=str(folder / "downloads"))
    try:
        with hub_cache(), quick_refusal():
            found: Mapping[str, Dataset] = datasets.load_dataset(
                path, config, cache_dir=str(folder), download_config=kept
            )
            return found
    except (OSError, ValueError, RuntimeError) as error:  # no network, no such data set, a script instead of data
        raise InputError(f"{type(error).__name__}: {' '.join(str(error).split())}") from None


@contextmanager
def hub_cache() -> Iterator[None]:
    """`load_dataset` passes its cache folder to everything but the hub client: inside, the client's default is changed.

    If the user has set HF_HOME or HF_HUB_CACHE, that folder is used.
    """
    from huggingface_hub import constants

    if any(os.environ.get(name) for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")):
        yield
        return
    usual = constants.HF_HUB_CACHE
    constants.HF_HUB_CACHE = str(data_folder() / "hub" / "files")
    try:
        yield
    finally:
        constants.HF_HUB_CACHE = usual


@contextmanager
def quick_refusal() -> Iterator[None]:
    """Without a network the hub client tries for half a minute; so a host without an address is not asked."""
    import datasets
    from huggingface_hub import constants

    offline = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = offline or not resolvable(constants.ENDPOINT)
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = offline


def resolvable(endpoint: str) -> bool:
    """Whether the host has an address; behind a proxy it is assumed, since only the proxy knows."""
    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlparse(endpoint).hostname, 443)
    except OSError:
        return False
    return True


def hub_source(name: str, dataset: "Dataset", text: str, pair: str | None, label: str | None) -> Source:
    """One split of a hub data set as rows."""
    wanted = {"text": text, "pair": pair, "label": label}
    for column in filter(None, wanted.values()):
        if column not in dataset.column_names:
            raise InputError(f"{name} has no column {column!r}; it has {', '.join(dataset.column_names)}")
    return Source(
        name=name,
        key=key_of("hub", dataset._fingerprint, wanted),
        read=lambda: rows_of(name, dataset, text, pair, label),
        paired=pair is not None,
        labelled=label is not None,
    )


def rows_of(name: str, dataset: "Dataset", text: str, pair: str | None, label: str | None) -> Iterator[Row]:
    place = 0
    for batch in dataset.iter(batch_size=PIECE):
        nothing: list[Any] = [None] * len(batch[text])
        pairs, labels = batch[pair] if pair else nothing, batch[label] if label else nothing
        for values in zip(batch[text], pairs, labels, strict=True):
            place += 1
            if not isinstance(values[0], str) or (pair and not isinstance(values[1], str)):
                raise InputError(f"{name}, row {place}: expected text, got {values[0]!r:.60}")
            yield Row(place, *values)


def class_names(dataset: "Dataset", label: str) -> tuple[str, ...] | None:
    """The names of the labels, where the data set has them."""
    names = getattr(dataset.features[label], "names", None)
    return tuple(names) if names else None
