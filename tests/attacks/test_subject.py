"""What may be attacked: functions, scikit-learn models and pipelines of transformers; labels by number or by name."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from transformers import FeatureExtractionPipeline, TextClassificationPipeline

from tests.attacks.attack_models import bag, bert, sentences, surface, tokenizer, victim
from uegr.attacks import attack
from uegr.errors import InputError

NAMES = ("bad", "good")
SOME = sentences()[:6]
SPOKEN = [(text, NAMES[label]) for text, label in SOME]


def test_labels_by_name_are_labels_by_number():
    by_number = attack(bag, SOME, surface=surface())
    by_name = attack(bag, SPOKEN, surface=surface(), labels=NAMES)
    assert by_name.outcomes == by_number.outcomes
    assert (by_name.labels, by_number.labels) == (NAMES, ())


def test_a_scikit_learn_model_knows_its_labels():
    texts, labels = zip(*SPOKEN, strict=True)
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)
    found = attack(model.predict_proba, SPOKEN, surface=surface())
    assert found.labels == tuple(model.classes_) == NAMES
    assert found.summary.accuracy_before == np.mean(model.predict(texts) == np.array(labels))


def test_a_model_alone_is_no_function_of_texts():
    """It is callable, so its own error was shown: 'list' object has no attribute 'size'."""
    with pytest.raises(InputError, match=r"attack Victim\(model, tokenizer\)"):
        attack(bert(), SOME, surface=surface())


def test_a_pipeline_is_attacked_as_its_model():
    names = bert().config.id2label
    given = [(text, names[label]) for text, label in SOME]
    pipeline = TextClassificationPipeline(model=bert(), tokenizer=tokenizer())
    assert attack(pipeline, given, surface=surface()).outcomes == attack(victim(), SOME, surface=surface()).outcomes


@pytest.mark.parametrize(
    ("predict", "label", "options", "line"),
    [
        (bag, "good", {}, "got the label 'good', but the columns of predict have no names; give labels="),
        (bag, "goood", {"labels": NAMES}, "unknown label 'goood'; did you mean good?"),
        (bag, -1, {}, "expected a label 0, 1, ..., got -1"),
        (MultinomialNB(), 0, {}, "of a scikit-learn model, attack its predict_proba"),
        (7, 0, {}, "expected a function from texts to probabilities, a Victim or a pipeline of transformers, got int"),
    ],
)
def test_what_cannot_be_attacked_is_one_line(predict, label, options, line):
    with pytest.raises(InputError) as caught:
        attack(predict, [("a fine film", label)], surface=surface(), **options)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_pipelines_are_refused():
    pipeline = FeatureExtractionPipeline(model=bert(), tokenizer=tokenizer())
    with pytest.raises(InputError, match="expected a text-classification pipeline to attack, got one for"):
        attack(pipeline, SOME, surface=surface())


def test_a_function_that_gives_labels_is_told_of_predict_proba():
    for labels in (np.array(["good"]), ["good"], np.array([1])):
        with pytest.raises(InputError, match="; of a scikit-learn model, attack its predict_proba"):
            attack(lambda texts, labels=labels: list(labels) * len(texts), [("a fine film", 0)], surface=surface())
