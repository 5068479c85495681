"""The temperature of a run, and the law that it is for: the scale of the logits decides no attack."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from tests.tiny_run import BAD, GOOD, NEUTRAL, data_folder, model_folder
from uegr import cli, open_run
from uegr.errors import DataWarning, InputError
from uegr.evaluation.calibration import temperature
from uegr.result import Temperature
from uegr.runs import calibrate, folder, manifest
from uegr.runs.attack import attack_run
from uegr.runs.calibrate import honest_temperature
from uegr.runs.evaluate import evaluate_run
from uegr.runs.export import export_onnx
from uegr.runs.train import train
from uegr.training.config import read_config

WORDS = {word: others for words, others in ((GOOD, BAD), (BAD, GOOD), (NEUTRAL, NEUTRAL)) for word in words}
ATTACKS = {
    "pwws": {},
    "pwws greedy": {"variant": "greedy"},
    "genetic": {"population": 4, "iterations": 3},
    "textfooler": {"similarity": None},
    "deepwordbug": {},
}


def trained(home, name, dataset):
    flags = {"method.name": "vanilla", "model.name": str(home / "model"), "dataset.name": str(dataset)}
    settings = ["training.batch_size=8", "training.learning_rate=0.01", "training.epochs=4"]
    train(read_config(None, flags, settings), home / name, quiet=True)
    return home / name


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("home")
    model_folder(place / "model")
    data_folder(place / "data", train=96, other=40)
    (place / "words.tsv").write_text("".join("\t".join([old, *new]) + "\n" for old, new in WORDS.items()))
    trained(place, "run", place / "data")
    return place


def scaled(home, factor):
    """The run with its logits multiplied, as if training had ended so: it has no temperature of its own yet."""
    place = home / f"run-{factor}"
    if not place.exists():
        shutil.copytree(home / "run", place, ignore=shutil.ignore_patterns("attacks"))
        weights = load_file(place / "model.safetensors")
        for name in ("classifier.weight", "classifier.bias"):
            weights[name] = weights[name] * factor
        save_file(weights, place / "model.safetensors", metadata={"format": "pt"})
        manifest.write(place, manifest.read(place).origin)
        folder.update(place, lambda result: result.with_task("data", temperature=None))
        fitted = honest_temperature(open_run(place).task(), ())
        folder.update(place, lambda result: result.with_task("data", temperature=fitted))
    return place


def attacked(place, home, name, **more):
    shutil.rmtree(place / "attacks", ignore_errors=True)
    surface = "default" if name == "deepwordbug" else str(home / "words.tsv")
    options = {"examples": 40, "surface": surface, "quiet": True, "settings": ATTACKS[name]} | more
    return attack_run(place, attack=name.split()[0], **options)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_scale_of_the_logits_decides_no_attack(home, name):
    plain = attacked(home / "run", home, name)
    assert plain.summary.accuracy_after < plain.summary.accuracy_before - 0.1
    for factor in (0.1, 10):
        found = attacked(scaled(home, factor), home, name)
        assert found.summary.accuracy_before == plain.summary.accuracy_before
        assert abs(found.summary.accuracy_after - plain.summary.accuracy_after) <= 1 / 40 + 1e-9
        assert different(found, plain) <= 1
    blind = attacked(scaled(home, 1000), home, name, calibrate=False)
    assert different(blind, plain) > 5  # without a temperature it does decide


def test_the_scale_of_the_logits_decides_no_perturbation(home):
    """Of a run: FGM and PGD ascend the loss after its own temperature."""
    radii = {"fgm": [0.3], "pgd": [0.3], "relative": [0.1]}
    found = [
        evaluate_run(place, figures=("fgm", "pgd"), radii=radii, quiet=True)["data"].perturbation
        for place in (home / "run", *(scaled(home, factor) for factor in (0.1, 10)))
    ]
    for name, curve in found[0].items():
        assert curve.points[1].accuracy.value < curve.points[0].accuracy.value
        for other in found[1:]:
            for one, same in zip(curve.points, other[name].points, strict=True):
                assert abs(one.accuracy.value - same.accuracy.value) <= 1 / 40 + 1e-9


def different(one, other):
    """How many examples ended with another text."""
    return sum(mine.found != theirs.found for mine, theirs in zip(one.outcomes, other.outcomes, strict=True))


def test_training_fits_the_temperature_on_validation_rows(home):
    run = open_run(home / "run")
    stored = run.result.tasks["data"].temperature
    rows = run.task().data().splits["validation"]
    assert stored.value == pytest.approx(temperature(run.task().probabilities(rows["text"]), rows["label"]), rel=1e-4)
    assert (stored.split, stored.rows) == ("validation", 40)
    for factor in (0.1, 10):
        assert open_run(scaled(home, factor)).task().heat() == pytest.approx(factor * stored.value, rel=1e-4)


@pytest.mark.parametrize(
    ("least", "remedy"), [(10, "attack fewer rows with --examples"), (50, "other rows with --dataset")]
)
def test_the_remedy_for_too_few_rows_is_one_that_can_work(home, monkeypatch, least, remedy):
    monkeypatch.setattr(calibrate, "LEAST", least)
    task = open_run(home / "run").task()
    texts = task.data().splits["validation"]["text"]
    with pytest.warns(DataWarning, match=f"got 4 of 40; .*{remedy}"):
        assert honest_temperature(task, set(texts[4:])) is None
    assert honest_temperature(task, ()) == task.about.temperature  # rows of another file


def figures(place, task):
    """The attacks of a run, newest last."""
    return list(folder.read(place).tasks[task].attacks.items())


def test_the_result_says_whether_an_attack_was_calibrated(home):
    place, stored = home / "run", open_run(home / "run").result.tasks["data"].temperature
    attacked(place, home, "deepwordbug", alone=True)
    attacked(place, home, "deepwordbug", calibrate=False)
    found = folder.read(place).tasks["data"].attacks
    calibrated, plain = (found[f"deepwordbug on data, 40 examples{more}"] for more in ("", ", calibrate False"))
    assert (calibrated.temperature, calibrated.settings["calibrated"]) == (stored, True)
    assert (plain.temperature, plain.settings["calibrated"]) == (None, False)
    assert calibrated.journal != plain.journal


def test_a_journal_with_another_temperature_is_not_resumed(home):
    attacked(home / "run", home, "deepwordbug")
    place = home / "other"
    shutil.copytree(home / "run", place)
    other = Temperature(value=3.0, split="validation", rows=40)
    folder.update(place, lambda result: result.with_task("data", temperature=other))
    with pytest.raises(InputError, match=r"was started with calibrated=.*, got 3.0"):
        attack_run(place, attack="deepwordbug", examples=40, resume=True, quiet=True)


def test_no_attacked_row_is_fitted_on(home):
    """Data with validation rows only: the fit takes those that are left, and there must be some."""
    data = home / "no-test"
    data.mkdir()
    for name in ("train", "validation"):
        shutil.copy(home / "data" / f"{name}.csv", data)
    place = trained(home, "no-test-run", data)
    attacked(place, home, "deepwordbug", examples=10)
    _, found = figures(place, "no-test")[-1]
    assert (found.temperature.split, found.temperature.rows) == ("validation", 30)
    with pytest.warns(DataWarning, match="the attack is not calibrated: expected 10 or more rows of validation"):
        attacked(place, home, "deepwordbug", examples=31)
    assert figures(place, "no-test")[-1][1].temperature is None
    assert evaluate_run(place, figures=(), quiet=True)["no-test"].calibration.ece_calibrated is None


def test_the_calibration_error_is_measured_before_and_after(home):
    found = evaluate_run(scaled(home, 10), figures=(), quiet=True)["data"].calibration
    same = evaluate_run(home / "run", figures=(), quiet=True)["data"].calibration
    assert found.ece.value == found.ece_before.value != found.ece_calibrated.value
    assert found.ece_calibrated.value == pytest.approx(same.ece_calibrated.value, abs=1e-3)


def test_predictions_are_calibrated_on_request(home):
    texts = ["the film was fine", "a dull plot"]
    plain, sharp = (open_run(place).predict(texts, calibrate=True) for place in (home / "run", scaled(home, 10)))
    assert [one.probabilities["good"] for one in sharp] == pytest.approx(
        [one.probabilities["good"] for one in plain], abs=1e-4
    )
    raw = open_run(scaled(home, 10)).predict(texts)
    assert raw[0].probabilities["good"] != pytest.approx(sharp[0].probabilities["good"], abs=1e-3)
    made = CliRunner().invoke(cli.app, ["predict", str(home / "run"), "--text", texts[0], "--calibrate"])
    assert json.loads(made.stdout)["probabilities"]["good"] == pytest.approx(plain[0].probabilities["good"], abs=1e-6)


def test_a_run_without_a_temperature_cannot_be_calibrated(home):
    place = home / "older"
    shutil.copytree(home / "run", place)
    folder.update(place, lambda result: result.with_task("data", temperature=None))
    refused = CliRunner().invoke(cli.app, ["predict", str(place), "--text", "a film", "--calibrate"])
    assert "expected a temperature for data" in str(refused.exception)


def test_an_onnx_file_is_calibrated_on_request(home):
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    run = open_run(home / "run")
    file = export_onnx(home / "run", home / "calibrated.onnx", calibrate=True).path
    batch = run.tokenizer(["the film was great", "a dull plot"], padding=True, return_tensors="pt")
    session = onnxruntime.InferenceSession(str(file))
    (calibrated,) = session.run(None, {node.name: batch[node.name].numpy() for node in session.get_inputs()})
    with torch.no_grad():
        plain = run.model(**batch).logits.numpy()
    assert abs(run.task().heat() - 1) > 0.01
    assert plain / run.task().heat() == pytest.approx(calibrated, abs=1e-5)
