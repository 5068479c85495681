"""A folder from somebody else runs no code: neither its model's nor its tokenizer's, whatever its files say."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import config_of
from tests.faults.hostile import CODE, MAPS, change
from uegr import open_run
from uegr.errors import InputError
from uegr.runs.evaluate import evaluate_run
from uegr.runs.train import train
from uegr.training.config import ModelConfig, RunConfig

REFUSED = (
    r"brings its own Python code, which is not run; .* use --trust-remote-code \(in Python: trust_remote_code=True"
)


def with_model(config: RunConfig, **model: Any) -> RunConfig:
    return config.model_copy(update={"model": ModelConfig(**model)})


@pytest.fixture
def hostile(run: Path) -> Path:
    """A run whose model is Python code, and which says that this is fine."""
    (run / "evil.py").write_text(CODE.format(mark=str(run / "ran")))
    change(run / "config.json", lambda config: config.update(model_type="evil", auto_map=MAPS))
    change(run / "result.json", lambda result: result["config"]["model"].update(trust_remote_code=True))
    return run


def test_a_received_teacher_does_not_run_its_code(home: Path, hostile: Path, tmp_path: Path) -> None:
    config = config_of(home, teachers=(str(hostile),))
    settings = {"encoder": str(home / "model"), "steps": 1}
    with pytest.raises(InputError, match=REFUSED):
        train(with_model(config, name="mtdnn", settings=settings), tmp_path / "new", quiet=True)
    assert not (hostile / "ran").exists()


def test_the_model_that_a_run_started_from_does_not_run_its_code(finished: Path, hostile: Path) -> None:
    """Drift is measured from the pretrained model, whose name is in result.json."""
    honest = hostile.parent / "honest"
    shutil.copytree(finished, honest)
    change(honest / "result.json", lambda result: result["config"]["model"].update(name=str(hostile)))
    with pytest.raises(InputError, match=REFUSED):
        evaluate_run(honest, figures=["drift"], rows=4, quiet=True)
    assert not (hostile / "ran").exists()


def test_a_tokenizer_with_code_is_read_without_it(run: Path) -> None:
    (run / "evil.py").write_text(CODE.format(mark=str(run / "ran")))
    both = {"AutoTokenizer": ["evil.EvilTokenizer", "evil.EvilTokenizer"]}
    change(run / "tokenizer_config.json", lambda one: one.update(tokenizer_class="EvilTokenizer", auto_map=both))
    assert open_run(run).predict(["a fine film"])[0].label in ("bad", "good")
    assert not (run / "ran").exists()


def test_the_caller_may_trust_the_code(hostile: Path) -> None:
    with pytest.raises(InputError, match=REFUSED):
        open_run(hostile).predict(["a fine film"])
    assert not (hostile / "ran").exists()
    assert open_run(hostile, trust_remote_code=True).predict(["a fine film"])[0].label in ("bad", "good")
    assert (hostile / "ran").exists()


def test_a_run_that_names_an_attention_from_the_hub_uses_the_usual_one(run: Path) -> None:
    for key in ("attn_implementation", "_attn_implementation"):
        change(run / "config.json", lambda config, key=key: config.update({key: "somebody/kernel"}))
    assert open_run(run).model.config._attn_implementation == "sdpa"
