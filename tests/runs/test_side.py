"""Which text of a pair may change: the data card says it, for training, augmentation and attack of a run."""

import gzip
import json

import pytest
import yaml

from tests.tiny_run import model_folder, sentences
from uegr.attacks import Outcome
from uegr.pieces.hull import Substitutes
from uegr.runs.attack import attack_run
from uegr.runs.prepare import resolved
from uegr.runs.train import train
from uegr.training.config import read_config

WORDS = "great\tawful\nlovely\tgrim\nfine\tdull\nbright\tpoor\nawful\tgreat\ngrim\tlovely\ndull\tfine\npoor\tbright\n"


def settings(dataset, *, model="minilm-l3", **flags):
    return read_config(None, {"method.name": "ascc", "model.name": model, "dataset.name": str(dataset), **flags}, [])


def side(dataset, **flags):
    return resolved(settings(dataset, **flags))["method"]["side"]


@pytest.mark.parametrize("method", ["ascc", "rift", "adv_ptwd", "adv_mixout", "uegr_plus"])
def test_a_run_takes_the_side_from_the_card(method):
    assert side("snli", **{"method.name": method}) == "second"
    assert side("qnli", **{"method.name": method}) == "first"
    assert side("qnli", **{"method.name": method, "method.side": "both"}) == "both"


def test_augmentation_takes_it_too():
    config = settings("qnli", **{"augment.name": "pwws"})
    assert resolved(config)["augment"]["side"] == "first"
    assert (
        resolved(settings("qnli", **{"augment.name": "pwws", "augment.side": "second"}))["augment"]["side"] == "second"
    )


def test_without_a_card_it_is_the_second_text(tmp_path, monkeypatch):
    (tmp_path / "qnli").mkdir()
    (tmp_path / "qnli" / "train.csv").write_text("question,sentence,label\na,b,c\n")
    (tmp_path / "my.csv").write_text("question,sentence,label\na,b,c\n")
    monkeypatch.chdir(tmp_path)
    assert side("my.csv") == "second"
    assert side("qnli") == "second"  # a folder of that name comes before the card


@pytest.mark.parametrize(("datasets", "expected"), [("rte,mnli", "second"), ("qnli", "first"), ("qnli,mnli", "both")])
def test_several_data_sets_whose_cards_disagree_have_both_texts(datasets, expected):
    assert side(datasets, model="mtdnn") == expected


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """A few rows under the name of the card `qnli`, whose first text has the telling word and may change."""
    folder = tmp_path / "data" / "qnli"
    folder.mkdir(parents=True)
    for split, count in {"train": 80, "validation": 16}.items():
        rows = [
            {"question": f"{text} {split[0]}", "sentence": f"{text} w{number}", "label": number % 2}
            for number, (text, _) in enumerate(sentences(count))
        ]
        with gzip.open(folder / f"{split}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("UEGR_DATA", str(tmp_path / "data"))
    (tmp_path / "words.tsv").write_text(WORDS)
    return tmp_path


def test_training_augmentation_and_attack_of_one_run_change_the_same_text(questions, monkeypatch):
    hull, seen = Substitutes.hull, set()

    def watched(self, batch, side="both"):
        seen.add(side)
        return hull(self, batch, side)

    monkeypatch.setattr(Substitutes, "hull", watched)
    words, run = str(questions / "words.tsv"), questions / "run"
    config = settings(
        "qnli",
        model=str(model_folder(questions / "model")),
        **{"method.steps": 1, "method.beta": 0.1, "method.substitutes": words},
        **{"augment.name": "pwws", "augment.surface": words, "augment.examples": 16, "augment.start": 4},
        **{"training.epochs": 5, "training.batch_size": 8, "training.learning_rate": 0.01, "training.warmup": 0},
    )
    train(config, run, quiet=True)
    assert seen == {"first"}
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert (written["method"]["side"], written["augment"]["side"]) == ("first", "first")
    results = attack_run(run, attack="pwws", examples=16, surface=words, quiet=True, calibrate=False)
    lines = (run / "augment" / "epoch-4.jsonl").read_text().splitlines()
    for outcomes in (results.outcomes, [Outcome.decoded(json.loads(line)) for line in lines]):
        found = [one for one in outcomes if one.status == "success"]
        assert found
        assert all(one.found[0] != one.text[0] and one.found[1] == one.text[1] for one in found)
    stored = json.loads((run / "result.json").read_text())["tasks"]["qnli"]["attacks"]
    assert [one["settings"]["side"] for one in stored.values()] == ["first"]


def test_an_explicit_side_of_an_attack_wins_and_has_figures_of_its_own(questions):
    model = str(model_folder(questions / "model"))
    train(settings("qnli", model=model, **{"method.name": "vanilla", "training.max_steps": 1}), questions / "run")
    for given in (None, "first", "second"):
        attack_run(questions / "run", attack="deepwordbug", examples=4, side=given, quiet=True, overwrite=True)
    stored = json.loads((questions / "run" / "result.json").read_text())["tasks"]["qnli"]["attacks"]
    assert {name: one["settings"]["side"] for name, one in stored.items()} == {
        "deepwordbug on qnli, 4 examples": "first",
        "deepwordbug on qnli, 4 examples, side second": "second",
    }
