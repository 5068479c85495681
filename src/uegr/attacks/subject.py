"""What may be attacked: any function from texts to probabilities, and what its columns are called.

attack(pipeline("text-classification", model="my/model"), [("a fine film", "POSITIVE")])
attack(scikit_learn_pipeline.predict_proba, [("a fine film", "good")])
attack(predict, [("a fine film", "good")], labels=["bad", "good"])
"""

from collections.abc import Callable, Sequence
from typing import Any

from uegr.attacks.victim import Victim
from uegr.errors import InputError

Predict = Callable[[list[Any]], Any]  # texts, or pairs, to probabilities (n, classes)


def as_predict(given: Any) -> Predict:
    """A function as it is; a text-classification pipeline of transformers as a `Victim`."""
    if any(base.__module__.startswith("transformers.pipelines") for base in type(given).__mro__):
        return from_pipeline(given)
    if not callable(given) or any(base.__module__ == "torch.nn.modules.module" for base in type(given).__mro__):
        raise InputError(
            "expected a function from texts to probabilities, a Victim or a pipeline of transformers, "
            f"got {type(given).__name__}; of a transformers model, attack Victim(model, tokenizer); "
            "of a scikit-learn model, attack its predict_proba"
        )
    return given  # type: ignore[no-any-return]


def from_pipeline(given: Any) -> Victim:
    """The model and the tokenizer of a pipeline."""
    from transformers import TextClassificationPipeline

    if not isinstance(given, TextClassificationPipeline):
        raise InputError(f"expected a text-classification pipeline to attack, got one for {given.task}")
    return Victim(given.model, given.tokenizer)


def label_names(predict: Predict, given: Sequence[str] | None) -> tuple[str, ...]:
    """The names of predict's columns: as given, a model's own, or a scikit-learn model's classes; () if unknown."""
    if given is not None:
        return tuple(given)
    if isinstance(predict, Victim):
        known = predict.model.config.id2label
        return tuple(str(known[number]) for number in sorted(known))
    owner = getattr(predict, "__self__", None)  # of a method such as predict_proba
    classes = getattr(owner, "classes_", ())
    return tuple(str(name) for name in classes) if all(isinstance(name, str) for name in classes) else ()
