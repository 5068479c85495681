"""The journal: whatever ends an attack, what is done is kept, resuming completes it, and two are never mixed."""

import fcntl
import json

import numpy as np
import pytest

from tests.attacks.attack_models import Recorder, bag, examples, own_labels, sentences, surface
from uegr.attacks import AttackStopped, attack
from uegr.attacks.journal import discard
from uegr.attacks.outcome import Outcome
from uegr.errors import InputError

SMALL = {"population": 6, "iterations": 3}


class Dying(Recorder):
    """Works for some calls, then fails in the given way."""

    def __init__(self, good, failure):
        super().__init__()
        self.good, self.failure = good, failure

    def __call__(self, texts):
        rows = super().__call__(texts)
        return rows if len(self.calls) <= self.good else self.failure(rows)


def boom(rows):
    raise ConnectionError("the server\nwent away")


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (boom, r"predict failed on \d+ texts: ConnectionError: the server"),
        (lambda rows: rows[:-1], r"must give an array of shape \(\d+, 2\)"),
        (lambda rows: rows[:, 0], r"must give an array of shape"),
        (lambda rows: np.concatenate([rows, rows], axis=1) / 2, r"shape \(\d+, 2\), got \(\d+, 4\)"),
        (lambda rows: rows * np.nan, r"NaN or infinity for \d+ of \d+ texts"),
        (lambda rows: np.log(rows), "sum to 1, got .*softmax"),
        (lambda rows: [["a", "b"]] * len(rows), "rows of numbers, got list"),
        (lambda rows: None, "predict must give"),
    ],
)
def test_a_dying_predict_keeps_what_is_done_and_resume_completes_it(tmp_path, failure, says):
    path = tmp_path / "deep" / "attack.jsonl"
    whole = attack(bag, examples(), "pwws", surface=surface())
    with pytest.raises(AttackStopped, match=says) as caught:
        attack(Dying(10, failure), examples(), "pwws", surface=surface(), output=path, width=2, batch_size=16)
    assert "\n" not in str(caught.value)
    assert f"kept in {path}" in str(caught.value)
    done = [json.loads(line) for line in path.read_text().splitlines()]
    kept = sum(line["kind"] == "outcome" for line in done)
    assert 0 < kept == len(caught.value.outcomes) < len(examples())
    predict = Recorder()
    results = attack(predict, examples(), "pwws", surface=surface(), output=path, resume=True)
    assert results.outcomes == whole.outcomes
    assert results.summary.accuracy_after == whole.summary.accuracy_after
    assert results.summary.scored > sum(map(len, predict.calls))  # the first session's texts are counted too
    finished = {line["text"] for line in done if line["kind"] == "outcome"}
    assert not finished & {text for call in predict.calls for text in call}


def test_an_interrupt_keeps_what_is_done(tmp_path):
    def interrupt(rows):
        raise KeyboardInterrupt

    path = tmp_path / "attack.jsonl"
    with pytest.raises(KeyboardInterrupt):
        attack(
            Dying(8, interrupt), examples(), "genetic", surface=surface(), output=path, width=2, batch_size=64, **SMALL
        )
    assert path.read_text().count('"outcome"') > 0
    results = attack(bag, examples(), "genetic", surface=surface(), output=path, resume=True, **SMALL)
    assert results.outcomes == attack(bag, examples(), "genetic", surface=surface(), **SMALL).outcomes


def test_a_line_cut_off_by_a_crash_is_done_again(tmp_path):
    path = tmp_path / "attack.jsonl"
    whole = attack(bag, examples(), "pwws", surface=surface(), output=path)
    content = path.read_text()
    lines = content.splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][: len(lines[4]) // 2])
    assert attack(bag, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()].count("outcome") == len(examples())
    path.write_text(lines[0][:20])
    assert attack(bag, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes
    finished = path.read_text()
    assert attack(lambda texts: 1 / 0, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes
    assert path.read_text().startswith(finished)


def test_a_text_with_line_separators_of_its_own_is_read_again(tmp_path):
    path = tmp_path / "attack.jsonl"
    given = own_labels(bag, ["A fine\u2028film,\x85really\x0bdull\x1cway"])
    whole = attack(bag, given, "pwws", surface=surface(), output=path)
    assert attack(bag, given, "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes


def test_a_journal_is_not_mixed_with_another(tmp_path):
    path = tmp_path / "attack.jsonl"
    attack(bag, examples(3), "pwws", surface=surface(), output=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        attack(bag, examples(3), "pwws", surface=surface(), output=path)
    for changed, says in [
        ({"variant": "greedy"}, "started with variant='ren', got 'greedy'"),
        ({"seed": 3}, "seed=0, got 3"),
        ({"budget": 5}, "budget=None"),
    ]:
        with pytest.raises(InputError, match=says):
            attack(bag, examples(3), "pwws", surface=surface(), output=path, resume=True, **changed)
    with pytest.raises(InputError, match="examples=3, got 4"):
        attack(bag, examples(4), "pwws", surface=surface(), output=path, resume=True)
    assert path.read_bytes() == before
    path.write_text("[1]\n")
    with pytest.raises(InputError, match="not the journal of an attack"):
        attack(bag, examples(3), "pwws", surface=surface(), output=path, resume=True)


def test_one_process_at_a_time_writes_a_journal(tmp_path):
    path = tmp_path / "attack.jsonl"
    path.touch()  # a process that was killed at once has left it
    attack(bag, examples(3), "pwws", surface=surface(), output=path)
    before = path.read_bytes()
    with path.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for work in (
            lambda: attack(bag, examples(3), "pwws", surface=surface(), output=path, resume=True),
            lambda: discard(path),
        ):
            with pytest.raises(InputError, match=r"^another process writes .*; wait for it, then use --resume$"):
                work()
    assert path.read_bytes() == before
    discard(path)
    assert not path.exists()


def test_outcomes_survive_json():
    pair = own_labels(bag, [(sentences()[0][0], sentences()[1][0])])
    for outcome in attack(bag, [*examples(3), *pair], "deepwordbug").outcomes:
        assert Outcome.decoded(json.loads(json.dumps(outcome.encoded()))) == outcome
