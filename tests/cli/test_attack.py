"""`uegr attack`: counts, and what resumes."""

import json

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
    assert json.loads((run / "result.json").read_text())["tasks"]["data"]["attacks"]["pwws on data"]["examples"] == 12
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
