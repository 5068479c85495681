"""The contract of a method, for somebody else's method: the checks that every method of this package passes.

One call runs all of them and raises an AssertionError that names every check that failed:

    from uegr.testing import check_method
    check_method(my_method, options={"epsilon": 0.05})

With pytest, each check can be a test of its own:

    @pytest.mark.parametrize("check", checks(my_method), ids=str)
    def test_my_method(check):
        check()

The checks need no network, no data and no pytest; the one with LoRA needs the extra `peft`. They train models of a few
thousand weights on one thread: all of them together take about a minute.
"""

from uegr.testing.contract import CHECKS, Check, check_method, checks
from uegr.testing.subject import Subject

__all__ = ["CHECKS", "Check", "Subject", "check_method", "checks"]
