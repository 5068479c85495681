"""Options for files, as `uegr.data.load` takes them."""

import inspect

import pytest

from uegr.cli.options import Kind, Quoting, file_options, label_options
from uegr.data import load
from uegr.training.config import DatasetConfig


def test_what_is_not_given_is_left_out():
    assert file_options() == label_options() == {}


@pytest.mark.parametrize(("typed", "read"), [("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (";", ";")])
def test_a_delimiter_is_typed_as_itself_or_by_name(typed, read):
    assert file_options(delimiter=typed) == {"delimiter": read}


def test_every_option_is_one_of_load_and_of_the_configuration():
    names = {*inspect.signature(file_options).parameters, *inspect.signature(label_options).parameters}
    assert names <= set(inspect.signature(load).parameters)
    assert names == set(DatasetConfig(name="x").reading())


def test_choices_are_plain_words():
    assert file_options(quoting=Quoting.none, paper_split=True) == {"quoting": "none", "paper_split": True}
    assert type(label_options(kind=Kind.regression)["kind"]) is str
