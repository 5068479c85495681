"""Three hundred rows of one class and twelve of another: a warning before training, and figures that show it."""

import warnings

import pytest

from tests.tiny_run import model_folder, sentences, write_csv
from uegr.data.sanity import imbalance
from uegr.errors import DataWarning, InputError
from uegr.evaluation.metrics import METRICS
from uegr.report.classes import class_tables
from uegr.report.groups import grouped
from uegr.report.page import render
from uegr.report.reading import Collection, Run
from uegr.report.terminal import show_figures, show_scores
from uegr.runs import folder
from uegr.runs.evaluate import evaluate_run
from uegr.runs.prepare import load_data, prepare
from uegr.runs.train import train
from uegr.training.config import DatasetConfig, RunConfig, read_config


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, and the issue's file: 300 happy rows and 12 angry ones."""
    home = tmp_path_factory.mktemp("home")
    model_folder(home / "model")
    rows = sentences(600)
    happy = [(text, "happy") for text, label in rows if label == "good"]
    angry = [(text, "angry") for text, label in rows if label == "bad"][:12]
    write_csv(home / "mood.csv", happy + angry)
    return home


def configured(place, **training):
    return RunConfig(
        method={"name": "vanilla"},
        model={"name": str(place / "model")},
        dataset={"name": str(place / "mood.csv"), "holdout": 0.25},
        training={"max_steps": 4, "batch_size": 32} | training,
    )


@pytest.fixture(scope="module")
def trained(place):
    """A training that answers happy to everything, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = train(configured(place), place / "run", quiet=True)
    return result, [str(one.message) for one in caught if one.category is DataWarning]


def test_the_warning_comes_before_the_training(trained):
    (line,) = trained[1]
    assert line.startswith("mood: ")
    assert "of 234 training rows are 'happy', and only 9 are 'angry'" in line
    assert "has accuracy 0.96 there" in line
    assert "--metric macro_f1" in line
    assert "--balance weights or --balance sampling" in line


@pytest.mark.parametrize(
    ("counts", "warned"),
    [
        ((300, 12), True),
        ((81, 19), True),  # more than four fifths
        ((80, 20), False),
        ((50, 46, 4), False),
        ((50, 47, 3), True),  # less than a tenth of a third
        ((20, 20, 20, 20, 1), True),
    ],
)
def test_the_rule_of_the_warning(counts, warned):
    assert bool(imbalance({str(name): count for name, count in enumerate(counts)})) is warned


def test_balancing_needs_no_warning_and_a_card_is_known(place):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        load_data(configured(place, balance="weights"), str(place / "mood.csv"))


def test_the_figures_show_what_accuracy_hides(trained, capsys, place):
    result, _ = trained
    task = result.tasks["mood"]
    scores, found = task.scores["validation"], task.classes["validation"]
    assert task.metrics == ("accuracy", "macro_f1", "balanced_accuracy")
    assert scores["accuracy"].value > 0.95
    assert scores["balanced_accuracy"].value == 0.5
    assert found.table["angry"].recall == 0
    assert found.confusion["angry"] == {"happy": 3}
    assert found.majority_accuracy == scores["accuracy"].value
    show_scores(result, place / "run")
    shown = capsys.readouterr().out
    assert "balanced_accuracy 0.5000" in shown
    assert "always answering 'happy' has accuracy 0.96" in shown
    assert any(line.split() == ["angry", "0.0", "0.0", "0.0", "3", "happy", "3"] for line in shown.splitlines())
    card = (place / "run" / "README.md").read_text()
    assert "| mood.csv, validation | angry | 0.0 | 0.0 | 0.0 | 3 |" in card
    assert "| mood.csv, validation | always happy | accuracy 96.2 |" in card
    assert "| mood.csv, validation | angry | happy 3 |" in card


def test_three_rows_that_are_never_found_leave_a_wide_interval(trained):
    (task,) = trained[0].tasks.values()
    ((_, clean),) = task.scores.items()
    assert clean["balanced_accuracy"].low == pytest.approx(0.5, abs=0.01)
    assert 0.6 < clean["balanced_accuracy"].high < 0.9


def test_the_file_keeps_them_and_the_page_shows_them_behind_a_click(trained, place):
    result = folder.read(place / "run")
    assert result.to_json() == trained[0].to_json()
    (table,) = class_tables(grouped([Run("run", result)]))
    assert table.rows[table.names.index("angry")][1] == ["0.0", "0.0", "0.0"]
    page = render(Collection(runs=[Run("run", result)]))
    start = page.index('<section id="classes">')
    assert page[start : page.index("</section>", start)].count("<details data-print>") == 1
    assert "always answering" in page[start:]


def test_evaluate_prints_and_keeps_them_too(trained, place, capsys):
    found = evaluate_run(place / "run", figures=(), quiet=True)
    assert found["mood"].classes == trained[0].tasks["mood"].classes["validation"]
    assert found["mood"].clean["balanced_accuracy"].value == 0.5
    show_figures(found)
    shown = capsys.readouterr().out
    assert "balanced accuracy, validation" in shown
    assert "always answering 'happy'" in shown


def test_the_metric_chooses_the_epoch_and_comes_first(place):
    prepared = prepare(configured(place, metric="mcc", balance="sampling"))
    assert prepared.heads.metric(prepared.sets) == "matthews"
    assert prepared.sets["mood"].metrics == ("matthews", "accuracy", "macro_f1", "balanced_accuracy")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["training.metric=recall"], "training.metric: input should be 'accuracy', 'macro_f1'"),
        (["training.balance=both"], "training.balance: input should be 'weights' or 'sampling'"),
        (["training.metric=pearson"], "expected --metric accuracy, .* for classes, got pearson"),
        (["dataset.kind=regression", "training.metric=accuracy"], "expected --metric pearson, spearman for numbers"),
        (["dataset.kind=regression", "training.balance=weights"], "--balance is for classes, and numbers has numbers"),
    ],
)
def test_what_does_not_fit_is_one_line(place, settings, line):
    file = place / ("numbers.csv" if "dataset.kind=regression" in settings else "mood.csv")
    write_csv(place / "numbers.csv", [(text, str(0.5 * row)) for row, (text, _) in enumerate(sentences(30))])
    with pytest.raises(InputError, match=line) as caught:
        load_data(read_config(None, {"dataset.name": str(file)}, settings), str(file))
    assert "\n" not in str(caught.value)


def test_every_metric_can_be_chosen(place):
    for name in METRICS:
        assert configured(place, metric=name).training.metric == name


@pytest.mark.parametrize("balance", ["weights", "sampling"])
def test_balance_finds_the_rare_class(place, tmp_path, balance):
    """Without it the same training, of the same length and rate, answers happy to every row."""
    data = tmp_path / "moods"
    data.mkdir()
    (data / "train.csv").write_bytes((place / "mood.csv").read_bytes())
    even = [(f"{text} later", {"good": "happy", "bad": "angry"}[label]) for text, label in sentences(60, seed=7)]
    write_csv(data / "test.csv", even)
    write_csv(data / "validation.csv", even)
    wanted = {"balance": balance, "metric": "macro_f1", "max_steps": 60, "learning_rate": 0.01}
    config = configured(place, **wanted).model_copy(update={"dataset": DatasetConfig(name=str(data))})
    found = train(config, tmp_path / "run", quiet=True).tasks["moods"]
    assert next(iter(found.scores["test"])) == found.metrics[0] == "macro_f1"
    assert found.classes["test"].table["angry"].recall > 0.5
    assert found.scores["test"]["balanced_accuracy"].value > 0.5
