"""A finished run reads texts as its training did: in prediction, evaluation and attack, by inputs and probabilities."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorWithPadding

from tests.tiny_run import data_folder, model_folder
from uegr.attacks import Victim
from uegr.errors import InputError
from uegr.models.tokens import tokenized
from uegr.runs.finished import FinishedRun, open_run
from uegr.runs.train import train
from uegr.training.config import RunConfig

TEXTS = ["the great film was fine and w3", "a dull plot", ""]  # the longest first, as in a batch


@pytest.fixture(scope="module", params=["textcnn", "bert"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    folder = tmp_path_factory.mktemp("path")
    model = str(model_folder(folder / "model")) if request.param == "bert" else request.param
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": model},
        dataset={"name": str(data_folder(folder / "data", train=32, other=8))},
        training={"max_steps": 4, "max_length": 6},
    )
    train(config, folder / "run", quiet=True)
    return open_run(folder / "run")


def inputs_of(run: FinishedRun, ask: Callable[[], Any]) -> tuple[dict[str, torch.Tensor], Any]:
    """What the model got in its only forward, and what was answered."""
    seen: list[dict[str, torch.Tensor]] = []
    hook = run.model.register_forward_pre_hook(lambda _, args, named: seen.append(named), with_kwargs=True)
    try:
        answer = ask()
    finally:
        hook.remove()
    (inputs,) = seen
    return inputs, answer


@pytest.mark.filterwarnings("ignore::uegr.errors.DataWarning")
def test_prediction_evaluation_and_attack_read_as_the_training_did(run: FinishedRun) -> None:
    length = run.result.training.max_length
    assert length == 6
    rows = tokenized(Dataset.from_dict({"text": TEXTS}), run.tokenizer, length).remove_columns("length")
    expected = DataCollatorWithPadding(run.tokenizer)([rows[place] for place in range(len(TEXTS))])
    with torch.inference_mode():
        wanted = run.model.eval()(**expected).logits.double().softmax(-1).numpy()
    labels = run.tasks[run.result.task_named(None)].labels or ()

    def predicted() -> Any:
        return np.array([[one.probabilities[label] for label in labels] for one in run.predict(TEXTS)])

    def attacked() -> Any:
        return Victim(run.model, run.tokenizer, max_length=length)(TEXTS)

    for ask in (predicted, lambda: run.task().probabilities(TEXTS), attacked):
        inputs, answers = inputs_of(run, ask)
        assert inputs.keys() == expected.keys()
        assert all(torch.equal(inputs[name], expected[name]) for name in inputs)
        np.testing.assert_allclose(answers, wanted, atol=1e-4)


def test_an_empty_text_is_an_unknown_word(run: FinishedRun) -> None:
    """The model attends to it: its answer is that of the unknown word."""
    empty, unknown = run.predict(["", "neverseenword"])
    assert empty.probabilities == pytest.approx(unknown.probabilities, abs=1e-6)


def test_what_is_no_text_is_one_line(run: FinishedRun) -> None:
    for wrong in (None, 3):
        texts: Any = ["a fine film", wrong]
        with pytest.raises(
            InputError, match=f"row 1: expected a text or a pair of texts, got '{wrong}'; make it a str"
        ):
            run.predict(texts)
