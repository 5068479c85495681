"""Plain numbers: intervals, averages, differences over seeds and rows, significance, relative improvement. No torch."""

from uegr.statistics.averages import mean_of_same_rows, mean_of_separate_sets, mean_over_sets
from uegr.statistics.differences import Difference, difference, paired_row_variance
from uegr.statistics.improvement import BEST, Improvement, check_perspectives, relative_improvement
from uegr.statistics.intervals import NORMAL_95, Figure, bootstrap, finite, interval, mean, proportion, share_of
from uegr.statistics.rows import packed, unpacked
from uegr.statistics.seeds import deviation, mean_over_seeds
from uegr.statistics.significance import McNemar, Paired, holm, mcnemar, paired, permutation, signed_ranks, t_test

__all__ = [
    "BEST",
    "NORMAL_95",
    "Difference",
    "Figure",
    "Improvement",
    "McNemar",
    "Paired",
    "bootstrap",
    "check_perspectives",
    "deviation",
    "difference",
    "finite",
    "holm",
    "interval",
    "mcnemar",
    "mean",
    "mean_of_same_rows",
    "mean_of_separate_sets",
    "mean_over_seeds",
    "mean_over_sets",
    "packed",
    "paired",
    "paired_row_variance",
    "permutation",
    "proportion",
    "relative_improvement",
    "share_of",
    "signed_ranks",
    "t_test",
    "unpacked",
]
