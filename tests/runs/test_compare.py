"""Two runs on the same rows: the answers of both models, their attacks, and what is refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_run import sentences, write_csv
from uegr.data import DataWarning
from uegr.errors import InputError
from uegr.runs import folder
from uegr.runs.attack import attack_run
from uegr.runs.compare import compare_runs
from uegr.runs.evaluate import evaluate_run
from uegr.runs.finished import held_out_rows, open_run
from uegr.runs.train import train
from uegr.training.config import RunConfig

SMALL = {"batch_size": 8, "learning_rate": 0.01, "epochs": 1}


def trained(home: Path, name: str, dataset: Path, seed: int = 0, epochs: int = 1) -> Path:
    """A run of the tiny model."""
    config = {"method": {"name": "vanilla"}, "model": {"name": str(home / "model")}, "seed": seed}
    config |= {"dataset": {"name": str(dataset)}, "training": SMALL | {"epochs": epochs}}
    train(RunConfig.model_validate(config), home / name, quiet=True)
    return home / name


@pytest.fixture(scope="module")
def runs(home: Path) -> tuple[Path, Path]:
    """A run that has learnt little and one that has learnt all, both attacked."""
    made = trained(home, "short", home / "data"), trained(home, "long", home / "data", epochs=4)
    for run in made:
        attack_run(run, attack="deepwordbug", examples=8, quiet=True)
    return made


def test_each_measure_is_the_difference_of_both_models_answers(runs: tuple[Path, Path]) -> None:
    found = compare_runs(*runs)
    accuracy = next(pair for pair in found.pairs if pair.label == "accuracy")
    right = []
    for place in runs:
        task = open_run(place).task()
        rows = held_out_rows(task.held_out())
        right.append(task.probabilities(list(rows["text"])).argmax(1) == np.asarray(rows["label"]))
    assert accuracy.difference.value == pytest.approx(right[1].mean() - right[0].mean())
    assert accuracy.first.value == folder.read(runs[0]).tasks["data"].scores["test"]["accuracy"].value
    assert (found.data, found.rows, accuracy.by_row) == ("data", 16, True)


def test_an_attack_that_both_went_through_is_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    found = compare_runs(*runs)
    (attacked,) = [pair for pair in found.pairs if "deepwordbug" in pair.label]
    known = [folder.read(run).tasks["data"].attacks["deepwordbug on data, 8 examples"] for run in runs]
    assert attacked.label == "accuracy, deepwordbug"  # data and rows are told beside it
    assert attacked.first.value == known[0].accuracy_after.value
    assert attacked.second.value == known[1].accuracy_after.value
    other = Path(shutil.copytree(runs[1], tmp_path / "long"))
    attack_run(other, attack="deepwordbug", examples=8, seed=1, quiet=True)
    assert compare_runs(runs[0], other).left_out == {
        "deepwordbug on data, 8 examples, seed 1": "only one of the runs has its outcomes"
    }


def test_a_run_is_not_compared_with_itself(runs: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"expected two runs, got .* twice; name another one"):
        compare_runs(runs[0], runs[0] / ".." / runs[0].name)


def test_fewer_rows_are_a_sample(runs: tuple[Path, Path]) -> None:
    assert compare_runs(*runs, rows=6).rows == 6


def test_other_rows_are_refused_unless_a_data_set_is_given(home: Path, runs: tuple[Path, Path]) -> None:
    texts = sentences(60, seed=5)
    file = write_csv(home / "one.csv", texts)
    first, second = trained(home, "one", file), trained(home, "two", file, seed=1)
    with pytest.raises(
        InputError, match=r"the same rows, got other rows of .*one.csv \(seeds 0 and 1\); use --dataset"
    ):
        compare_runs(first, second)
    with pytest.raises(InputError, match=r"the same rows, got .*one.csv and .*data; use --dataset"):
        compare_runs(first, runs[0])
    assert compare_runs(first, runs[0], dataset=str(home / "data")).rows == 16


def test_other_labels_are_refused(home: Path, runs: tuple[Path, Path]) -> None:
    rows = [(text, {"bad": "1", "good": "5"}[label]) for text, label in sentences(40)]
    other = trained(home, "stars", write_csv(home / "stars.csv", rows))
    with pytest.raises(InputError, match=r"the same labels, got bad, good and .*; compare runs of one task"):
        compare_runs(runs[0], other)


def file_of(home: Path, name: str, count: int, seed: int) -> str:
    """A file of rows that no test trains on."""
    return str(write_csv(home / name, [(f"{text} n{seed}", label) for text, label in sentences(count, seed)]))


@pytest.mark.parametrize("count", [1, 2, 50])
def test_every_row_of_a_new_file_is_compared(home: Path, runs: tuple[Path, Path], count: int) -> None:
    """A tenth of it was held out, as if it were trained on: 50 rows were 5."""
    assert compare_runs(*runs, dataset=file_of(home, f"new{count}.csv", count, seed=7)).rows == count


def test_every_row_of_a_new_file_is_attacked_and_evaluated(home: Path, runs: tuple[Path, Path], tmp_path: Path) -> None:
    run, file = Path(shutil.copytree(runs[0], tmp_path / "run")), file_of(home, "fresh.csv", 20, seed=8)
    assert attack_run(run, attack="deepwordbug", examples=50, dataset=file, quiet=True).summary.examples == 20
    found = evaluate_run(run, datasets=[file], figures=(), quiet=True)["data"]
    assert found.shift["fresh"]["accuracy"].n == 20


def test_rows_that_either_run_was_trained_on_are_left_out_and_counted(home: Path, runs: tuple[Path, Path]) -> None:
    new, others = sentences(60, seed=9), [(f"{text} s0", label) for text, label in sentences(64, seed=0)]
    one = trained(home, "nine", write_csv(home / "nine.csv", new))
    file = write_csv(home / "both.csv", [*new, *others[:10], *sentences(5, seed=10)])
    with pytest.warns(DataWarning) as told:
        found = compare_runs(one, runs[0], dataset=str(file))
    assert found.rows == 6 + 5  # what was held out of the 60, and the new ones
    assert [str(one.message) for one in told] == [
        f"both: 54 of 75 rows are left out, since {one} was trained on them",
        f"both: 10 of 21 rows are left out, since {runs[0]} was trained on them",
    ]
    with pytest.raises(InputError, match=r"was trained on all 10 rows; choose other rows with --dataset"):
        compare_runs(one, runs[0], dataset=str(write_csv(home / "ten.csv", others[:10])))


def test_where_the_training_rows_are_gone_that_is_said(home: Path, runs: tuple[Path, Path]) -> None:
    gone = write_csv(home / "gone.csv", sentences(40, seed=11))
    one = trained(home, "left", gone)
    gone.unlink()
    with pytest.warns(DataWarning, match="is not known: its own data is not here"):
        assert compare_runs(one, runs[0], dataset=file_of(home, "late.csv", 12, seed=12)).rows == 12
