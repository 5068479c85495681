"""benchmarks/kept_share.py: the shares of a gradient whose ranks are known."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kept_share.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("kept_share", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_mean_p_of_the_live_entries(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the entries are zeros, a tenth of the live ones are outside of the layers; beta is all but a step."""
    monkeypatch.setattr(script, "ALPHAS", (0.6,))
    monkeypatch.setattr(script, "BETAS", (1e6,))
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    gradients = {"words": torch.zeros(1000), "layer": values[:900], "head": values[900:]}
    found = {scope: share for (scope, _, _), share in script.shares(gradients, {"layer"}).items()}
    assert found["all"] == pytest.approx(0.8, abs=0.01)  # of 2,000 entries 800 are kept, all of them live
    assert found["live"] == pytest.approx(0.4, abs=0.01)
    assert found["encoder"] == pytest.approx(0.1 + 0.9 * 0.4, abs=0.01)


def test_the_output_is_json(
    script: Any, capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BETAS", (5.0,))
    rows = str(home / "data")
    script.main([f"textcnn/{rows}", "--steps", "1", "--json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["model"], result["dataset"], result["steps"]) == ("textcnn", rows, 1)
    assert 0 < result["live"] < 1
    assert {row["scope"] for row in result["kept"]} == {"all", "live", "encoder"}
    assert all(0 < row["kept"] <= 1 for row in result["kept"])
