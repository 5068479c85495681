"""`uegr init`: a configuration that trains as it is."""

import json


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


def test_a_file_is_not_replaced_and_a_method_must_exist(uegr, tmp_path):
    file = tmp_path / "uegr.yaml"
    file.write_text("mine")
    assert uegr("init", file)[2] == f"{file} exists; name another file, or remove it first"
    assert file.read_text() == "mine"
    assert uegr("init", tmp_path / "b.yaml", "--method", "uger")[2] == "unknown method uger; did you mean uegr?"
    assert not (tmp_path / "b.yaml").exists()
