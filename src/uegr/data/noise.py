"""Rows whose label a plain bag of words would not expect: candidates for a second look, not more.

A linear model is fitted on two thirds of the rows and asked about the rest, three times over (the cross-validated
probabilities of Northcutt 2021, "Confident learning", without its thresholds).
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uegr.data.sample import strata, subsample
from uegr.data.vocabulary import usual_mode

if TYPE_CHECKING:
    from datasets import Dataset

MOST_ROWS = 10_000  # of more rows, a stratified sample is used
MOST_LABELS = 50
FOLDS = 3
SURE = 0.95  # by how much the other label must be more probable


class Doubt(NamedTuple):
    row: int  # from 0
    given: int
    expected: int
    margin: float


def doubts(dataset: "Dataset") -> list[Doubt]:
    """The most doubtful rows first. Empty for pairs, which a bag of words cannot judge, and for too few rows."""
    labels = strata(dataset)
    _, counts = np.unique(labels, return_counts=True)
    unfit = "pair" in dataset.column_names or not 1 < len(counts) <= MOST_LABELS or counts.min() < FOLDS
    if unfit:
        return []
    numbered = dataset.add_column("row", np.arange(len(dataset)))
    part = subsample(numbered, size=min(MOST_ROWS, len(dataset)), seed=0)
    known, given = np.unique(strata(part), return_inverse=True)
    if len(known) < 2 or np.bincount(given).min() < FOLDS:
        return []
    probabilities = held_out_probabilities(list(part["text"]), given, usual_mode(dataset) == "character")
    expected = probabilities.argmax(1)
    margin = probabilities.max(1) - probabilities[np.arange(len(given)), given]
    order = [index for index in np.argsort(-margin, kind="stable") if margin[index] > SURE]
    rows = list(part["row"])
    return [
        Doubt(rows[index], int(known[given[index]]), int(known[expected[index]]), float(margin[index]))
        for index in order
    ]


def held_out_probabilities(texts: list[str], labels: np.ndarray, by_character: bool) -> np.ndarray:
    """The probabilities of a linear model for each row that it was not trained on, [rows, labels]."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    analyzer = {"analyzer": "char", "ngram_range": (1, 2)} if by_character else {"ngram_range": (1, 2)}
    features = HashingVectorizer(n_features=2**18, **analyzer).transform(texts)
    model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=10, tol=None, random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(model, features, labels, cv=folds, method="predict_proba"))
