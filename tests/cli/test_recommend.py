"""`uegr recommend`: what reaches the terminal (tests/report/test_recommendation.py has the choice)."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from tests.report.test_recommendation import EASY, cell, fill
from uegr import doctor
from uegr.cli import app
from uegr.ledger import package
from uegr.ledger.entries import entry, write
from uegr.training.config import RECOMMENDED

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledger")
    fill(folder, {"vanilla": EASY["vanilla"]}, epochs=2.0)
    return fill(folder, {"fgm": EASY["fgm"], "uegr": EASY["uegr"]}, epochs=2.0, epsilon=0.3)


def test_the_answer_has_a_command_that_parses_and_the_evidence(uegr: Command, ledger: Path) -> None:
    code, out, error = uegr("recommend", "--rows", 1000, "--model", "minilm", "--ledger", ledger)
    assert code == 0, error
    lines = out.splitlines()
    assert lines[0].startswith("Use uegr: the highest robust score")
    assert lines[1].split() == shlex.split(
        "uegr train --method uegr --model minilm --dataset DATA --set method.epsilon=0.3 --epochs 2 --batch-size 16"
    )
    program = typer.main.get_command(app)
    train = program.commands["train"]  # type: ignore[attr-defined]
    train.make_context("train", lines[1].split()[2:], resilient_parsing=True)
    assert "Evidence: main: imdb with minilm, 1,000 rows, 3 seeds." in lines
    assert "uegr against vanilla: robust: better; clean: no difference shown." in lines


def test_the_limit_and_the_reasons_are_told(uegr: Command, ledger: Path) -> None:
    code, out, _ = uegr("recommend", "--rows", 90_000, "--max-cost", 2, "--ledger", ledger)
    assert code == 0
    assert out.startswith("Use fgm: the highest robust score within 2 times the passes of vanilla")
    assert "Not recommended (costs 3.2 ×): uegr." in out
    assert "No study has about 90,000 rows" in out


def test_json_has_the_choice_the_evidence_and_the_rivals(uegr: Command, ledger: Path) -> None:
    code, out, _ = uegr("recommend", "--rows", 1000, "--ledger", ledger, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["method"], found["shown"]) == ("uegr", True)
    assert found["settings"]["method.epsilon"] == 0.3
    best, other = found["evidence"]["methods"]
    assert (best["method"], best["not_recommended"], best["doubts"]) == ("uegr", [], [])
    assert best["robust"]["low"] > other["robust"]["value"]
    assert found["rivals"][0]["method"] == "fgm"


def test_without_evidence_it_says_so(uegr: Command, ledger: Path) -> None:
    code, out, _ = uegr("recommend", "--rows", 1000, "--model", "textcnn", "--ledger", ledger)
    assert code == 0
    assert out.splitlines() == [
        "No evidence yet for such a model: nothing was measured. Use vanilla: it costs least.",
        "  uegr train --method vanilla --model textcnn --dataset DATA",
        "Evidence: nothing.",
    ]


@pytest.mark.parametrize("inside", ["", "study", "study/cells"])
def test_a_folder_that_is_no_ledger_is_one_line(uegr: Command, tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).mkdir(parents=True, exist_ok=True)
    code, out, error = uegr("recommend", "--rows", 1000, "--ledger", tmp_path)
    assert (code, out) == (2, "")
    assert f"got {tmp_path}, which has no study with results; name the folder that `uegr benchmark --ledger`" in error


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("nosuch", "see `uegr list models`"), ("minlm", "did you mean minilm"), ("a/b/c", "see `uegr list models`")],
)
def test_a_model_that_cannot_be_is_one_line(uegr: Command, ledger: Path, name: str, remedy: str) -> None:
    code, out, error = uegr("recommend", "--rows", 1000, "--model", name, "--ledger", ledger)
    assert (code, out) == (2, "")
    assert error.startswith(f"expected an alias, a folder or owner/name, got {name}; {remedy}")


def test_evidence_from_another_model_and_the_reports_order_are_told(uegr: Command, ledger: Path) -> None:
    out = uegr("recommend", "--rows", 1000, "--model", "owner/name", "--ledger", ledger)[1]
    assert "No study near has owner/name: the evidence is from minilm, also pretrained." in out
    own = uegr("recommend", "--rows", 1000, "--model", "minilm", "--ledger", ledger)[1]
    assert "No study near" not in own
    assert "A report may rank otherwise" in own


@pytest.mark.parametrize(("flags", "shown"), [([], False), (["amx_bf16"], True), (None, True)])
def test_bf16_is_left_out_where_the_processor_lacks_it(
    uegr: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str] | None, shown: bool
) -> None:
    monkeypatch.setattr(doctor, "bf16_flags", lambda: flags)
    fill(tmp_path, {"vanilla": EASY["vanilla"]})
    for seed in range(3):
        made = cell("fgm", seed, 0.9, 0.5, "imdb", train_size=1000)
        config = made.config.model_copy(update={"training": made.config.training | {"precision": "bf16"}})
        write(tmp_path / "main", entry("main", f"fgm-{seed}", made.model_copy(update={"config": config})))
    out = uegr("recommend", "--rows", 1000, "--ledger", tmp_path)[1]
    assert ("--precision bf16" in out.splitlines()[1]) == shown
    assert ("this processor has no bf16 instructions" in out) != shown


def test_the_packages_own_ledger_is_found_in_a_clone_and_in_a_wheel(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert package.FOLDERS[1] == Path(__file__).parents[2] / "results"
    monkeypatch.setattr(package, "FOLDERS", (tmp_path / "gone", ledger))
    assert package.studies() == [ledger / "main"]
    monkeypatch.setattr(package, "FOLDERS", (tmp_path / "gone",))
    assert package.studies() == []


def test_a_ledger_that_is_not_there_is_one_line(uegr: Command, tmp_path: Path) -> None:
    code, _, error = uegr("recommend", "--rows", 1000, "--ledger", tmp_path / "gone")
    assert code == 2
    assert "no such folder" in error
    assert "--ledger" in error


def test_settings_without_a_flag_are_set_and_words_are_quoted(
    uegr: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my model").mkdir()
    fill(tmp_path, {"vanilla": EASY["vanilla"]})
    for seed in range(3):
        made = cell("fgm", seed, 0.9, 0.5, "imdb", train_size=1000)
        trained = {"training": made.config.training | {"averaging": "tail", "group_by_length": False}}
        made = made.model_copy(update={"config": made.config.model_copy(update=trained)})
        write(tmp_path / "main", entry("main", f"fgm-{seed}", made))
    code, out, _ = uegr("recommend", "--rows", 1000, "--model", "my model", "--ledger", tmp_path, "--json")
    assert code == 0
    assert json.loads(out)["command"] == (
        "uegr train --method fgm --model 'my model' --dataset DATA --epochs 3 --batch-size 16 "
        "--set training.averaging=tail --set training.group_by_length=false"
    )


def test_the_default_of_train_is_what_the_committed_results_recommend(uegr: Command) -> None:
    code, out, error = uegr("recommend", "--rows", 1000, "--model", "minilm-l3", "--json")
    assert code == 0, error
    found = json.loads(out)
    chosen = {key.partition(".")[2]: value for key, value in found["settings"].items() if key.startswith("method.")}
    assert {"name": found["method"], **chosen} == RECOMMENDED
