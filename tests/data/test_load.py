import gzip
import json
import re
import sys
import warnings

import datasets
import pytest

from uegr.data import DataWarning, hub, load
from uegr.data import arrow as arrow_room
from uegr.errors import InputError


@pytest.fixture
def folder(tmp_path):
    """A function that writes the files of a data folder."""

    def write(**files):
        place = tmp_path / "mine"
        place.mkdir(exist_ok=True)
        for split, rows in files.items():
            (place / f"{split}.csv").write_text("text,label\n" + "".join(f"{row}\n" for row in rows), "utf-8")
        return place

    return write


def jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def test_string_labels_are_sorted_and_whole_numbers_numeric(folder):
    data = load(folder(train=["a,zebra", "b,Ant", "c,ant", "d,zebra"]))
    assert data.labels == ("Ant", "ant", "zebra")
    assert data.splits["train"]["label"][:] == [2, 0, 1, 2]
    data = load(folder(train=["a,10", "b,9", "c,-1"]))
    assert data.labels == ("-1", "9", "10")
    assert data.splits["train"]["label"][:] == [2, 1, 0]
    assert data.splits["train"].features["label"].dtype == "int64"


def test_the_order_of_the_labels_does_not_depend_on_the_order_of_the_rows(folder):
    rows = ["a,x", "b,z", "c,y"]
    assert load(folder(train=rows)).labels == load(folder(train=rows[::-1])).labels == ("x", "y", "z")


def test_splits_of_a_folder(folder):
    data = load(folder(train=["a,x", "b,y"], dev=["c,x"], test=["d,y"]))
    assert list(data.splits) == ["train", "validation", "test"]
    assert (data.name, data.kind, data.metrics, data.validation) == (
        "mine",
        "classification",
        ("accuracy",),
        "validation",
    )
    assert data.splits["validation"][:] == {"text": ["c"], "label": [0]}
    assert list(load(folder(), splits=("test",)).splits) == ["test"]
    with pytest.raises(InputError, match="has no split 'tset' here; choose one of: train, validation, test"):
        load(folder(), splits=("tset",))


def test_a_label_that_training_does_not_have_is_named_with_file_and_line(folder):
    for split in ("validation", "test"):
        with pytest.raises(InputError, match=rf"{split}\.csv, line 3: the label 'z' is not one of .*\(x, y\)"):
            load(folder(**{"train": ["a,x", "b,y"], "validation": ["c,x"], split: ["c,x", "d,z"]}))


def test_two_files_for_one_split_are_refused(folder):
    place = folder(train=["a,x"], dev=["b,x"], valid=["c,x"])
    with pytest.raises(InputError, match=r"two files for validation: dev\.csv and valid\.csv"):
        load(place)


def test_a_mapping_of_files(folder):
    place = folder(mine=["a,x", "b,y"], other=["c,y"])
    data = load({"train": place / "mine.csv", "validation": place / "other.csv"})
    assert data.splits["validation"][:] == {"text": ["c"], "label": [1]}


def test_an_unlabelled_test_split_stays_unlabelled_beside_a_labelled_training_split(folder):
    place = folder(train=["a,x", "b,y"])
    (place / "test.csv").write_text("text\nc\n")
    data = load(place)
    assert data.splits["test"].column_names == ["text"]
    with pytest.raises(InputError, match=r"test\.csv has no label column"):
        load(place, labelled=True)


def test_fractions_become_numbers_or_names_when_asked(folder):
    place = folder(train=["a,1", "b,0.5", "c,-2e-1"])
    data = load(place, kind="regression")
    assert (data.kind, data.labels, data.metrics) == ("regression", None, ("pearson", "spearman"))
    assert data.splits["train"]["label"][:] == [1.0, 0.5, -0.2]
    assert load(place, kind="classification").labels == ("-2e-1", "0.5", "1")
    with pytest.raises(InputError, match=r"line 3: expected a finite number as label, got 'inf'"):
        load(folder(train=["a,1", "b,inf"]), kind="regression")


