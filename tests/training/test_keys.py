"""Every key of the configuration has a meaning, and the file of `uegr init` is a configuration with its defaults."""

import pytest

from uegr import safe_yaml
from uegr.methods import METHODS
from uegr.training.config import RunConfig, read_config
from uegr.training.keys import SECTIONS, keys
from uegr.training.template import template


def test_every_key_has_a_meaning_and_its_own_default():
    assert {section: type(model) for section, model in SECTIONS.items()}.keys() == RunConfig.model_fields.keys() - {
        "method",
        "seed",
    }
    for key in keys():
        assert key.meaning, f"{key.path} has no comment in config.py"
        assert "None" not in key.meaning
    assert len(keys()) == sum(len(model.model_fields) for model in SECTIONS.values())


@pytest.mark.parametrize("method", ["uegr", "vanilla", "ascc"])
def test_the_template_is_a_configuration_with_the_defaults(method, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(template(method=method, dataset="a: b#c.csv"))
    found = read_config(file, {}, [])
    assert found == RunConfig(method={"name": method}, dataset={"name": "a: b#c.csv"})


@pytest.mark.parametrize("method", METHODS)
def test_every_default_may_be_uncommented(method, tmp_path):
    text = template(method=method)
    lines = [
        line.replace("# ", "", 1) if line.startswith(("  # ", "# augment:")) else line for line in text.split("\n")
    ]
    content = safe_yaml.load("\n".join(lines), "the template")
    plain = RunConfig(method={"name": method}, dataset={"name": "snippets"})
    assert RunConfig(**content).model_dump(exclude={"method"}) == plain.model_dump(exclude={"method"})
    assert RunConfig(**content).method_options() == plain.method_options()
