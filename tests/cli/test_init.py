"""`uegr init`: a configuration that trains as it is."""

import json

import pytest

from uegr.errors import DataWarning
from uegr.training.config import RECOMMENDED, read_config


def test_the_file_trains_as_it_is(uegr, home, tmp_path):
    file = tmp_path / "my run.yaml"
    code, out, error = uegr("init", file, "--dataset", home / "data", "--model", home / "model", "--method", "vanilla")
    assert code == 0, error
    assert out == f"{file}; train it with: uegr train --config '{file}'\n"
    code, out, error = uegr(
        "train", "--config", file, "--output", tmp_path / "run", "--set", "training.max_steps=1", "--quiet", "--json"
    )
    assert code == 0, error
    assert json.loads(out)["config"]["dataset"]["name"] == str(home / "data")


def test_every_key_can_be_set_by_removing_its_comment_sign(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    assert uegr("init", file, "--method", "uegr")[0] == 0
    sections = {line.strip("# ").removesuffix(":") for line in file.read_text().splitlines() if line.endswith(":")}
    assert "augment" in sections
    file.write_text(file.read_text().replace("  # name: null  # the attack", "  name: pwws  # the attack"))
    assert read_config(file, {}, []).augment.name == "pwws"
    text = file.read_text()
    for key in ("surface: default", "epochs: null", "lora: null", "drop_missing: false", "epsilon: 0.1"):
        assert f"  # {key}" in text
        text = text.replace(f"  # {key}", f"  {key}")
    file.write_text(text)
    assert read_config(file, {}, []).method["epsilon"] == 0.1


def test_without_a_method_it_has_the_recommended_one(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    assert uegr("init", file)[0] == 0
    assert read_config(file, {}, []).method == RECOMMENDED


def test_a_file_is_not_replaced_and_a_method_must_exist(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    file.write_text("mine")
    assert uegr("init", file)[2] == f"{file} exists; name another file, or remove it first"
    assert file.read_text() == "mine"
    assert uegr("init", tmp_path / "b.yaml", "--method", "uger")[2] == "unknown method uger; did you mean uegr?"
    assert not (tmp_path / "b.yaml").exists()


def test_a_flag_for_another_method_leaves_out_the_options_of_the_file(uegr, tmp_path):
    """The recommended method writes its options into the file, and --method vanilla had no option step."""
    file = tmp_path / "uegr.yaml"
    assert uegr("init", file)[0] == 0
    with pytest.warns(DataWarning, match="the options of freelb do not count for vanilla: step, epsilon$"):
        assert read_config(file, {"method.name": "vanilla"}, []).method == {"name": "vanilla"}
    with pytest.warns(DataWarning, match="for rat: step, epsilon$"):
        assert read_config(file, {}, ["method.epsilon=0.3", "method.name=rat"]).method == {
            "name": "rat",
            "epsilon": 0.3,
        }
    assert read_config(file, {"method.name": "freelb"}, []).method == RECOMMENDED
