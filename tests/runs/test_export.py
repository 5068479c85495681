"""`uegr export --onnx`: one file that agrees with the model, or none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.models.families import FAMILIES, tiny
from uegr import cli
from uegr.errors import InputError
from uegr.models import export
from uegr.runs import export as benchmark
from uegr.runs.finished import open_run
from uegr.runs.folder import LOCK
from uegr.runs.train import train
from uegr.training.config import RunConfig

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


def finished(home, model, **settings):
    name = home / f"run {Path(model).name}"
    if not name.exists():
        training = {"epochs": 2, "learning_rate": 0.01, "batch_size": 8}
        data = {"name": str(home / "data")}
        chosen = {"name": str(model), "settings": settings}
        train(RunConfig(method={"name": "vanilla"}, model=chosen, dataset=data, training=training), name, quiet=True)
    return name


@pytest.fixture(scope="module")
def exported(home):
    """A run with its ONNX file, and what the command printed: the exporter takes seconds."""
    run = finished(home, home / "model")
    result = CliRunner().invoke(cli.app, ["export", str(run), "--onnx"])
    assert result.exception is None, result.exception
    return run, result.stdout


def test_a_run_becomes_one_file_for_any_batch_and_length(exported):
    import onnxruntime

    run, printed = exported
    assert f"{run}/model.onnx" in printed
    assert "on 100 texts" in printed
    assert [path.name for path in run.glob("*onnx*")] == ["model.onnx"]
    session = onnxruntime.InferenceSession(str(run / "model.onnx"))
    assert session.get_inputs()[0].shape == ["batch", "length"]
    loaded = open_run(run)
    for texts in (["the film was great"], ["a poor plot and", "grim", "the the the the the the bright scene with a"]):
        batch = loaded.tokenizer(texts, padding=True, return_tensors="pt")
        (found,) = session.run(None, {node.name: batch[node.name].numpy() for node in session.get_inputs()})
        with torch.no_grad():
            assert np.abs(found - loaded.model(**batch).logits.numpy()).max() < 1e-4


def test_a_file_that_disagrees_is_refused_and_nothing_is_left(exported, monkeypatch):
    run, _ = exported

    def damaged(model, batch, file, temperature):
        shutil.copy(run / "model.onnx", file)
        model.classifier.bias.data[0] += 0.01  # what the file holds is not what the model is

    monkeypatch.setattr(export, "write", damaged)
    before = {path: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(InputError, match=r"differs from the torch model by .* nothing was written"):
        benchmark.export_onnx(run)
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_a_file_in_the_runs_folder_is_listed_and_a_changed_one_is_refused(exported, tmp_path, monkeypatch):
    run = shutil.copytree(exported[0], tmp_path / "run")
    file = run / "model.onnx"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"model.onnx has changed since it was written: .*; remove the file, then"):
        open_run(run).predict(["a fine film"])
    file.unlink()  # who needs no export may remove it
    open_run(run).predict(["a fine film"])
    monkeypatch.setattr(export, "write", lambda model, batch, made, heat: shutil.copy(exported[0] / "model.onnx", made))
    benchmark.export_onnx(run)
    open_run(run).predict(["a fine film"])
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"model.onnx has [\d,]+ bytes, expected"):
        open_run(run).predict(["a fine film"])


def test_the_files_of_the_run_itself_are_not_replaced(exported):
    run, _ = exported
    with pytest.raises(InputError, match=r"expected a name that ends with .onnx in the folder of the run, got model.s"):
        benchmark.export_onnx(run, run / "model.safetensors")


def test_an_exporter_that_fails_is_one_line_and_leaves_nothing(home, monkeypatch):
    run = finished(home, "textcnn", embedding_size=8, filters=4)

    def fails(*arguments, **options):
        Path(arguments[2]).write_text("half a file")
        raise RuntimeError("step 2/3\nfailed")

    monkeypatch.setattr(torch.onnx, "export", fails)
    with pytest.raises(
        InputError, match="TextCNNForSequenceClassification cannot be exported to ONNX: step 2/3 failed"
    ):
        benchmark.export_onnx(run)
    assert not list(run.glob("*onnx*"))
    assert not [name for name in os.listdir(run) if name.startswith(".") and name != LOCK]


@pytest.mark.parametrize("family", ["xlnet", "texthan"])
def test_families_that_cannot_be_exported_say_so(family):
    with pytest.raises(InputError, match=r"cannot be exported to ONNX; BERT's relatives"):
        export.refuse(tiny(family)[0])


def test_without_the_packages_one_line_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(export, "importable", lambda name: name == "onnx")
    with pytest.raises(InputError, match=r"onnxruntime, onnxscript for ONNX, got none; pip install 'uegr\[onnx\]'"):
        export.refuse(tiny("bert")[0])


def test_a_form_must_be_named_and_the_folder_must_exist(home):
    run = finished(home, home / "model")
    assert "--onnx" in str(CliRunner().invoke(cli.app, ["export", str(run)]).exception)
    with pytest.raises(InputError, match="expected a folder that exists"):
        benchmark.export_onnx(run, home / "nowhere" / "model.onnx")


def test_without_its_data_a_run_is_checked_on_built_in_sentences(home):
    task = open_run(finished(home, home / "model")).task()
    task.about = task.about.model_copy(update={"dataset": str(home / "gone")})
    assert benchmark.check_texts(task) == benchmark.sentences(pairs=False)


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in ("xlnet", "texthan")])
def test_every_other_family_is_exported(family, tmp_path):
    import onnxruntime

    model, vocabulary = tiny(family, num_labels=3)
    model.eval()
    generator = torch.Generator().manual_seed(1)

    def batch(rows, length):
        ids = torch.randint(5, vocabulary, (rows, length), generator=generator)
        mask = (torch.arange(length) < torch.randint(1, length + 1, (rows, 1), generator=generator)).long()
        mask[0] = 1
        return {"input_ids": torch.where(mask == 1, ids, model.config.pad_token_id), "attention_mask": mask}

    with export.exported(model, batch(3, 7), tmp_path / "model.onnx") as file, torch.no_grad():
        session = onnxruntime.InferenceSession(str(file))
        for shape in ((1, 1), (1, 5), (4, 2), (5, 11)):
            values = batch(*shape)
            (found,) = session.run(None, {node.name: values[node.name].numpy() for node in session.get_inputs()})
            assert np.abs(found - model(**values).logits.numpy()).max() < 1e-4


def test_the_runtime_reports_to_nobody(tmp_path):
    """It would keep a number of this machine and a file of what it wants to send."""
    left = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    code = "from uegr.runs.export import runtime; runtime()"
    there = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], env=left | there, check=True)
    assert not list(tmp_path.rglob("*onnxruntime*"))
