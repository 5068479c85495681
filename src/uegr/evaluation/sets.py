"""The rows that a model is measured on. `uegr.runs.sets.gathered` finds them by name; here they are rows only.

own = Sets("reviews", {"test": rows}, metrics=("accuracy",), labels=("bad", "good"))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from uegr.models.texts import Rows


@dataclass(frozen=True)
class Other:
    """Rows of another data set, and which of its labels each label of the model means; -1 for none of them."""

    name: str
    rows: Rows
    meaning: tuple[int, ...] | None  # None: a regression
    metrics: tuple[str, ...] = ("accuracy",)


@dataclass(frozen=True)
class Sets:
    """The held-out rows of the model's own task by split, the first being the main one, and the sets beside it."""

    name: str
    splits: Mapping[str, Rows]
    metrics: tuple[str, ...]
    labels: Sequence[str] | None  # None: a regression
    few: Rows = None  # rows of the main split for what is slow; None: all of them
    validation: Rows = None  # that a temperature is fitted on
    shift: Sequence[Other] = ()
    adversarial: Sequence[Other] = ()
    anomaly: Mapping[str, Rows] = field(default_factory=dict)  # texts from elsewhere, by name
    left_out: Mapping[str, str] = field(default_factory=dict)  # set -> why it is not here

    @property
    def split(self) -> str:
        """The main split."""
        return next(iter(self.splits))

    @property
    def own(self) -> Rows:
        """The rows of the main split."""
        return self.splits[self.split]

    @property
    def fewer(self) -> Rows:
        """The rows for what is slow."""
        return self.own if self.few is None else self.few
