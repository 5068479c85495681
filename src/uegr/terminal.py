"""What reaches a terminal. Texts, labels and file names come from anyone, and nothing in them may steer the terminal.

A control character in a data set can clear the screen, change the clipboard (OSC 52) or reverse the order in which a
line is shown. Everything that this program prints goes through `echo`, `json_text` or `uegr.console.Console`.
"""

import json
import re
import sys
from typing import Any

# C0 but tab and newline, DEL, C1, line and paragraph separator, the embeddings, overrides and isolates of bidi text
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
SURROGATE = re.compile("[\ud800-\udfff]")  # from a file name that is not valid UTF-8; cannot be printed


def clean(text: str) -> str:
    """The text without control characters; tabs and newlines stay.

    >>> clean("a\\x1b]52;c;YQ==\\x07 \\x9b31m\\u202eb")
    'a]52;c;YQ== 31mb'
    """
    return SURROGATE.sub("\ufffd", CONTROL.sub("", text))


def one_line(text: object) -> str:
    """The text on one line, without control characters: a name with a newline cannot write a line of its own.

    >>> one_line("no file a\\nuegr: done")
    'no file a uegr: done'
    """
    return clean(" ".join(str(text).split()))


def echo(text: str, *, error: bool = False) -> None:
    """Print a text on standard output, or on standard error."""
    print(clean(text), file=sys.stderr if error else sys.stdout)


def json_text(content: Any, indent: int | None = None) -> str:
    """JSON in which every control character is escaped; what a program reads from it is the same.

    >>> json_text({"label": "a\\x9b\\u202e"})
    '{"label": "a\\\\u009b\\\\u202e"}'
    """
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    for pattern in (CONTROL, SURROGATE):
        text = pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text
