"""The time that a grid may take: from one finished cell, and from what each method costs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.report.synthetic_runs import result
from uegr.benchmark.cells import finished
from uegr.benchmark.estimates import estimates, in_all
from uegr.benchmark.live import summary
from uegr.benchmark.work import Work
from uegr.methods.entries import measured
from uegr.training.cost import relative_cost

AXES = ("dataset", "model", "method")


def cell(*names: str, **options: Any) -> Any:
    config: dict[str, Any] = {axis: {"name": name} for axis, name in zip(AXES, names, strict=True)}
    config["method"] |= options
    return SimpleNamespace(config=config)


def rows_of(count: int, **done: tuple[float, float]) -> list[dict[str, Any]]:
    """Rows that are missing, but for those that took so many seconds, so many of them to train."""
    rows: list[dict[str, Any]] = [{"cell": str(at), "state": "missing", "seconds": None} for at in range(count)]
    for name, (seconds, training) in done.items():
        rows[int(name[1:])] |= {"state": "done", "seconds": seconds, "training_seconds": training}
    return rows


def test_a_finished_cell_gives_the_time_of_every_other_method() -> None:
    cells = [cell("a", "x", name) for name in ("vanilla", "uegr", "fgm")]
    ratios = measured()["ratios"]
    found = estimates(rows_of(3, _0=(100.0, 60.0)), cells)
    assert found == {
        "1": pytest.approx(40 + 60 * ratios["uegr"]),  # what is measured after training costs all methods the same
        "2": pytest.approx(40 + 60 * ratios["fgm"]),
    }
    assert estimates(rows_of(3, _1=(100.0, 100.0)), cells)["0"] == pytest.approx(100 / ratios["uegr"])


def test_cells_with_less_in_common_serve_where_there_are_no_others() -> None:
    cells = [cell("a", "x", "vanilla"), cell("a", "x", "vanilla"), cell("a", "y", "vanilla"), cell("b", "y", "vanilla")]
    assert estimates(rows_of(4, _0=(10.0, 5.0)), cells) == {"1": 10.0, "2": 10.0, "3": 10.0}
    assert estimates(rows_of(4, _0=(10.0, 5.0), _2=(30.0, 5.0)), cells) == {"1": 10.0, "3": 20.0}
    assert estimates(rows_of(4), cells) == {}


def test_before_the_first_cell_the_whole_is_known_in_trainings_with_vanilla() -> None:
    cells = [cell("a", "x", name) for name in ("vanilla", "uegr")]
    left = in_all(rows_of(2), cells)
    assert left == pytest.approx(1 + measured()["ratios"]["uegr"])
    assert f"as much to train as {left:.1f} cells with vanilla" in summary(rows_of(2), {}, trainings=left)


def test_more_passes_cost_more_and_own_code_is_not_called() -> None:
    assert relative_cost({"name": "uegr", "submodels": 4}) == pytest.approx(
        relative_cost({"name": "uegr"}) * 5 / 3, rel=1e-6
    )
    assert relative_cost({"name": "nowhere:method"}) == 1.0


def test_a_result_says_how_many_cells_ran_at_the_same_time() -> None:
    called = {"dataset": "imdb", "model": "minilm", "method": "fgm", "seed": 0}
    planned: Any = SimpleNamespace(called=called, varied={}, stands_for={}, start=None)
    found = result("imdb", "fgm", 0)
    for workers, most in ((1, 1), (3, 3), (2, 3)):
        found = finished(found, Work(Path("out"), 0.0, workers=workers), planned, None, 1.0)
        assert found.cell is not None
        assert found.cell.workers == most
