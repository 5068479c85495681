"""What the rows of a training must hold, looked at before it starts.

Lists and Datasets are looked at; a stream or a dataset of the user's own is not, since reading it may cost anything.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from uegr.training.labels import check_labels, check_numbered


def check_rows(trainer: Any) -> None:
    """Raise for rows that no training can use, with the remedy."""
    for name, rows in given_sets(trainer):
        check_numbered(rows, name)
        if plainly_collated(trainer) and trainer.compute_loss_func is None:
            check_labels(trainer.model, rows, name)


def given_sets(trainer: Any) -> Iterator[tuple[str, Any]]:
    """The training rows and every evaluation set, with the name that an error calls them."""
    yield "train_dataset", trainer.train_dataset
    sets = trainer.eval_dataset
    if isinstance(sets, Mapping):
        yield from ((f"eval_dataset[{name!r}]", rows) for name, rows in sets.items())
    else:
        yield "eval_dataset", sets


def plainly_collated(trainer: Any) -> bool:
    """Whether batches are made by transformers; a collator of the user's own may tokenise, or number the labels."""
    collator = trainer.data_collator
    return str(getattr(collator, "__module__", "")).startswith("transformers.")
