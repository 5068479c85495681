"""The command after Ctrl-C, as it can be pasted into a shell."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from uegr.cli.interruption import RESUME, advice

WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1)


@given(WORDS, st.booleans())
def test_the_shell_reads_the_arguments_as_they_were(arguments, has_resume):
    words = shlex.split(advice(arguments, has_resume).partition(" with: ")[2])
    assert words[0] == "uegr"
    assert words.count(RESUME) == max(arguments.count(RESUME), int(has_resume))
    left = [word for word in words[1:] if word != RESUME]
    assert left == [word for word in arguments if word != RESUME]


def test_the_flag_comes_before_arguments_that_only_look_like_flags():
    assert advice(["attack", "--", "--odd"], True).endswith("uegr attack --resume -- --odd")
