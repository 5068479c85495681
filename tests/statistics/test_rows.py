"""Rows that are right, as digits and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uegr.errors import InputError
from uegr.statistics import packed, unpacked


@given(st.lists(st.booleans(), max_size=70))
def test_what_is_packed_comes_back(right):
    assert unpacked(packed(right)).tolist() == right


@pytest.mark.parametrize(
    ("text", "message"),
    [("9:ff", "expected 3 digits for 9 rows, got 2"), ("ff", "expected rows as packed"), ("4:x", "expected rows as")],
)
def test_what_was_not_packed_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        unpacked(text)
