"""`uegr train --resume`: a run is named by its folder, and what cannot be resumed says so."""

import json

import pytest

from uegr.cli.train import again
from uegr.training.config import RunConfig


def unfinished(finished, place):
    """The finished run as it was before it ended."""
    place.mkdir()
    (place / "config.yaml").write_bytes((finished / "config.yaml").read_bytes())
    return place


def test_a_run_resumes_by_its_folder_alone(uegr, finished, tmp_path):
    run = unfinished(finished, tmp_path / "run")
    code, out, error = uegr("train", "--resume", run, "--quiet", "--json")
    assert code == 0, error
    whole = json.loads((finished / "result.json").read_text())
    assert json.loads(out)["config"] == whole["config"]
    assert (run / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()


def test_other_settings_than_those_of_the_resumed_run_are_refused(uegr, finished, tmp_path):
    run = unfinished(finished, tmp_path / "run")
    assert "was started with another seed" in uegr("train", "--resume", run, "--seed", "9")[2]
    assert "leave out --output" in uegr("train", "--resume", run, "--output", tmp_path / "other")[2]
    assert "expected --resume" in uegr("train", run)[2]


def test_nothing_to_resume_is_an_error(uegr, train, tmp_path):
    code, _, error = train(tmp_path / "new", "--resume")
    assert (code, error) == (
        2,
        f"nothing to resume in {tmp_path / 'new'}: there is no such folder; leave out --resume to start a run",
    )
    assert not (tmp_path / "new").exists()
    start = f"start a run with `uegr train --dataset DATASET --output {tmp_path / 'new'}`"
    assert uegr("train", "--resume", tmp_path / "new")[2].endswith(f"there is no such folder; {start}")
    (tmp_path / "new").mkdir()
    assert uegr("train", "--resume", tmp_path / "new")[2].endswith(f"it has no config.yaml; {start}")
    (tmp_path / "new" / "reviews.csv").touch()  # a run cannot be started in its place
    for place in (tmp_path / "new", tmp_path / "new" / "reviews.csv"):
        assert uegr("train", "--resume", place)[2].endswith("; name the folder of a run")


def test_the_folder_of_a_grid_names_the_command_that_resumes_it(uegr, tmp_path):
    (tmp_path / "grid.yaml").touch()
    command = f"uegr benchmark FILE --output {tmp_path}"
    assert f"the folder of a grid, not of a run; resume it with `{command}`" in uegr("train", "--resume", tmp_path)[2]


def test_a_run_resumed_elsewhere_says_where_its_file_was_looked_for(uegr, finished, home, tmp_path, monkeypatch):
    """A run that was started before paths were kept."""
    config = unfinished(finished, tmp_path / "run") / "config.yaml"
    config.write_text(config.read_text().replace(str(home / "data"), "films.csv"))
    monkeypatch.chdir(tmp_path)
    code, _, error = uegr("train", "--resume", "run", "--quiet")
    remedy = "put it back, or change to the folder that the path starts from"
    assert (code, error) == (2, f"there is no films.csv, the data of run in {tmp_path}; {remedy}")


def test_resume_without_a_run_says_how_it_is_named(uegr, tmp_path):
    assert uegr("train", "--resume")[2] == "expected the folder of a run to resume, got none; use --resume RUN"
    place = tmp_path / "a run"
    assert uegr("train", "--resume", "--output", place)[2].endswith(f"got none; use --resume '{place}'")


@pytest.mark.parametrize("command", [["evaluate"], ["attack"], ["predict", "--text", "x"]])
def test_an_unfinished_run_is_named_with_the_command_that_finishes_it(command, uegr, finished, tmp_path):
    run = unfinished(finished, tmp_path / "a run")
    code, _, error = uegr(*command, run)
    assert (code, error) == (
        2,
        f"{run} is an unfinished run: it has no file result.json; finish it with `uegr train --resume '{run}'`",
    )


@pytest.mark.parametrize(
    ("method", "trusting", "device", "flags"),
    [
        ("uegr", False, None, []),
        ("mine:method", False, None, ["--allow-code"]),
        ("mine:method", True, "cpu", ["--allow-code", "--trust-remote-code", "--device", "cpu"]),
    ],
)
def test_the_command_after_ctrl_c_has_the_flags_that_no_folder_can_give(method, trusting, device, flags):
    model = {"name": "minilm", "trust_remote_code": trusting}
    config = RunConfig(method={"name": method}, model=model, dataset={"name": "x"})
    assert again(config, device) == flags
