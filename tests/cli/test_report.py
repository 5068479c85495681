"""`uegr report`: the files that its options name (tests/report/ has what is in them)."""

import pytest

from tests.report.synthetic_runs import result, write_run


def test_page_markdown_and_csv_are_written(uegr, tmp_path):
    write_run(tmp_path / "runs" / "a", result("imdb", "uegr", 0))
    files = {"--output": tmp_path / "page.html", "--markdown": tmp_path / "t.md", "--csv": tmp_path / "t.csv"}
    code, out, error = uegr("report", tmp_path / "runs", *(word for pair in files.items() for word in pair))
    assert code == 0, error
    assert str(tmp_path / "page.html") in out.replace("\n", "")
    assert all(file.stat().st_size > 100 for file in files.values())


@pytest.mark.parametrize(("name", "flag"), [("page.md", "--markdown"), ("page.CSV", "--csv")])
def test_a_page_is_not_written_under_the_name_of_another_format(uegr, tmp_path, name, flag):
    """`report -o page.md` wrote HTML into it; the remedy works when typed."""
    write_run(tmp_path / "runs" / "a", result("imdb", "uegr", 0))
    wanted = tmp_path / name
    code, _, error = uegr("report", tmp_path / "runs", "--output", wanted)
    assert (code, wanted.exists()) == (2, False)
    assert f"use {flag} {wanted}" in error.replace("\n", " ")
    code, _, error = uegr("report", tmp_path / "runs", "--output", tmp_path / "page.html", flag, wanted)
    assert (code, wanted.exists()) == (0, True), error


def test_a_folder_without_runs_is_an_error(uegr, tmp_path):
    code, _, error = uegr("report", tmp_path, "--output", tmp_path / "page.html")
    assert (code, str(tmp_path) in error) == (2, True)


@pytest.mark.parametrize("flag", ["--output", "--markdown", "--csv"])
def test_one_new_folder_is_made_for_a_file_and_not_several(uegr, tmp_path, flag):
    write_run(tmp_path / "runs" / "a", result("imdb", "uegr", 0))
    page = ["--output", tmp_path / "page.html"] if flag != "--output" else []
    code, _, error = uegr("report", tmp_path / "runs", *page, flag, tmp_path / "no" / "such" / "file")
    assert (code, (tmp_path / "no").exists()) == (2, False)
    assert error.startswith(f"no folder {tmp_path / 'no'} for ")
    code, _, error = uegr("report", tmp_path / "runs", "--output", tmp_path / "new" / "page.html")
    assert (code, (tmp_path / "new" / "page.html").is_file()) == (0, True), error
