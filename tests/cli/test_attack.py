"""`uegr attack`: counts, and what resumes."""

import json


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
    code, out, _ = uegr(*base, "--resume")
    assert code == 0
    assert "attack success rate" in out
    assert uegr("attack", run, "--attack", "pwsw", "--quiet")[2] == "no attack 'pwsw'; did you mean pwws?"