def test_the_labels_a_model_knows_decide(folder):
    place = folder(train=["a,pos", "b,pos"])
    assert load(place, labels=("neg", "pos")).splits["train"]["label"][:] == [1, 1]
    with pytest.raises(InputError, match="line 2: the label 'pos' is not one of the training labels"):
        load(place, labels=("good", "bad"))
    assert load(folder(train=["a,1", "b,0"]), labels=("neg", "pos")).splits["train"]["label"][:] == [1, 0]


def test_a_second_load_reads_no_rows(folder, monkeypatch):
    place = folder(train=["a,x", "b,y"], validation=["c,x"])
    first = load(place)
    monkeypatch.setattr(arrow_room, "write", lambda *_: pytest.fail("converted again"))
    monkeypatch.setattr(sys.modules["uegr.data.load"], "learn", lambda *_: pytest.fail("read the labels again"))
    again = load(place)
    assert again.labels == first.labels
    assert {name: rows[:] for name, rows in again.splits.items()} == {n: rows[:] for n, rows in first.splits.items()}
    assert again.splits["train"]._fingerprint == first.splits["train"]._fingerprint


def test_a_conversion_that_fails_half_way_leaves_nothing(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "fine", "label": "x"}\n' * 3000 + '{"text": "\\ud800", "label": "x"}\n')
    with pytest.raises(InputError, match="line 3001"):
        load(path)
    assert not [found for found in (tmp_path / "cache").rglob("*") if found.suffix in (".arrow", ".partial")]


def test_changed_content_is_read_again(folder):
    load(folder(train=["a,x", "b,y"]))
    assert load(folder(train=["a,x", "c,y"])).splits["train"]["text"][:] == ["a", "c"]


def test_leaks_are_counted_and_named(folder):
    place = folder(train=["a film,x", "b,y", "c,x"], dev=["new,x", "A  Film,x", "c,y"], test=["d,x"])
    with pytest.warns(
        DataWarning, match=r"2 of 3 texts of validation also occur in train \(row 2 = train row 1, row 3 = t"
    ):
        load(place)
    with pytest.warns(DataWarning):  # remembered, not forgotten
        load(place)


def test_no_leak_no_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(folder(train=["a,x", "b,y"], dev=["c,x"]))


def test_a_card_reads_the_files_below_uegr_data(tmp_path, monkeypatch):
    jsonl(
        tmp_path / "root" / "sst2" / "train.jsonl.gz",
        [{"sentence": "fine", "label": 1}, {"sentence": "poor", "label": 0}],
    )
    monkeypatch.setenv("UEGR_DATA", str(tmp_path / "root"))
    data = load("sst2")
    assert (data.name, data.labels, data.card.title[:8]) == ("sst2", ("negative", "positive"), "Stanford")
    assert data.splits["train"][:] == {"text": ["fine", "poor"], "label": [1, 0]}
    jsonl(tmp_path / "root" / "sst2" / "train.jsonl.gz", [{"sentence": "fine", "label": 2}])
    with pytest.raises(InputError, match=r"train\.jsonl\.gz, line 1: the label 2 is not one of"):
        load("sst2")


def test_a_card_leaves_out_rows_as_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    rows = [{"text": "a", "label": -1}, {"text": "b", "label": 1}, {"text": "c", "label": 0}]
    jsonl(tmp_path / "yelp_sample" / "test.jsonl.gz", rows)
    assert load("yelp_sample").splits["test"]["text"][:] == ["b", "c"]
    rows = [{"text": "a", "label": 0, "type": "orig"}, {"text": "b", "label": 1, "type": "revised"}]
    jsonl(tmp_path / "cad_imdb" / "test.jsonl.gz", rows)
    assert load("cad_imdb_revised").splits["test"]["text"][:] == ["b"]
    assert load("cad_imdb").splits["test"]["text"][:] == ["a", "b"]


def test_the_papers_split_shrinks_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    for split in ("train", "test"):
        jsonl(tmp_path / "imdb" / f"{split}.jsonl.gz", [{"text": f"{split} {i}", "label": i % 2} for i in range(50)])
    data = load("imdb", paper_split=True)
    assert {name: len(rows) for name, rows in data.splits.items()} == {"train": 80, "validation": 10, "test": 10}
    texts = [text for rows in data.splits.values() for text in rows["text"]]
    assert len(set(texts)) == 100
    jsonl(tmp_path / "cola" / "train.jsonl.gz", [{"sentence": "a", "label": 0}])
    with pytest.raises(InputError, match="the papers use no other split of cola"):
        load("cola", paper_split=True)
    jsonl(tmp_path / "own.jsonl.gz", [{"text": f"{i}", "label": i % 2} for i in range(10)])
    for name in (tmp_path / "own.jsonl.gz", {"train": tmp_path / "own.jsonl.gz"}):
        with pytest.raises(InputError, match="got own, which has no card; leave out --paper-split"):
            load(name, paper_split=True)


