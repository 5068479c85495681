"""A wrong option, value or command is one line, with exit code 2 and something that can be typed."""

import subprocess
import sys

import pytest

from tests.cli.remedies import flags
from uegr.cli.usage import USUAL

WRONG = {
    "train --metod uegr": "uegr train has no option --metod; did you mean --method?",
    "train --zzzzzz": "uegr train has no option --zzzzzz; see `uegr train --help`",
    "train --lr 0.1": "uegr train has no option --lr; did you mean --learning-rate?",
    "train --bs 8": "uegr train has no option --bs; did you mean --batch-size?",
    "train --batch 8": "uegr train has no option --batch; did you mean --batch-size?",
    "train --num-epochs 2": "uegr train has no option --num-epochs; did you mean --epochs?",
    "train --num_train_epochs 2": "uegr train has no option --num_train_epochs; did you mean --epochs?",
    "train --max-len 9": "uegr train has no option --max-len; did you mean --max-length?",
    "train --resume=runs/first": "option '--resume' does not take a value; use --resume runs/first",
    "train --resume=": "option '--resume' does not take a value; use --resume RUN",
    "-x": "uegr has no option -x; see `uegr --help`",
    "trian": "no such command 'trian'. Did you mean 'train'?; see `uegr --help`",
    "data shw x": "no such command 'shw'. Did you mean 'show'?; see `uegr data --help`",
    "attack": "missing argument 'run'; see `uegr attack --help`",
    "attack run --examples": "option '--examples' requires an argument; see `uegr attack --help`",
    "train --balance weight": "invalid value for '--balance': 'weight' is not one of 'weights', 'sampling'; "
    "see `uegr train --help`",
    "attack run --quiet=yes": "option '--quiet' does not take a value; see `uegr attack --help`",
}


def test_every_usual_name_stands_for_an_option():
    known = {flag for one in flags().values() for flag in one}
    assert {f"--{name}" for name in USUAL.values()} <= known
    assert not {f"--{name}" for name in USUAL} & flags()["train"]


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_one_line(line, uegr):
    assert uegr(*line.split()) == (2, "", WRONG[line])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("attack run --examples many", ("--examples", "many", "see `uegr attack --help`")),
        ("attack run --examples 0", ("--examples", "0", "see `uegr attack --help`")),
        ("attack run --side third", ("--side", "third", "first", "second", "see `uegr attack --help`")),
        ("attack run other", ("other", "see `uegr attack --help`")),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(line, words, uegr):
    code, out, error = uegr(*line.split())
    assert (code, out) == (2, "")
    assert all(word in error for word in words), error
    assert "\n" not in error


def test_the_program_prints_no_box():
    done = subprocess.run([sys.executable, "-m", "uegr.cli", "train", "--metod=x"], capture_output=True, text=True)
    line = "uegr: error: uegr train has no option --metod; did you mean --method?\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_without_arguments_the_help_is_shown(uegr):
    _, out, error = uegr()
    assert "Usage" in out + error
