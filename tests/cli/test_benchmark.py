"""`uegr benchmark`: its options (tests/benchmark/ has the rest)."""

import json

import pytest

from tests.benchmark.tiny_grid import grid_file


def test_the_plan_is_printed_as_json(uegr, home, tmp_path):
    base = ["benchmark", grid_file(tmp_path, home), "--output", tmp_path / "out", "--dry-run"]
    code, out, error = uegr(*base, "--json")
    assert code == 0, error
    assert [(cell["method"], cell["state"]) for cell in json.loads(out)["cells"]] == [
        ("vanilla", "missing"),
        ("rdrop", "missing"),
    ]
    assert "2 cells: 2 missing" in uegr(*base)[1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("flag", ["--backend", "--workers", "--address", "--cpus", "--gpus"])
def test_help_has_the_options_of_the_machine_under_a_heading(flag, uegr):
    assert flag in uegr("benchmark", "--help")[1].partition("Machine")[2]


def test_an_address_needs_ray(uegr, home, tmp_path):
    code, _, error = uegr("benchmark", grid_file(tmp_path, home), "--address", "auto")
    assert (code, error) == (2, "--address is for --backend ray; leave it out, or use both")
