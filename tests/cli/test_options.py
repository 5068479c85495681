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


@pytest.mark.parametrize(
    "command", ["train --dataset snippets --output {new}", "evaluate {run}", "attack {run}", "predict {run} --text x"]
)
def test_a_device_that_is_not_there_is_one_line(command, uegr, finished, tmp_path):
    line = command.format(new=tmp_path / "new", run=finished)
    code, _, error = uegr(*line.split(), "--device", "mps")
    assert (code, "expected a device of this machine (cpu" in error, "--device mps" in error) == (2, True, True)
    assert error.endswith("; leave out --device")
    assert uegr(*line.split(), "--device", "gpu")[0] == 2
    assert not (tmp_path / "new").exists()


def test_predict_on_a_device_that_is_there(uegr, finished):
    assert uegr("predict", finished, "--text", "a fine film", "--device", "cpu")[0] == 0
