"""Every method from the command line, on the embedded encoder and the snippets, with no flag of its own."""

import json

import pytest
from typer.testing import CliRunner

from uegr.cli import app
from uegr.methods import METHODS


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_trains_the_embedded_encoder(name, tmp_path):
    small = ["--train-size", "48", "--set", "training.max_steps=2", "--quiet", "--json"]
    done = CliRunner().invoke(
        app, ["train", "--method", name, "--dataset", "snippets", "--output", str(tmp_path / "run"), *small]
    )
    assert done.exit_code == 0, done.exception
    result = json.loads(done.stdout)
    assert result["config"]["method"]["name"] == name
    assert result["training"]["steps"] == 2
    assert 0.3 < result["tasks"]["snippets"]["scores"]["test"]["accuracy"]["value"] < 1
