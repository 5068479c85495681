"""`uegr list`: methods, models and data sets."""

import json

import pytest


@pytest.mark.parametrize("what", ["methods", "models", "datasets"])
def test_every_listing_is_an_array_of_objects_with_names(uegr, what):
    code, out, _ = uegr("list", what, "--json")
    names = [entry["name"] for entry in json.loads(out)]
    assert code == 0
    assert {"methods": "uegr", "models": "minilm", "datasets": "snippets"}[what] in names
    assert uegr("list", what)[0] == 0


def test_list_of_something_unknown_helps(uegr):
    assert uegr("list", "method")[2] == "expected methods, models or datasets, got method; did you mean methods?"
