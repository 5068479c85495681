"""A run for the model hub, against a local folder: nothing here asks a network."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from huggingface_hub import HfApi, ModelCard, parse_eval_result_entries
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from uegr.errors import InputError
from uegr.result import Result
from uegr.runs import folder, hub
from uegr.runs.train import train
from uegr.training.config import RunConfig


@pytest.fixture(scope="module")
def finished(home: Path) -> Path:
    training = {"epochs": 1, "learning_rate": 0.01}
    config = {"method": {"name": "fgm", "epsilon": 0.01}, "model": {"name": str(home / "model")}}
    config |= {"dataset": {"name": str(home / "data")}, "training": training}
    train(RunConfig.model_validate(config), home / "finished", quiet=True)
    return home / "finished"


def on_sst2(result: Result) -> Result:
    """The same figures, said to be of a data set that is on the hub."""
    task = next(iter(result.tasks.values()))
    return result.model_copy(update={"tasks": {"sst2": task.model_copy(update={"dataset": "sst2"})}})


def test_the_folder_loads_and_holds_no_path_of_this_machine(finished: Path, tmp_path: Path) -> None:
    files = hub.write_hub_folder(finished, "me/mine", tmp_path / "hub")
    assert AutoModelForSequenceClassification.from_pretrained(tmp_path / "hub").config.num_labels == 2
    assert AutoTokenizer.from_pretrained(tmp_path / "hub")("a fine film")
    assert not {"result.json", "config.yaml", "manifest.json", "metrics.jsonl", ".lock"} & set(files)
    for file in files:
        assert str(finished.parent).encode() not in (tmp_path / "hub" / file).read_bytes(), file


def test_the_card_has_the_model_index(finished: Path, tmp_path: Path) -> None:
    hub.write_hub_folder(finished, "me/mine", tmp_path / "hub")
    card = ModelCard.load(tmp_path / "hub" / "README.md").data
    scores = folder.read(finished).tasks["data"].scores
    assert card.model_name == "mine"
    assert {(one.dataset_split, one.metric_value) for one in card.eval_results} >= {
        (split, round(found["accuracy"].value, 4)) for split, found in scores.items()
    }


def test_scores_on_a_hub_data_set_are_eval_results(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    folder.update(run, on_sst2)
    files = hub.write_hub_folder(run, "me/mine", tmp_path / "hub")
    assert ".eval_results/sst2.yaml" in files
    (entry,) = parse_eval_result_entries(yaml.safe_load((tmp_path / "hub/.eval_results/sst2.yaml").read_text()))
    figure = folder.read(run).tasks["sst2"].scores["test"]["accuracy"]
    assert (entry.dataset_id, entry.task_id) == ("nyu-mll/glue", "sst2")
    assert entry.value == round(100 * figure.value, 2)
    assert entry.notes is not None
    assert entry.notes.startswith("accuracy on test, 16 rows")


def test_an_own_file_has_no_eval_results(finished: Path, tmp_path: Path) -> None:
    assert not any(file.startswith(".eval") for file in hub.write_hub_folder(finished, "me/mine", tmp_path / "hub"))


def test_upload_creates_a_private_repository_and_leaves_nothing_behind(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def create(self: HfApi, name: str, **options: Any) -> str:
        asked.update(name=name, **options)
        return f"https://hub/{name}"

    def send(self: HfApi, *, repo_id: str, folder_path: str, **options: Any) -> None:
        shutil.copytree(folder_path, tmp_path / repo_id)

    monkeypatch.setattr(HfApi, "create_repo", create)
    monkeypatch.setattr(HfApi, "upload_folder", send)
    before = sorted(finished.iterdir())
    assert hub.upload(finished, "me/mine") == "https://hub/me/mine"
    assert asked == {"name": "me/mine", "private": True, "exist_ok": True}
    assert (tmp_path / "me" / "mine" / "model.safetensors").read_bytes() == (
        finished / "model.safetensors"
    ).read_bytes()
    assert sorted(finished.iterdir()) == before


def answer(status: int) -> HfHubHTTPError:
    """What the client raises for an answer of the hub."""
    response: Any = SimpleNamespace(status_code=status, headers={}, request=None)
    return HfHubHTTPError(f"Client error {status}\nmore", response=response)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (answer(401), "log in with `hf auth login`"),
        (answer(403), "log in with `hf auth login`"),
        (answer(503), "check the name, try again later, or write the folder with --output FOLDER"),
        (ConnectionError("no route"), "connect to the network, or write the folder with --output FOLDER"),
        (OfflineModeIsEnabled("offline"), "unset HF_HUB_OFFLINE, or write the folder with --output FOLDER"),
    ],
    ids=["401", "403", "503", "no network", "offline"],
)
def test_each_failure_has_its_own_remedy(
    finished: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, remedy: str
) -> None:
    def refuse(self: HfApi, name: str, **options: Any) -> str:
        raise error

    monkeypatch.setattr(HfApi, "create_repo", refuse)
    with pytest.raises(InputError) as caught:
        hub.upload(finished, "me/mine")
    reason = str(error).splitlines()[0]
    assert str(caught.value).startswith(f"cannot upload to me/mine: {reason}; {remedy}")


def test_offline_mode_is_told_by_the_real_client(finished: Path) -> None:
    with pytest.raises(InputError, match=r"unset HF_HUB_OFFLINE, or write the folder with --output FOLDER"):
        hub.upload(finished, "me/mine")


@pytest.mark.parametrize("name", ["bad name/??/x", "justname", "me/", "me/a--b", ""])
def test_a_name_that_no_repository_can_have_is_refused_before_anything_is_written(
    finished: Path, tmp_path: Path, name: str
) -> None:
    for write in (lambda: hub.write_hub_folder(finished, name, tmp_path / "hub"), lambda: hub.upload(finished, name)):
        with pytest.raises(InputError, match="expected a repository as owner/name, such as me/my-model, got"):
            write()
    assert not (tmp_path / "hub").exists()


def test_a_damaged_run_is_not_published(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    (run / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(InputError, match="the run is damaged"):
        hub.write_hub_folder(run, "me/mine", tmp_path / "hub")
