"""What a newcomer meets before any code: README, the package's metadata, the citation, the container."""

import inspect
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from picture import words

import uegr
from hatch_build import portable
from tests.doc_pages import ROOT, links, read
from uegr.cli.demo import demo

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "report.png"


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_the_readme_has_a_screen_and_a_half() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100


def test_the_script_of_the_readme_has_fifteen_lines() -> None:
    (script,) = read(README).python
    assert len([line for line in script.splitlines() if line.strip()]) <= 15


def test_the_demo_is_said_to_train_the_methods_of_its_grid() -> None:
    grid = yaml.safe_load((ROOT / "benchmarks" / "quick.yaml").read_text(encoding="utf-8"))
    (line,) = re.findall(r"^    make demo .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    for one in grid["methods"]:
        name = one if isinstance(one, str) else one["name"]
        for told in (line, grid["title"], inspect.getdoc(demo) or ""):
            assert re.search(rf"\b{name}\b", told), f"{name} is not in {told!r}"


def test_the_csv_needs_five_steps() -> None:
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if re.search(r"# \d\. ", line)]
    assert [re.search(r"# (\d)\.", line)[1] for line in lines] == list("12345")  # type: ignore[index]
    assert all(line.startswith("    uegr ") for line in lines)


def test_the_picture_of_the_report_is_there_and_small() -> None:
    assert 10_000 < PICTURE.stat().st_size < 200_000


def test_the_picture_of_the_report_is_of_the_demo_as_it_is() -> None:
    """It showed another method than the demo's for a day, and a column that had been renamed."""
    told = words(PICTURE)
    grid = yaml.safe_load((ROOT / "benchmarks" / "quick.yaml").read_text(encoding="utf-8"))
    names = [one if isinstance(one, str) else one.get("label", one["name"]) for one in grid["methods"]]
    assert [name for name in [*names, "Clean", "Cost"] if name not in told] == []


def test_the_readme_of_the_package_has_no_link_that_leads_nowhere() -> None:
    text = portable(README.read_text(encoding="utf-8"), project()["urls"].get("Repository"))
    assert links(README)
    found = re.findall(r"\]\(([^)]+)\)", text)
    assert found
    assert all(target.startswith("https://") for target in found)
    assert "![" not in text


def test_the_citation_has_the_version_and_the_licence_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == uegr.__version__
    assert cited["license"] == project()["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["references"][0]["url"] == project()["urls"]["Paper"]


def instructions() -> list[tuple[str, str]]:
    """(word, rest) of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_the_container_copies_what_exists_and_all_that_a_build_needs() -> None:
    copied = [name for word, rest in instructions() if word == "COPY" for name in shlex.split(rest)[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    needed = {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src", "benchmarks", "results"}
    needed |= {"constraints.txt"}
    assert set(copied) == needed


def test_the_container_installs_and_runs_what_the_makefile_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (torch,) = re.findall(r"install .*(torch==\S+)", makefile)
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    assert torch in installs[0]
    assert all("--constraint /tmp/build/constraints.txt" in line for line in installs)
    (command,) = [rest for word, rest in instructions() if word == "CMD"]
    (demo,) = re.findall(r"^demo:.*\n\t\$\(BIN\)/(uegr .*)$", makefile, re.MULTILINE)
    assert yaml.safe_load(command) == shlex.split(demo)


def test_the_container_does_not_run_as_root() -> None:
    words = [word for word, _ in instructions()]
    assert words[-2:] == ["USER", "CMD"]


@pytest.mark.slow
def test_a_linter_of_containers_finds_nothing() -> None:
    linter = shutil.which("hadolint", path=Path(sys.executable).parent)
    if linter is None:
        pytest.skip("no hadolint here; make test-slow installs it")
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", ["pip install uegr", "uv pip install uegr", ". .venv/bin/activate"])
def test_the_readme_says_how_to_install(name: str) -> None:
    assert name in README.read_text(encoding="utf-8")
