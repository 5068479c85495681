"""`uegr data`: lists, shows, checks, draws; and the flags that its errors name."""

import json

import pytest

from uegr.errors import DataWarning


@pytest.fixture
def mine(tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "train.csv").write_text("text,label\n[red]good[/red] film,pos\nbad film,neg\n")
    (place / "dev.csv").write_text("text,label\nbad film,neg\n")
    return str(place)


def test_list(uegr):
    listed = json.loads(uegr("data", "list", "--json")[1])
    names = [entry["name"] for entry in listed]
    assert "snippets" in names
    assert names == sorted(names)
    assert {entry["from"] for entry in listed} == {"package", "hub", "not here"}
    assert "snippets" in uegr("data", "list")[1]


@pytest.mark.filterwarnings("ignore::uegr.data.DataWarning")
def test_show(uegr, mine):
    shown = json.loads(uegr("data", "show", mine, "--json", "--rows", "1")[1])
    assert [(entry["name"], entry["split"], entry["rows"]) for entry in shown] == [
        ("mine", "train", 2),
        ("mine", "validation", 1),
    ]
    assert shown[0]["balance"] == {"neg": 1, "pos": 1}
    assert shown[0]["examples"] == [{"text": "[red]good[/red] film", "label": "pos"}]
    assert "[red]good[/red] film" in uegr("data", "show", mine)[1]


def test_check(uegr, mine):
    code, out, _ = uegr("data", "check", mine, "--json")
    (report,) = json.loads(out)
    assert (report["name"], report["passed"], code) == ("mine", True, 0)
    assert report["findings"][0]["text"] == "1 of 1 texts also occur in train"
    assert uegr("data", "check", mine, "--strict")[0] == 1
    assert "leak" in uegr("data", "check", mine)[1]


@pytest.mark.filterwarnings("ignore::uegr.data.DataWarning")
@pytest.mark.parametrize(
    ("labels", "found", "code"),
    [
        (range(30), "look like an identifier", 1),
        (["good"] * 30, "expected at least two labels", 1),
        (["good"] * 28 + ["bad"] * 2, "28 of 30 training rows are 'good'", 0),
        ([*range(50)] * 2, "50 different labels in 100 training rows, 2.0 rows per label", 0),
        (["good", "bad", "N/A"] * 10, "the label 'N/A' of 10 training rows is taken as a class", 0),
        (["good", "bad"] * 15, "", 0),
    ],
)
def test_check_finds_what_training_would_refuse_or_warn_of(labels, found, code, uegr, tmp_path):
    lines = [f"review {number},{label}\n" for number, label in enumerate(labels)]
    (tmp_path / "reviews.csv").write_text("text,label\n" + "".join(lines))
    given, out, _ = uegr("data", "check", tmp_path / "reviews.csv", "--no-noise")
    assert given == code
    assert found in " ".join(out.split())
    assert ("training rows" in out) == bool(found)


def test_stats(uegr, mine):
    numbers = json.loads(uegr("data", "stats", mine, "--split", "train", "--json")[1])
    assert [(entry["name"], entry["split"], entry["rows"]) for entry in numbers] == [("mine", "train", 2)]
    assert "█" in uegr("data", "stats", mine)[1]


REMEDIES = {
    "--encoding": ("text,label\ncafé,a\nbar,b\n", ["--encoding", "cp1252"]),
    "--quoting": ('text,label\n"fine,a\nbar,b\n', ["--quoting", "none"]),
    "--delimiter": ("text,label;y\nfine film;a\ndull film;b\n", ["--delimiter", ";"]),
    "--kind": ("text,label\na,0.5\nb,1\n", ["--kind", "regression"]),
    "--text-column": ("first,second,label\na,b,c\nd,e,f\n", ["--text-column", "second"]),
    "--paper-split": ("", []),
}


@pytest.mark.parametrize("command", ["show", "check", "stats"])
@pytest.mark.parametrize("flag", REMEDIES)
def test_the_remedy_of_an_error_works(flag, command, uegr, tmp_path):
    content, remedy = REMEDIES[flag]
    file = tmp_path / "mine.csv"
    file.write_bytes(content.encode("cp1252"))
    name, wrong = (file, []) if content else ("snippets", ["--paper-split"])
    code, _, error = uegr("data", command, name, *wrong)
    assert (code, flag in error) == (2, True), error
    code, _, error = uegr("data", command, name, *remedy)
    assert code == 0, error


def test_a_tab_has_a_name(uegr, tmp_path):
    (tmp_path / "x.csv").write_text("a b\tlabel\nfine film\tgood\n")
    (shown,) = json.loads(uegr("data", "show", tmp_path / "x.csv", "--delimiter", "tab", "--json")[1])
    assert shown["examples"] == [{"text": "fine film", "label": "good"}]


def missing_labels(tmp_path):
    """Of six rows, the first and the third have no label; the fifth repeats the second, the sixth is empty."""
    file = tmp_path / "missing.csv"
    file.write_text("text,label\none,\na fine film,good\ntwo,\na dull film,bad\na fine film,good\n ,bad\n")
    return file


@pytest.mark.filterwarnings("ignore::uegr.data.DataWarning")
def test_rows_that_are_left_out_are_found_and_the_others_keep_the_numbers_of_the_file(uegr, tmp_path):
    file = missing_labels(tmp_path)
    code, out, _ = uegr("data", "check", file, "--drop-missing")
    assert code == 0
    assert "train: left out 2 rows without a label (rows 1, 3)" in out
    assert "1 texts occur in an earlier row (row 5)" in out
    assert "1 texts are empty (row 6)" in out
    _, out, _ = uegr("data", "show", file, "--drop-missing", "--rows", "2")
    assert [line.split()[:2] for line in out.splitlines()[-2:]] == [["2", "good"], ["4", "bad"]]


def test_a_leak_is_told_with_the_rows_of_the_files(uegr, tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    missing_labels(tmp_path).rename(folder / "train.csv")
    (folder / "test.csv").write_text("text,label\nother,\na dull film,bad\n")
    with pytest.warns(DataWarning, match="row 2 = train row 4"):
        assert uegr("data", "show", folder, "--drop-missing")[0] == 0


def test_a_check_tells_that_a_flag_has_no_effect(uegr):
    with pytest.warns(DataWarning, match="no effect: text_column"):
        uegr("data", "check", "snippets", "--text-column", "phrase", "--no-noise")


@pytest.mark.filterwarnings("ignore::uegr.data.DataWarning")
def test_single_texts_are_shown_without_a_column_of_pairs(uegr, tmp_path):
    _, out, _ = uegr("data", "show", missing_labels(tmp_path), "--drop-missing")
    assert "pair" not in out


def test_a_file_without_the_mark_of_utf16_is_one_line_and_the_remedy_works(uegr, mine):
    file = f"{mine}/train.csv"
    code, _, error = uegr("data", "check", file, "--encoding", "utf-16")
    assert code == 2
    assert error.startswith(f"{file} is not utf-16 (")
    assert error.endswith("; leave out --encoding to detect it, or name another, for instance utf-16-le")
    assert uegr("data", "show", file)[0] == 0
