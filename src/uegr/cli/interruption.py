"""What to type after Ctrl-C: the command that resumes the one that was interrupted."""

import shlex
from collections.abc import Sequence

RESUME = "--resume"
KEEPS_WORK = ("benchmark", "demo")  # the same command does what is missing


def advice(arguments: Sequence[str], has_resume: bool) -> str:
    """One line for the terminal; `has_resume` says whether the command has the flag.

    >>> advice(["train", "--dataset", "my data.csv"], has_resume=True)
    "interrupted; resume with: uegr train --dataset 'my data.csv' --resume"
    >>> advice(["evaluate", "runs/first"], has_resume=False)
    'interrupted; run it again with: uegr evaluate runs/first'
    """
    words = list(arguments)
    if has_resume and RESUME not in words:
        words.insert(words.index("--") if "--" in words else len(words), RESUME)
    how = "resume" if has_resume or (words[:1] and words[0] in KEEPS_WORK) else "run it again"
    return f"interrupted; {how} with: {shlex.join(['uegr', *words])}"
