"""`uegr init`: a configuration that trains as it is."""

import json

import pytest

from tests.tiny_run import sentences
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


@pytest.fixture
def verdicts(tmp_path):
    """A file whose label column must be named."""
    lines = [f"{text},{label}" for text, label in sentences(40, seed=9)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,verdict", *lines]))
    return tmp_path / "reviews.csv"


def test_an_unknown_data_set_is_refused_as_in_train(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    for name in ("nope", "snippet", "no/such.csv", "snippets,nope"):
        code, _, error = uegr("init", file, "--dataset", name)
        assert (code, error.split(" ")[:3]) == (2, ["there", "is", "no"])
    assert uegr("init", file, "--dataset", "nope")[2] == uegr("train", "--dataset", "nope")[2]
    assert not file.exists()
    assert uegr("init", file, "--dataset", "owner/name")[0] == 0


def test_the_columns_of_a_file_are_written_into_it(uegr, home, verdicts, tmp_path):
    file = tmp_path / "uegr.yaml"
    given = ["--dataset", verdicts, "--model", home / "model"]
    code, _, error = uegr("init", file, *given, "--method", "vanilla")
    assert (code, error) == (2, uegr("train", *given, "--output", tmp_path / "run")[2])
    assert "(--label-column)" in error
    assert uegr("init", file, *given, "--method", "vanilla", "--label-column", "verdict", "--delimiter", ",")[0] == 0
    assert "\n  label_column: verdict  #" in file.read_text()
    steps = ["--set", "training.max_steps=1", "--quiet"]
    code, _, error = uegr("train", "--config", file, "--output", tmp_path / "run", *steps)
    assert code == 0, error


def test_a_file_that_is_not_named_as_yaml_is_refused_and_the_remedy_works(uegr, tmp_path):
    name = tmp_path / "c.json"
    code, _, error = uegr("init", name)
    assert (code, error) == (2, f"expected a name that ends with .yaml or .yml, got {name}; use {name}.yaml")
    assert uegr("init", f"{name}.yaml")[0] == 0
    assert uegr("init", tmp_path / "c.yml")[0] == 0


def test_the_header_names_nothing_that_a_user_of_the_package_lacks(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    assert uegr("init", file)[0] == 0
    assert "docs/" not in file.read_text()
