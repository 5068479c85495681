"""Plain numbers: intervals, significance, relative improvement. No torch."""

from uegr.statistics.improvement import BEST, Improvement, relative_improvement
from uegr.statistics.intervals import Figure, bootstrap, finite, interval, mean, proportion, share_of
from uegr.statistics.significance import Paired, holm, mcnemar, paired

__all__ = [
    "BEST",
    "Figure",
    "Improvement",
    "Paired",
    "bootstrap",
    "finite",
    "holm",
    "interval",
    "mcnemar",
    "mean",
    "paired",
    "proportion",
    "relative_improvement",
    "share_of",
]
