"""A method by its name: a file runs no code unless it is allowed to, and only methods are called."""

from pathlib import Path

import pytest

from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.errors import InputError
from uegr.training.config import read_config
from uegr.training.factories import factory

OWN = """
from pathlib import Path
from uegr.methods import Method, Objective, configured

@configured
def mine(*, share: float = 0.5) -> Method:
    Path("called").touch()
    return Method(Objective())

def plain(*, share: float = 0.5) -> Method:
    Path("called").touch()
    return Method(Objective())

ready = mine
"""
GRID = "title: a\ndatasets: [snippets]\nmethods: [{name: NAME, method: {SETTINGS}}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module of the user's own."""
    (tmp_path / f"own_{tmp_path.name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def config_file(folder: Path, name: str, settings: str = "") -> Path:
    path = folder / "x.yaml"
    path.write_text(f'method: {{name: "{name}"{settings}}}\ndataset: snippets\n')
    return path


def grid_file(folder: Path, name: str, settings: str = "") -> Path:
    path = folder / "grid.yaml"
    path.write_text(GRID.replace("NAME", f'"{name}"').replace("SETTINGS", settings))
    return path


SHELL = {"os:system": "command: touch ran", "subprocess:getoutput": "cmd: touch ran"}


@pytest.mark.parametrize("name", SHELL)
def test_a_file_runs_no_shell_command(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"x.yaml names the method .*, which runs code; .* use --allow-code$"):
        read_config(config_file(folder, name, f", {SHELL[name]}"), {}, [])
    with pytest.raises(InputError, match=r"^grid.yaml names the method .*, which runs code; .* use --allow-code$"):
        read_grid(grid_file(folder, name, SHELL[name]))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", SHELL)
def test_not_even_an_allowed_file_calls_what_is_not_a_method(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"with the decorator uegr.methods.configured, or a uegr.Method, got"):
        read_config(config_file(folder, name, f", {SHELL[name]}"), {}, [], allow_code=True)
    with pytest.raises(InputError, match=r"with the decorator uegr.methods.configured"):
        cells_of(read_grid(grid_file(folder, name, SHELL[name]), allow_code=True))
    with pytest.raises(InputError, match=r"with the decorator uegr.methods.configured"):
        read_config(None, {"method.name": name, "dataset.name": "snippets"}, [])
    assert not (folder / "ran").exists()


def test_a_plan_calls_nothing_of_the_users_and_knows_its_options(folder: Path) -> None:
    name = f"own_{folder.name}:mine"
    (cell,) = cells_of(read_grid(grid_file(folder, name, "share: 0.7"), allow_code=True))
    assert cell.config["method"] == {"name": name, "share": 0.7}
    assert not (folder / "called").exists()


def test_the_command_line_and_an_allowed_file_may_name_a_method_of_the_users_own(folder: Path) -> None:
    name = f"own_{folder.name}:mine"
    flags = {"method.name": name, "dataset.name": "snippets"}
    for config in (
        read_config(None, flags, ["method.share=0.7"]),
        read_config(config_file(folder, "os:system"), flags, ["method.share=0.7"]),  # the flag wins
        read_config(config_file(folder, name, ", share: 0.7"), {}, [], allow_code=True),
    ):
        assert config.method_options() == {"name": name, "share": 0.7}
    with pytest.raises(InputError, match="with the decorator"):
        factory(f"own_{folder.name}:plain")


def test_a_file_trusts_no_code_of_a_model(folder: Path) -> None:
    path = folder / "x.yaml"
    path.write_text("model: {name: m, trust_remote_code: true}\ndataset: snippets\n")
    with pytest.raises(InputError, match=r"sets model.trust_remote_code, which runs code; .* use --allow-code$"):
        read_config(path, {}, [])
    assert read_config(path, {"model.trust_remote_code": True}, []).model.trust_remote_code
    assert read_config(path, {}, [], allow_code=True).model.trust_remote_code
    assert not read_config(path, {}, ["model.trust_remote_code=false"]).model.trust_remote_code


@pytest.mark.parametrize(
    "more",
    [
        "shared: {model: {trust_remote_code: true}}",
        "models: [{name: minilm, model: {trust_remote_code: true}}]",
        "vary: {model.trust_remote_code: [true]}",
        "search: {trials: 1, space: {model.trust_remote_code: [true]}}",
    ],
)
def test_a_grid_trusts_no_code_of_a_model(folder: Path, more: str) -> None:
    path = folder / "grid.yaml"
    path.write_text(f"title: a\ndatasets: [snippets]\nmethods: [vanilla]\n{more}\n")
    with pytest.raises(InputError, match=r"^grid.yaml sets model.trust_remote_code, which runs code"):
        read_grid(path)
    assert read_grid(path, allow_code=True)


@pytest.mark.parametrize("more", ["vary: {method.name: [os:system]}", "search: {trials: 1, space: {method.name: [x]}}"])
def test_a_grid_varies_no_name_of_a_method(folder: Path, more: str) -> None:
    path = folder / "grid.yaml"
    path.write_text(f"title: a\ndatasets: [snippets]\nmethods: [vanilla]\n{more}\n")
    with pytest.raises(InputError, match=r"got method.name; list the methods under"):
        read_grid(path, allow_code=True)
