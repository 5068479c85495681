"""A run finds its data from every folder; if it is gone, the line says where it was."""

import json
import shutil

import pytest

from tests.tiny_run import model_folder, sentences, write_csv
from uegr.errors import InputError
from uegr.runs import manifest, paths
from uegr.runs.finished import open_run
from uegr.runs.hub import write_hub_folder
from uegr.runs.interpolate import interpolate_run
from uegr.runs.train import train
from uegr.training.config import RunConfig


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project with a file, and a run on it that was started there."""
    place = tmp_path_factory.mktemp("project")
    write_csv(place / "reviews.csv", sentences(80))
    model_folder(place / "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        train(configured(place), place / "runs" / "first", quiet=True)
    return place


def configured(home):
    training = {"max_steps": 4, "checkpoint_steps": 2, "batch_size": 8}
    return RunConfig(
        model={"name": str(home / "model")},
        dataset={"name": "reviews.csv"},
        method={"name": "vanilla"},
        training=training,
    )


@pytest.fixture
def project(home, tmp_path, monkeypatch):
    """A copy of the project elsewhere, seen from yet another folder."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    return shutil.copytree(home, tmp_path / "moved")


def interrupted(run):
    """The run as it was before it ended."""
    for path in run.iterdir():
        if path.name not in ("config.yaml", paths.FILE):
            path.unlink()
    return run


def test_a_run_that_was_moved_with_its_project_finds_its_data(project):
    run = project / "runs" / "first"
    assert json.loads((run / paths.FILE).read_text()) == {"reviews.csv": "../../reviews.csv"}
    assert len(open_run(run).task().data().splits["train"]) == 80


def test_it_resumes_from_another_folder_to_the_same_bits(home, project):
    run = interrupted(project / "runs" / "first")
    train(configured(home), run, resume=True, quiet=True)
    known, found = (manifest.read(place / "runs" / "first").origin for place in (home, project))
    assert known.rows == found.rows  # a checkpoint of the one is one of the other
    for name in ("model.safetensors", "config.yaml", paths.FILE):
        assert (run / name).read_bytes() == (home / "runs" / "first" / name).read_bytes()


def test_a_file_of_the_same_name_in_another_folder_is_another_one(project):
    write_csv(project.parent / "other" / "reviews.csv", sentences(20, seed=5))
    task = open_run(project / "runs" / "first").task()
    assert len(task.data().splits["train"]) == 80
    assert len(task.data("reviews.csv").splits["train"]) == 20
    assert set(task.held_out("reviews.csv").splits) == {"test"}


def test_data_that_is_gone_is_named_and_each_remedy_works(home, project, monkeypatch):
    run = project / "runs" / "first"
    away = shutil.move(project / "reviews.csv", project.parent)
    missing = (
        f"there is no reviews.csv, the data of {run}, at {project / 'reviews.csv'} or in {project.parent / 'other'}"
    )
    for use in (lambda: open_run(run).task().data(), lambda: resumed(home, project)):
        with pytest.raises(InputError) as error:
            use()
        assert str(error.value) == f"{missing}; put it back, or change to the folder that the path starts from"
    monkeypatch.chdir(project.parent)
    assert resumed(home, project).tasks["reviews"].rows == 72
    assert json.loads((run / paths.FILE).read_text()) == {"reviews.csv": "../../../reviews.csv"}
    shutil.move(away, project)
    (run / paths.FILE).write_text('{"reviews.csv": "../../reviews.csv"}')
    assert len(open_run(run).task().data().splits["train"]) == 80


def resumed(home, project):
    return train(configured(home), interrupted(project / "runs" / "first"), resume=True, quiet=True)


def test_an_interpolated_run_finds_the_data_too(project):
    run, new = project / "runs" / "first", project / "mixed"
    interpolate_run(run, new, 0.5)
    assert json.loads((new / paths.FILE).read_text()) == {"reviews.csv": "../reviews.csv"}


def test_paths_of_this_machine_stay_at_home(home, tmp_path):
    assert paths.FILE not in write_hub_folder(home / "runs" / "first", "me/model", tmp_path / "hub")


@pytest.mark.parametrize("content", ["[]", '{"reviews.csv": 1}', "{"])
def test_a_damaged_file_is_one_line(content, project):
    run = project / "runs" / "first"
    (run / paths.FILE).write_text(content)
    with pytest.raises(InputError, match=paths.FILE):
        open_run(run).task().data()
