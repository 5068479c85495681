"""One category for everything the user should know about the data but that stops nothing."""

import warnings


class DataWarning(UserWarning):
    """Rows cut, leaked or left out. The command line prints it as one line."""


def warn(message: str) -> None:
    """Tell the caller of the data room, once per message and place."""
    warnings.warn(message, DataWarning, stacklevel=3)
