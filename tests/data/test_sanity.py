"""Labels that are probably a mistake."""

import pytest

from uegr.data import load
from uegr.data.check import check
from uegr.data.sanity import check_labels, warn_of_empty_texts
from uegr.errors import DataWarning, InputError


def written(path, labels):
    path.write_text("text,label\n" + "".join(f"text {row},{label}\n" for row, label in enumerate(labels)))
    return path


def test_one_label_is_not_a_task(tmp_path):
    with pytest.raises(InputError, match=r"at least two labels, got 'good' in all 30 training rows; .*--label-column"):
        check_labels(load(written(tmp_path / "x.csv", ["good"] * 30)))


def test_an_identifier_is_not_a_label(tmp_path):
    with pytest.raises(InputError, match=r"30 different labels in 30 training rows, such as '0', look like an ident"):
        check_labels(load(written(tmp_path / "x.csv", range(30))))


@pytest.mark.parametrize(("names", "numbers"), [(range(30), True), ([f"u{row}" for row in range(30)], False)])
def test_a_regression_is_offered_for_numbers_only(tmp_path, names, numbers):
    with pytest.raises(InputError, match="look like an identifier") as found:
        check_labels(load(written(tmp_path / "x.csv", names)))
    assert ("--kind regression" in str(found.value)) == numbers


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", [["a", "b"], [*range(10)] * 3, ["good", "bad"] * 9, [*range(25)] * 4, ["nano", "b"]])
def test_usual_labels_pass(tmp_path, labels):
    check_labels(load(written(tmp_path / "x.csv", labels)))


def test_labels_that_differ_by_case_or_space_are_named(tmp_path):
    with pytest.warns(DataWarning, match="the labels 'Good' and 'good ' differ only by case or space"):
        check_labels(load(written(tmp_path / "x.csv", ["Good", "bad", "good ", "bad"])))


def test_missing_labels_are_left_out_and_counted_where_that_is_asked_for(tmp_path):
    file = written(tmp_path / "x.csv", ["a", "", "b", " ", "a"])
    with pytest.raises(InputError, match=r"line 3: the label is missing \(2 of 5 rows have none\); .*--drop-missing"):
        load(file)
    with pytest.warns(DataWarning, match="2 rows without a label are left out"):
        data = load(file, drop_missing=True)
    assert data.splits["train"][:] == {"text": ["text 0", "text 2", "text 4"], "label": [0, 1, 0]}


def test_a_validation_row_without_a_label_names_the_flag(tmp_path):
    written(tmp_path / "train.csv", ["a", "b"])
    written(tmp_path / "validation.csv", ["a", ""])
    with pytest.raises(InputError, match=r"validation\.csv, line 3: the label is missing; .*--drop-missing"):
        load(tmp_path)


def test_a_check_of_a_file_whose_labels_were_not_found_does_not_pass(tmp_path):
    """It printed "passed", and so did the same file with --label-column: nothing about labels was looked at."""
    lines = ["review,verdict", *(f"text number {row},{'good' if row % 2 else 'bad'}" for row in range(40))]
    (tmp_path / "own.csv").write_text("\n".join(lines), encoding="utf-8")
    found = check(load(str(tmp_path / "own.csv"))).findings
    assert [(one.kind, "--label-column" in one.text) for one in found] == [("unlearnable", True)]
    assert check(load(str(tmp_path / "own.csv"), label_column="verdict"), noise=False).findings == ()


def test_one_label_is_not_called_an_imbalance_too(tmp_path):
    """The remedy was --balance, which cannot help."""
    (tmp_path / "own.csv").write_text("text,label\n" + "".join(f"text {row},yes\n" for row in range(40)), "utf-8")
    assert [one.kind for one in check(load(str(tmp_path / "own.csv"))).findings] == ["unlearnable"]


@pytest.mark.parametrize("count", [26, 50])
def test_labels_with_hardly_a_row_are_told(tmp_path, count):
    """97 labels in 100 rows were an error, and 50 passed without a word."""
    with pytest.warns(DataWarning, match=rf"x: {count} different labels in 100 training rows, .*--label-column"):
        check_labels(load(written(tmp_path / "x.csv", [row % count for row in range(100)])))


@pytest.mark.parametrize("word", ["N/A", "nan", "null", "None"])
def test_a_word_for_no_label_is_told(tmp_path, word):
    line = rf"x: the label '{word}' of 2 training rows is taken as a class; .* leave the field empty .*--drop-missing"
    with pytest.warns(DataWarning, match=line):
        check_labels(load(written(tmp_path / "x.csv", ["good", "bad", word] * 2)))


def test_empty_training_texts_are_told(tmp_path):
    """30 of 240 empty texts were trained on without a word."""
    path = tmp_path / "x.csv"
    path.write_text("text,label\nfine,good\n ,bad\n,bad\ndull,bad\n")
    with pytest.warns(DataWarning, match="x: 2 of 4 training texts are empty; `uegr data check` names their rows"):
        warn_of_empty_texts(load(path))
    path.write_text("text,pair,label\nfine,,good\nfine,fine,bad\n")
    with pytest.warns(DataWarning, match="1 of 2 training texts are empty"):
        warn_of_empty_texts(load(path))


@pytest.mark.filterwarnings("error")
def test_texts_that_say_something_pass(tmp_path):
    warn_of_empty_texts(load(written(tmp_path / "x.csv", ["good", "bad"])))
