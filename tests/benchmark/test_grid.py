"""A grid file: what it may say, what it becomes, and what a mistake in it is answered with."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmark.tiny_grid import grid_file, run
from uegr.benchmark.grid import Grid
from uegr.benchmark.plan import cells_of, compared_by_name, printed_by_name
from uegr.benchmark.printed import expanded
from uegr.benchmark.reading import read_grid
from uegr.benchmark.run import described, write_grid
from uegr.errors import InputError

BASE: dict[str, Any] = {"title": "t", "methods": ["vanilla"], "datasets": ["snippets"]}


def grid(**settings: Any) -> Grid:
    return Grid(**(BASE | settings))


def written(folder: Path, **settings: Any) -> Path:
    path = folder / "g.yaml"
    path.write_text(yaml.safe_dump(BASE | settings), encoding="utf-8")
    return path


def test_a_baseline_may_cost_as_many_passes_as_another_method() -> None:
    methods = ["vanilla", {"name": "vanilla", "label": "matched", "epochs_like": "uegr"}, {"name": "uegr"}]
    made = cells_of(grid(methods=methods, shared={"training": {"epochs": 2}}))
    epochs = {cell.called["method"]: cell.config["training"]["epochs"] for cell in made}
    assert epochs == {"vanilla": 2, "matched": 6, "uegr": 2}  # a clean pass and two sub-models
    methods[2] = {"name": "uegr", "method": {"submodels": 3}, "training": {"epochs": 5}}
    made = cells_of(grid(methods=methods, shared={"training": {"epochs": 2}}))
    assert [cell.config["training"]["epochs"] for cell in made] == [2, 20, 5]
    with pytest.raises(InputError, match=r"matched: epochs_like: uegr: expected epochs, got training\.max_steps"):
        cells_of(grid(methods=methods, shared={"training": {"max_steps": 9}}))


MISTAKES = {
    "a cost of a model": (
        {"models": [{"name": "minilm", "epochs_like": "x"}]},
        "epochs_like is for methods, got minilm",
    ),
    "a cost of no method": ({"methods": [{"name": "fgm", "epochs_like": "uger"}]}, "epochs_like: no method uger"),
    "unknown key": ({"method": []}, "unknown key method; did you mean methods?"),
    "unknown key of an entry": ({"methods": [{"name": "uegr", "lable": "x"}]}, "methods.0.lable; did you mean label?"),
    "unknown key of measure": ({"measure": {"row": 3}}, "unknown key measure.row; did you mean rows?"),
    "unknown figure": ({"measure": {"figures": ["fgn"]}}, "measure.figures.0: input should be 'fgm'"),
    "an attack twice": ({"measure": {"attacks": ["pwws", "pwws"]}}, "expected each attack once"),
    "an entry twice": ({"methods": ["uegr", "uegr"]}, "got uegr twice; give one of them a label"),
    "no methods": ({"methods": []}, "methods: tuple should have at least 1 item"),
    "a negative seed": ({"seeds": [-1]}, "seeds.0: input should be greater than or equal to 0, got -1"),
    "no seeds": ({"seeds": 0}, "seeds: tuple should have at least 1 item"),
    "unknown scale": ({"scales": {"huge": {}}}, "unknown scale huge; choose one of: full, laptop, smoke"),
    "unknown key of a scale": ({"scales": {"full": {"seed": 3}}}, "a scale has no key seed; did you mean seeds?"),
    "a scale that changes the title": ({"scales": {"full": {"title": "x"}}}, "a scale has no key title"),
    "an unknown label left out": ({"leave_out": [{"method": "vanila"}]}, "no method vanila; did you mean vanilla?"),
    "an unknown baseline": ({"baseline": "vanila"}, "baseline: no method vanila; did you mean vanilla?"),
    "an unknown base": ({"base": {"model": "bert"}}, "base: no model bert; choose one of: minilm"),
    "an unknown set": ({"measure": {"sets": ["anly"]}}, "data set 'anly'; did you mean anli?"),
    "an unknown key of calibration": ({"measure": {"calibration": {"bin": 3}}}, "calibration.bin; did you mean bins?"),
    "settings for one data set that do not fit": (
        {"methods": [{"name": "vanilla", "per_dataset": {"snippets": {"method": {"dropot": 0}}}}]},
        "snippets · minilm · vanilla: vanilla has no option dropot; did you mean dropout?",
    ),
    "a file of settings that is missing": (
        {"methods": [{"name": "vanilla", "per_dataset": "gone.yaml"}]},
        "gone.yaml; check the path",
    ),
    "no path": ({"vary": {"epsilon": [1]}}, "expected section.key, such as method.epsilon, got 'epsilon'"),
    "nothing to vary": ({"vary": {"method.epsilon": 3}}, "expected a list of values, or pairs"),
    "unknown method": ({"methods": ["uger"]}, "unknown method uger; did you mean uegr?"),
    "unknown model": ({"models": ["minilm6"]}, "model 'minilm6'; did you mean minilm?"),
    "unknown data set": ({"datasets": ["snipets"]}, "data set 'snipets'; did you mean snippets?"),
    "unknown attack": ({"measure": {"attacks": ["pwsw"]}}, "no attack 'pwsw'; did you mean pwws?"),
    "an option of no method": ({"shared": {"method": {"epsilon": 1}}}, "no method of the grid has an option epsilon"),
    "an option that does not fit": (
        {"methods": [{"name": "vanilla", "method": {"dropot": 0}}]},
        "snippets · minilm · vanilla: vanilla has no option dropot; did you mean dropout?",
    ),
    "an unknown training key": ({"shared": {"training": {"epoch": 1}}}, "training.epoch; did you mean epochs?"),
    "a column too few": (
        {"printed": [{"columns": {"dataset": ["a", "b"]}, "rows": [{"values": [1]}]}]},
        "expected as many values as columns",
    ),
    "printed without a metric": ({"printed": [{"method": "vanilla", "value": 1}]}, "expected a printed figure with"),
    "printed with an unknown key": ({"printed": [{"methd": "vanilla"}]}, "printed.methd; did you mean method?"),
    "an empty search": ({"search": {"trials": 2, "space": {}}}, "search.space: dictionary should have at least 1"),
    "no trials": ({"search": {"space": {"training.epochs": [1]}}}, "expected the key search.trials, got none"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_nothing_is_written(mistake: str, tmp_path: Path) -> None:
    settings, expected = MISTAKES[mistake]
    code, _, error = run(written(tmp_path, **settings), "--output", tmp_path / "out")
    assert code == 2
    assert expected in error
    assert "\n" not in error.strip()
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_grid_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- a list")
    (tmp_path / "b.yaml").write_text("a: [")
    assert "expected a mapping" in run(tmp_path / "a.yaml")[2]
    assert "is not valid YAML" in run(tmp_path / "b.yaml")[2]
    assert "no file" in run(tmp_path / "c.yaml")[2]


def test_settings_win_in_the_order_of_the_documentation() -> None:
    cell = cells_of(
        grid(
            shared={"training": {"epochs": 1, "batch_size": 1, "clip": 1.0, "warmup": 0.1}},
            datasets=[{"name": "snippets", "training": {"batch_size": 2, "clip": 2.0, "warmup": 0.2}}],
            models=[{"name": "minilm", "training": {"clip": 3.0, "warmup": 0.3}}],
            methods=[{"name": "vanilla", "training": {"warmup": 0.4}}],
            vary={"training.weight_decay": [0.5]},
        )
    )[0]
    expected = {"epochs": 1, "batch_size": 2, "clip": 3.0, "warmup": 0.4, "weight_decay": 0.5}
    assert cell.config["training"] == expected


def test_options_go_to_the_methods_that_have_them_and_what_is_the_same_is_run_once() -> None:
    cells = cells_of(grid(methods=["vanilla", "rat"], seeds=2, vary={"method.epsilon": [0.1, 1]}))
    found = sorted((cell.called["method"], cell.called["seed"], cell.config["method"].get("epsilon")) for cell in cells)
    rat = [("rat", seed, epsilon) for seed in (0, 1) for epsilon in (0.1, 1)]
    assert found == [*rat, ("vanilla", 0, None), ("vanilla", 1, None)]
    assert {tuple(cell.varied) for cell in cells if cell.called["method"] == "vanilla"} == {()}


def test_a_grid_varies_the_fold() -> None:
    cells = cells_of(grid(shared={"dataset": {"folds": 3}}, methods=["vanilla"], vary={"dataset.fold": [0, 1, 2]}))
    assert [cell.config["dataset"]["fold"] for cell in cells] == [0, 1, 2]
    assert len({cell.name for cell in cells}) == 3


def test_the_attacks_of_a_cell_change_the_text_that_the_card_of_the_attacked_data_names() -> None:
    attacks = ["pwws", {"attack": "pwws", "dataset": "mnli"}, {"attack": "genetic", "side": "second"}]
    cells = cells_of(grid(methods=["ascc"], datasets=["qnli", "snli"], measure={"attacks": attacks}))
    sides = [[attack["side"] for attack in cell.measure["attacks"]] for cell in cells]
    assert sides == [["first", "second", "second"], ["second", "second", "second"]]


def test_combinations_are_left_out() -> None:
    out = [{"model": "minilm", "method": "rat"}, {"dataset": "snippets", "method": "uegr"}]
    cells = cells_of(grid(methods=["vanilla", "rat", "uegr"], models=["minilm", "bilstm"], leave_out=out))
    found = [(cell.called["model"], cell.called["method"]) for cell in cells]
    assert found == [("minilm", "vanilla"), ("bilstm", "vanilla"), ("bilstm", "rat")]


def test_two_labels_for_one_run_are_a_mistake() -> None:
    twice = [{"name": "rat", "label": "a"}, {"name": "rat", "label": "b", "method": {"epsilon": 1.0}}]
    with pytest.raises(InputError, match="are the same run"):
        cells_of(grid(methods=twice))


def test_the_name_of_a_cell_depends_on_what_is_trained_and_on_nothing_else() -> None:
    names = [cell.name for cell in cells_of(grid(methods=["uegr"]))]
    assert names == [cell.name for cell in cells_of(grid(methods=[{"name": "uegr", "label": "ours"}], title="other"))]
    assert names == [cell.name for cell in cells_of(grid(methods=["uegr"], measure={"rows": 7, "attacks": ["pwws"]}))]
    spelt_out = [{"name": "uegr", "method": {"submodels": 2}}]
    assert names == [cell.name for cell in cells_of(grid(methods=spelt_out))]
    search = {"trials": 1, "space": {"method.epsilon": [0.1]}}
    others = [{"seeds": [1]}, {"shared": {"training": {"clip": 2}}}, {"search": search}, {"processes": 2}]
    others += [{"vary": {"method.epsilon": [0.2]}}, {"models": ["bilstm"]}]
    different = [cells_of(grid(methods=["uegr"], **other))[0].name for other in others]
    assert len({*names, *different}) == 1 + len(others)


def test_a_scale_overrides_merges_and_takes_away(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        shared={"training": {"epochs": 9, "clip": 2}},
        seeds=5,
        vary={"method.dropout": [0.0, 0.1]},
        scales={"laptop": {"shared": {"training": {"epochs": 1}}, "seeds": [7], "vary": None}, "full": None},
    )
    laptop, full = read_grid(path), read_grid(path, "full")
    assert (laptop.scale, full.scale) == ("laptop", "full")
    assert laptop.shared.training == {"epochs": 1, "clip": 2}
    assert (laptop.seeds, laptop.vary) == ((7,), {})
    assert (full.seeds, full.shared.training["epochs"]) == ((0, 1, 2, 3, 4), 9)
    assert len(cells_of(full)) == 10
    with pytest.raises(InputError, match="has no scale smoke"):
        read_grid(path, "smoke")


def test_pairs_are_every_ordered_pair() -> None:
    cells = cells_of(grid(methods=["rat"], vary={"method.rates": {"pairs": [0.1, 0.3, 0.5]}}))
    assert sorted(tuple(cell.config["method"]["rates"]) for cell in cells) == [
        (first, second) for first in (0.1, 0.3, 0.5) for second in (0.1, 0.3, 0.5)
    ]


def test_printed_figures_have_names_and_what_tells_entries_of_one_name_apart() -> None:
    figure = {"model": "minilm", "dataset": "snippets", "metric": "accuracy", "value": 1.0}
    both = grid(
        methods=["vanilla", {"name": "vanilla", "label": "w/o dropout", "method": {"dropout": 0.0}}],
        printed=[{"method": "vanilla", **figure}, {"method": "w/o dropout", **figure}, {"method": "gone", **figure}],
    )
    first, second, third = printed_by_name(both)
    assert first == {"method": "vanilla", "method.dropout": None, **figure}
    assert second == {"method": "vanilla", "method.dropout": 0.0, **figure}
    assert third == {"method": "gone", **figure}


def test_a_pattern_or_a_part_of_the_name_chooses_cells(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "data").mkdir()
    file = grid_file(tmp_path, tmp_path, seeds=2)
    assert run(file, "--dry-run", "--output", tmp_path / "out", "--only", "rdrop")[1].count("missing") == 3
    assert run(file, "--dry-run", "--output", tmp_path / "out", "--only", "*rdrop*1*")[0] == 0
    assert "no cell of grid.yaml fits 'sam'" in run(file, "--only", "sam", "--output", tmp_path / "out")[2]
    assert not (tmp_path / "out").exists()


def test_what_the_others_are_compared_with_is_named_by_its_settings() -> None:
    methods = [
        {"name": "vanilla", "label": "w/o dropout", "method": {"dropout": 0.0}},
        {"name": "vanilla", "label": "dropout"},
    ]
    models = ["minilm-l3", {"name": "minilm", "stands_for": "bert-large"}]
    both = grid(methods=methods, models=models, baseline="dropout", base={"model": "bert-large", "method": "dropout"})
    vanilla = {"method": "vanilla", "method.dropout": None}
    assert compared_by_name(both) == {"baseline": vanilla, "base": {"model": "minilm"} | vanilla}
    assert compared_by_name(grid()) == {}


def test_grid_yaml_carries_the_baseline_and_the_base(tmp_path: Path) -> None:
    methods = ["vanilla", "uegr"]
    both = grid(methods=methods, baseline="vanilla", base={"model": "minilm", "method": "vanilla"})
    write_grid(tmp_path, described(both, cells_of(both)))
    stored = yaml.safe_load((tmp_path / "grid.yaml").read_text(encoding="utf-8"))
    assert stored["baseline"] == {"method": "vanilla"}
    assert stored["base"] == {"model": "minilm", "method": "vanilla"}


def test_an_average_and_a_difference_are_made_of_the_figures_of_their_rows() -> None:
    table = {
        "columns": {"dataset": ["a", "b"], "metric": "accuracy", "model": "x", "method": "m"},
        "rows": [
            {"method.k": 2, "values": [80.0, 90.0], "average": 85.0},
            {"method.k": 3, "values": [81.0, 92.0]},
        ],
        "differences": [{"of": {"method.k": 3}, "to": {"method.k": 2}, "values": [1.0, 2.0]}],
    }
    figures = expanded([table], "x.yaml")
    (average,) = (figure for figure in figures if figure["dataset"] == "AVG")
    gaps = [figure for figure in figures if "note" in figure]
    parts = [(part["dataset"], part["value"], part["weight"]) for part in average["of"]]
    assert parts == [("a", 80, 0.5), ("b", 90, 0.5)]
    assert (average["value"], average["method.k"]) == (85.0, 2)
    assert [(gap["dataset"], gap["value"], [(p["value"], p["weight"]) for p in gap["of"]]) for gap in gaps] == [
        ("a", 1.0, [(81.0, 1.0), (80.0, -1.0)]),
        ("b", 2.0, [(92.0, 1.0), (90.0, -1.0)]),
    ]
    broken = table | {"differences": [{"of": {"method.k": 4}, "to": {"method.k": 2}, "values": [1.0, 2.0]}]}
    with pytest.raises(InputError, match="expected one row for each of `of` and `to`"):
        expanded([broken], "x.yaml")
