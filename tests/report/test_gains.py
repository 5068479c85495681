"""A gain in points, and what it shows."""

from uegr.report.gains import Gain
from uegr.report.verdict import Ranked
from uegr.statistics import Figure


def test_no_difference_has_no_sign():
    """The verdict printed "−0.0" and "+0.0" where the headlines have "0.0"."""
    assert Gain("Clean", Figure(-0.01, -0.04, 0.04, 3), 0, 0, 1, 200).text == "0.0 (0.0 to 0.0)"


def test_an_interval_without_zero_beside_nothing_shown_has_a_reason():
    alone = Gain("PGD", Figure(3.0, 0.2, 5.8, 3), 0, 0, 2, 1000)
    assert alone.words == "no difference shown on any of them alone"
    row = Ranked("uegr", "", [alone], "vanilla", 3.5, 3, 3)
    assert row.words == "PGD: no difference shown on any of them alone"
