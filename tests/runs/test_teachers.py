"""Runs that teach a model of several tasks: the target is its equation, and what cannot teach says so."""

import math

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file

from tests.runs.several_tasks import configuration, write_home
from tests.tiny_run import data_folder, write_csv
from uegr.errors import InputError
from uegr.models.mtdnn import Task, loss_of
from uegr.models.texts import texts_of
from uegr.runs import folder, manifest, teachers
from uegr.runs.finished import open_run
from uegr.runs.prepare import prepare
from uegr.runs.train import train
from uegr.training.callbacks import MetricsFile
from uegr.training.config import RunConfig
from uegr.training.engine import RobustTrainer
from uegr.training.multitask import annealed


def single(home, name, seed=1):
    return RunConfig(
        method={"name": "vanilla"},
        model={"name": str(home / "model")},
        dataset={"name": name if name == "stsb" else str(home / name)},
        training={"batch_size": 8, "epochs": 2, "learning_rate": 0.01},
        seed=seed,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The data, and runs on two of the three sets."""
    folder = write_home(tmp_path_factory.mktemp("taught"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UEGR_DATA", str(folder))
        for name in ("opinions", "stsb"):
            train(single(folder, name), folder / f"{name}-run", quiet=True)
        yield folder


def taught(home, *names, method="vanilla", **training):
    return configuration(home, method, teachers=[str(home / f"{name}-run") for name in names], **training)


def literal_loss(logits, label, answer, share):
    """For one row, in plain float64 arithmetic."""
    if len(answer) == 1:
        return (logits[0] - (share * label + (1 - share) * answer[0])) ** 2
    total = sum(math.exp(logit) for logit in logits)
    targets = [share * (number == label) + (1 - share) * given for number, given in enumerate(answer)]
    return -sum(target * math.log(math.exp(logit) / total) for target, logit in zip(targets, logits, strict=True))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_loss_is_its_equation(outputs, share):
    draw = torch.Generator().manual_seed(outputs)
    logits = torch.randn(5, outputs, generator=draw, dtype=torch.float64)
    answers = torch.randn(5, outputs, generator=draw, dtype=torch.float64)
    answers = answers if outputs == 1 else answers.softmax(-1)
    labels = torch.randn(5, generator=draw, dtype=torch.float64) if outputs == 1 else torch.tensor([0, 2, 1, 1, 0])
    task = Task("task", "single", None if outputs == 1 else ("a", "b", "c"))
    found = loss_of(logits, labels, task, annealed(answers, labels, share))
    rows = zip(logits.tolist(), labels.tolist(), answers.tolist(), strict=True)
    assert found.item() == pytest.approx(np.mean([literal_loss(*row, share) for row in rows]), rel=1e-12)


def test_rows_learn_from_the_answers_of_their_teacher_and_ever_more_from_the_labels(home, tmp_path, monkeypatch):
    seen, usual = [], RobustTrainer.training_step

    def watch(self, model, inputs, *others):
        seen.append((self.state.global_step / self.state.max_steps, int(inputs["task_ids"][0]), inputs))
        return usual(self, model, inputs, *others)

    monkeypatch.setattr(RobustTrainer, "training_step", watch)
    result = train(taught(home, "opinions", "stsb"), tmp_path / "run", quiet=True)
    assert len(seen) == result.training.steps == 40
    assert [task for _, task, batch in seen if "targets" not in batch] == [1] * 12  # likeness, without a teacher
    for number, name in ((0, "opinions"), (2, "stsb")):
        answers = answers_by_ids(home / f"{name}-run")
        for share, task, batch in seen:
            if task == number:
                for row, ids in enumerate(batch["input_ids"].tolist()):
                    label = batch["labels"][row].item()
                    truth = np.array([label]) if name == "stsb" else np.eye(2)[label]
                    expected = share * truth + (1 - share) * answers[tuple(token for token in ids if token)]
                    assert batch["targets"][row].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert not (tmp_path / "run" / "answers.safetensors").exists()
    assert manifest.damage(tmp_path / "run") is None  # the answers are not a part of the finished run
    assert result.config.training["teachers"] == [str(home / f"{name}-run") for name in ("opinions", "stsb")]


def answers_by_ids(folder):
    """What a run says of its training rows, by their tokens."""
    task = open_run(folder).task()
    texts = texts_of(task.data().splits["train"])
    given = task.probabilities(texts)
    return {key(task.tokenizer, text): answer for text, answer in zip(texts, given, strict=True)}


def key(tokenizer, text):
    return tuple(tokenizer(*([text] if isinstance(text, str) else text))["input_ids"])


def test_a_run_of_several_tasks_teaches_all_that_it_knows(home, tmp_path):
    train(configuration(home, sets=("opinions", "likeness"), max_steps=4), tmp_path / "teacher", quiet=True)
    config = configuration(home, teachers=[str(tmp_path / "teacher")], max_steps=4)
    prepared = prepare(config)
    found, sets = teachers.find(prepared), prepared.sets
    assert {name: one.model.task for name, one in found.items()} == {"opinions": 0, "likeness": 1}
    given = teachers.answers(found, tmp_path, sets, quiet=True)
    assert {name: answers.shape for name, answers in given.items()} == {"opinions": (60, 2), "likeness": (42, 2)}
    assert all(np.allclose(answers.sum(1), 1) for answers in given.values())
    save_file({"opinions": given["opinions"] + 1}, tmp_path / "answers.safetensors")
    assert np.array_equal(teachers.answers(found, tmp_path, sets, quiet=True)["opinions"], given["opinions"] + 1)


@pytest.mark.parametrize("method", ["sam", "uegr"])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(home, tmp_path, monkeypatch, method):
    config = taught(home, "opinions", "stsb", method=method, accumulation=2, max_steps=12)
    train(config, tmp_path / "whole", quiet=True)

    def stop(self, args, state, control, **kwargs):
        if state.global_step == 11:  # two after a checkpoint
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "cut", quiet=True)
    assert (tmp_path / "cut" / "answers.safetensors").is_file()
    assert train(config, tmp_path / "cut", resume=True, quiet=True).training.resumed
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_cannot_teach_is_one_line_and_nothing_is_written(home, tmp_path):
    for file in data_folder(home / "views").iterdir():
        file.write_text(file.read_text().replace(",bad", ",no").replace(",good", ",yes"))
    train(single(home, "views"), home / "views-run", quiet=True)
    other = str(home / "opinions")  # the labels of another data set
    folder.update(home / "views-run", lambda result: result.with_task("views", dataset=other))
    wrong = {
        "expected a finished run": taught(home, "likeness"),
        "expected one teacher for opinions": taught(home, "opinions", "opinions"),
        "can teach none of stsb": configuration(home, sets=("stsb",), teachers=[str(home / "opinions-run")]),
        r"expected the labels \('bad', 'good'\) of a teacher of opinions, got \('no', 'yes'\)": taught(home, "views"),
        "training.teachers are for --model mtdnn": single(home, "opinions").model_copy(
            update={"training": taught(home, "opinions").training}
        ),
    }
    for message, config in wrong.items():
        with pytest.raises(InputError, match=message):
            train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_teacher_must_not_have_seen_the_rows_that_are_held_out(home, tmp_path):
    rows = [(f"a {('dull', 'fine')[n % 2]} film {n}", ("no", "yes")[n % 2]) for n in range(40)]
    write_csv(home / "whole.csv", rows)
    train(single(home, "whole.csv", seed=2), home / "whole-run", quiet=True)
    config = configuration(home, sets=("whole.csv",), teachers=[str(home / "whole-run")])
    with pytest.raises(InputError, match=r"held out other rows of whole.*'seed': 1}, got .*'seed': 2}"):
        train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
    assert train(config.model_copy(update={"seed": 2}), tmp_path / "run", quiet=True).tasks["whole"].scores
