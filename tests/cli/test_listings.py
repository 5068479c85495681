"""`uegr list`: methods, models and data sets."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("what", ["methods", "models", "datasets", "attacks", "grids"])
def test_every_listing_is_an_array_of_objects_with_names(uegr, what):
    code, out, _ = uegr("list", what, "--json")
    names = [entry["name"] for entry in json.loads(out)]
    assert code == 0
    known = {"methods": "uegr", "models": "minilm", "datasets": "snippets", "attacks": "pwws", "grids": "quick"}
    assert known[what] in names
    assert uegr("list", what)[0] == 0


def test_list_of_something_unknown_helps(uegr):
    assert uegr("list", "method")[2] == ("there is no list of method; did you mean methods?")


def test_the_settings_of_an_attack_are_listed_as_they_are_typed(uegr):
    out = " ".join(uegr("list", "attacks")[1].split())
    assert "variant=ren" in out
    assert "[UNK]" in out
    assert "…" not in out


def test_the_listing_of_attacks_needs_no_torch():
    code = "import sys, uegr.cli.listings as one; one.attacks(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
