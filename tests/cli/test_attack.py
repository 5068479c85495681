"""`uegr attack`: counts, and what resumes."""

import json

import pytest

from tests.cli.conftest import ODD


def test_attack_counts_what_it_broke_and_resumes(uegr, run, tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("great\tawful\nlovely\tgrim\nfine\tdull\nbright\tpoor\n")
    base = ["attack", run, "--examples", "12", "--surface", words, "--quiet"]
    code, out, error = uegr(*base, "--json")
    assert code == 0, error
    summary = json.loads(out)
    assert summary["examples"] == 12
    assert summary["accuracy_after"] < summary["accuracy_before"]
    kept = json.loads((run / "result.json").read_text())["tasks"]["data"]["attacks"]
    assert [(name.startswith("pwws on data, 12 examples"), one["examples"]) for name, one in kept.items()] == [
        (True, 12)
    ]
    code, _, error = uegr(*base)
    assert (code, "--resume" in error) == (2, True)
    code, out, _ = uegr(*base, "--resume")
    assert code == 0
    assert "attack success rate" in out
    assert uegr("attack", run, "--attack", "pwsw", "--quiet")[2] == "no attack 'pwsw'; did you mean pwws?"


def test_another_file_is_read_as_the_flags_say(uegr, run, odd, tmp_path):
    (tmp_path / "words.tsv").write_text("great\tawful\n")
    base = [
        "attack",
        run,
        "--dataset",
        odd,
        "--examples",
        "4",
        "--surface",
        tmp_path / "words.tsv",
        "--quiet",
        "--json",
    ]
    code, _, error = uegr(*base)
    assert (code, "--encoding" in error) == (2, True), error
    code, out, error = uegr(*base, *ODD, "--label-column", "stars")
    assert code == 0, error
    assert json.loads(out)["examples"] == 4


def test_a_setting_without_a_value_is_refused(uegr, tmp_path):
    assert (
        uegr("attack", tmp_path, "--set", "variant")[2]
        == "expected --set key=value, such as variant=greedy, got 'variant'"
    )


def attacks(run):
    return json.loads((run / "result.json").read_text())["tasks"]["data"]["attacks"]


def test_another_seed_more_examples_and_other_settings_have_files_of_their_own(uegr, run):
    base = ["attack", run, "--attack", "deepwordbug", "--quiet", "--json"]
    others = [["--examples", "4"], ["--examples", "6"], ["--examples", "4", "--seed", "1"]]
    others += [["--examples", "4", "--set", "edit=swap"]]
    for other in others:
        code, _, error = uegr(*base, *other)
        assert code == 0, error
    names = {"4", "6", "4-seed_1", "4-edit_swap"}
    assert {path.name for path in (run / "attacks").iterdir()} == {f"deepwordbug-data-{name}.jsonl" for name in names}
    assert {one["journal"] for one in attacks(run).values()} == {f"deepwordbug-data-{name}.jsonl" for name in names}
    assert "deepwordbug on data, 4 examples, edit swap" in attacks(run)


def test_the_same_attack_starts_over_with_overwrite(uegr, run):
    base = ["attack", run, "--attack", "deepwordbug", "--examples", "4", "--quiet", "--json"]
    assert uegr(*base)[0] == 0
    code, _, error = uegr(*base)
    assert (code, "--overwrite" in error) == (2, True)
    journal = run / "attacks" / "deepwordbug-data-4.jsonl"
    whole = len(journal.read_text().splitlines())
    journal.write_text(journal.read_text().splitlines()[0] + "\n")
    code, _, error = uegr(*base, "--overwrite")
    assert (code, len(journal.read_text().splitlines())) == (0, whole), error
    assert "got both" in uegr(*base, "--overwrite", "--resume")[2]


def test_the_terminal_names_labels(uegr, run, tmp_path):
    (tmp_path / "words.tsv").write_text("great\tawful\nlovely\tgrim\nfine\tdull\nbright\tpoor\n")
    _, out, _ = uegr("attack", run, "--examples", "12", "--surface", tmp_path / "words.tsv", "--quiet")
    assert "label good" in out
    assert "now bad" in out


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (["--attack", "pwsw"], "no attack 'pwsw'; did you mean pwws?"),
        (["--set", "variants=greedy"], "pwws has no setting variants; did you mean variant?"),
        (["--attack", "deepwordbug", "--surface", "wordnet"], "leave out --surface"),
    ],
)
def test_what_is_no_attack_is_refused_before_the_model_is_read(uegr, run, wrong, line):
    (run / "model.safetensors").unlink()
    code, _, error = uegr("attack", run, "--quiet", *wrong)
    assert (code, line in error) == (2, True), error


def test_a_surface_that_does_not_exist_is_refused_before_the_run_is_read(uegr, run, recwarn):
    code, _, error = uegr("attack", run, "--surface", "foo", "--quiet")
    assert (code, "expected a lexicon or a file of substitutes, got 'foo'" in error) == (2, True)
    assert not recwarn
    assert "got 'foo'" in uegr("attack", run / "nowhere", "--surface", "foo")[2]


def test_a_surface_that_the_attack_does_not_use_is_an_error(uegr, run):
    code, _, error = uegr("attack", run, "--attack", "deepwordbug", "--surface", "wordnet", "--quiet")
    assert (code, "leave out --surface" in error) == (2, True)
    assert not list(run.glob("attacks/*"))


def test_fewer_rows_than_asked_for_are_told(uegr, run):
    base = ["attack", run, "--attack", "deepwordbug", "--quiet", "--json"]
    code, _, error = uegr(*base, "--examples", "100")
    assert (code, error.strip()) == (0, "all 24 held-out rows were attacked, fewer than --examples 100")
    assert uegr(*base, "--examples", "4")[2].strip() == ""
