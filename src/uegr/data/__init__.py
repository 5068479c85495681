"""Data sets: a card, a file or a folder becomes memory-mapped rows, and rows become batches.

>>> sorted(card.name for card in cards().values() if card.name.startswith("snippets_"))
['snippets_editorials', 'snippets_products', 'snippets_rating', 'snippets_tweets']
"""

from uegr.data.card import Card, Evaluation, cards, evaluation_sets
from uegr.data.load import Data, load
from uegr.data.sample import holdout, subsample, with_fold, with_validation_as_test
from uegr.data.vocabulary import vocabulary
from uegr.errors import DataWarning

__all__ = [
    "Card",
    "Data",
    "DataWarning",
    "Evaluation",
    "cards",
    "evaluation_sets",
    "holdout",
    "load",
    "subsample",
    "vocabulary",
    "with_fold",
    "with_validation_as_test",
]
