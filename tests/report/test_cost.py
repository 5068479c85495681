"""What training cost: counted passes first, times only where they can be compared."""

import pytest

from tests.report.synthetic_runs import groups_of, result, training
from uegr.report.cost import cost_of
from uegr.result import Cell


def runs_with(**changes):
    """Vanilla and uegr with two seeds; each value of a change is for one run, in this order."""
    runs = [result("imdb", method, seed) for method in ("vanilla", "uegr") for seed in (0, 1)]
    for place, run in enumerate(runs):
        own = {name: values[place] for name, values in changes.items()}
        runs[place] = run.model_copy(update={"training": training("vanilla", 0, 6000, **own)})
    return runs


def test_passes_are_those_of_the_whole_training():
    runs = runs_with(passes=[(1, 1), (1, 1), (4, 3), (4, 3)], steps=[100, 100, 100, 200])
    vanilla, uegr = (cost_of(group) for group in groups_of(*runs))
    assert (vanilla.passes, vanilla.per_step) == (1.0, "1 + 1")
    assert (uegr.passes, uegr.per_step) == (pytest.approx(3.5 * 1.5), "4 + 3")
    assert cost_of(groups_of(*runs[2:])[0]).passes is None  # nothing to compare with


def test_a_pass_over_half_a_batch_is_half_a_pass():
    """Three passes per step looked like six, because the batches were half as large and the steps twice as many."""
    runs = runs_with(passes=[(1, 1), (1, 1), (3, 3), (3, 3)], steps=[100, 100, 200, 200])
    for place in (2, 3):
        halved = runs[place].config.training | {"batch_size": 8}
        runs[place] = runs[place].model_copy(
            update={"config": runs[place].config.model_copy(update={"training": halved})}
        )
    costs = {group.method: cost_of(group).passes for group in groups_of(*runs)}
    assert costs == {"vanilla": 1.0, "uegr": 3.0}


def test_settings_of_a_data_set_and_model_have_one_unit():
    """A vanilla with four times the passes stood at 1.0 × beside a method at 6.0 ×, which was less than half of it."""
    known = {100: 100, 400: 200}  # steps by training rows
    runs = [result("imdb", "vanilla", 0, train_size=rows) for rows in known]
    runs += [result("imdb", "fgm", 0, train_size=rows) for rows in known]
    for place, one in enumerate(runs):
        steps = known[one.config.dataset.train_size] if place != 1 else 400
        own = training(one.config.method.name, 0, 100, steps=steps, passes=(1 + (place > 1), 1 + (place > 1)))
        runs[place] = one.model_copy(update={"training": own})
    costs = {(g.method, g.runs[0].config.dataset.train_size): cost_of(g) for g in groups_of(*runs)}
    assert {key: cost.in_block for key, cost in costs.items()} == {
        ("vanilla", 100): 1, ("vanilla", 400): 4, ("fgm", 100): 2, ("fgm", 400): 4
    }  # fmt: skip
    assert costs["fgm", 400].passes == 1  # of those of its own baseline


def test_times_are_compared_on_the_same_machine_with_the_same_seed_and_in_one_go():
    runs = runs_with(processor_seconds=[100.0, 200.0, 300.0, 800.0], seconds=[1.0, 1.0, 5.0, 7.0])
    cost = cost_of(groups_of(*runs)[1])
    assert (cost.processor, cost.seconds, cost.threads) == (550.0, 6.0, 8)
    assert cost.processor_ratio == pytest.approx((3 + 4) / 2)
    other = runs[3].machine.model_copy(update={"processor": "another"})
    runs[3] = runs[3].model_copy(update={"machine": other})
    assert cost_of(groups_of(*runs)[1]).processor_ratio == pytest.approx(3)
    resumed = runs[2].training.model_copy(update={"resumed": True})
    runs[2] = runs[2].model_copy(update={"training": resumed})
    assert cost_of(groups_of(*runs)[1]).processor_ratio is None


def test_the_wall_time_says_how_many_cells_ran_at_the_same_time():
    runs = [result("imdb", "vanilla", seed) for seed in (0, 1)]
    assert cost_of(groups_of(*runs)[0]).beside == "8 threads"
    cell = Cell(dataset="imdb", model="minilm", method="vanilla", seed=1, workers=2)
    runs[1] = runs[1].model_copy(update={"cell": cell})
    assert cost_of(groups_of(*runs)[0]).beside == "8 threads, 2 workers"
