"""`uegr report`: the files that its options name (tests/report/ has what is in them)."""

from tests.report.synthetic_runs import result, write_run


def test_page_markdown_and_csv_are_written(uegr, tmp_path):
    write_run(tmp_path / "runs" / "a", result("imdb", "uegr", 0))
    files = {"--output": tmp_path / "page.html", "--markdown": tmp_path / "t.md", "--csv": tmp_path / "t.csv"}
    code, out, error = uegr("report", tmp_path / "runs", *(word for pair in files.items() for word in pair))
    assert code == 0, error
    assert str(tmp_path / "page.html") in out.replace("\n", "")
    assert all(file.stat().st_size > 100 for file in files.values())


def test_a_folder_without_runs_is_an_error(uegr, tmp_path):
    code, _, error = uegr("report", tmp_path, "--output", tmp_path / "page.html")
    assert (code, str(tmp_path) in error) == (2, True)