def test_a_folder_below_uegr_data_needs_no_card(tmp_path, monkeypatch):
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    jsonl(tmp_path / "own" / "train.jsonl.gz", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    assert load("own").labels == ("x", "y")


def test_offline_the_error_says_the_three_places_and_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(InputError) as raised:
        load("rte")
    message = str(raised.value)
    for part in (
        "local path rte",
        "$UEGR_DATA, which is not set",
        "hub data set nyu-mll/glue",
        "point UEGR_DATA at it",
    ):
        assert part in message
    assert "\n" not in message
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    with pytest.raises(InputError, match=re.escape(f"tried the local path scitail, {tmp_path / 'scitail'}")):
        load("scitail")


def test_an_unknown_name_is_not_looked_for_on_the_hub(monkeypatch):
    monkeypatch.setattr(hub, "download", lambda *_: pytest.fail("asked the hub"))
    for name, message in (("snipets", "did you mean snippets"), ("some/where.csv", "there is no file or folder")):
        with pytest.raises(InputError, match=message):
            load(name)


def hub_answers(monkeypatch, splits, wanted):
    def load_dataset(path, name=None, *, cache_dir, download_config):
        assert (path, name) == wanted
        assert "uegr/data" in cache_dir
        assert "uegr/data" in download_config.cache_dir
        return datasets.DatasetDict({split: datasets.Dataset.from_dict(rows) for split, rows in splits.items()})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)


def test_a_card_comes_from_the_hub_when_nothing_is_here(monkeypatch):
    rows = {"sentence": ["fine", "poor"], "label": [1, 0], "idx": [0, 1]}
    hidden = {"sentence": ["secret"], "label": [-1], "idx": [0]}
    hub_answers(monkeypatch, {"train": rows, "validation": rows, "test": hidden}, ("nyu-mll/glue", "sst2"))
    data = load("sst2")
    assert list(data.splits) == ["train", "validation"]  # the hub's test labels are hidden
    assert data.splits["train"][:] == {"text": ["fine", "poor"], "label": [1, 0]}


def test_a_hub_data_set_without_a_card(monkeypatch):
    features = datasets.Features(
        {
            "premise": datasets.Value("string"),
            "hypothesis": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["yes", "no"]),
        }
    )
    rows = datasets.Dataset.from_dict(
        {"premise": ["a", "b", "h"], "hypothesis": ["c", "d", "h"], "label": [1, 0, -1]}, features
    )
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.DatasetDict({"train": rows}))
    data = load("owner/name:config")
    assert data.labels == ("yes", "no")
    assert data.splits["train"][:] == {"text": ["a", "b"], "pair": ["c", "d"], "label": [1, 0]}


def test_the_hub_client_writes_into_our_cache_and_is_left_as_it_was(monkeypatch, tmp_path):
    from huggingface_hub import constants

    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    usual = constants.HF_HUB_CACHE
    with hub.hub_cache():
        assert constants.HF_HUB_CACHE.startswith(str(tmp_path / "cache" / "uegr" / "data"))
    assert usual == constants.HF_HUB_CACHE
    monkeypatch.setenv("HF_HOME", "/somewhere")
    with hub.hub_cache():
        assert usual == constants.HF_HUB_CACHE


def test_options_that_a_card_makes_void_are_named(monkeypatch):
    rows = {"sentence": ["fine", "poor"], "label": [1, 0], "idx": [0, 1]}
    hub_answers(monkeypatch, {"train": rows, "validation": rows}, ("nyu-mll/glue", "sst2"))
    with pytest.warns(DataWarning, match="sst2 is a data set with a card.*no effect: text_column, kind$"):
        load("sst2", splits=["train"], text_column="review", kind="regression")
