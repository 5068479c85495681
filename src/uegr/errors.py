"""What the user gave cannot be used: one line that says what was expected, what came, and the remedy."""

import warnings
from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Shown by the command line as one line with exit code 2; everything else is a bug and keeps its traceback."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the command ends as after Ctrl-C, with exit code 143."""


class TrainingWarning(UserWarning):
    """What the user should know about a training, but that stops nothing. The command line prints it as one line."""


class DataWarning(UserWarning):
    """Rows cut, leaked or left out. The command line prints it as one line."""


class FindingWarning(DataWarning):
    """What `uegr data check` reports as a finding of its own, with the rows."""


def warn(message: str, category: type[DataWarning] = DataWarning) -> None:
    """Tell the user about the data, once per message and place; nothing stops."""
    warnings.warn(message, category, stacklevel=3)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A hint for a misspelt name, or the whole choice when nothing is near.

    >>> did_you_mean("uger", ["vanilla", "uegr"])
    'did you mean uegr?'
    >>> did_you_mean("x", ["vanilla", "uegr"])
    'choose one of: uegr, vanilla'
    """
    choices = sorted(choices)
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "choose one of: " + ", ".join(choices)


def nearest(word: str, choices: Iterable[str], command: str) -> str:
    """The nearest names, and the command that lists all of them: where the whole choice is too long for a line.

    >>> nearest("uger", ["vanilla", "uegr"], "uegr list methods")
    'did you mean uegr? See `uegr list methods`'
    >>> nearest("x", ["vanilla", "uegr"], "uegr list methods")
    'see `uegr list methods`'
    """
    close = get_close_matches(word, sorted(choices), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}? See `{command}`" if close else f"see `{command}`"
