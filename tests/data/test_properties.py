"""What goes in comes out, whatever it holds, or the error names file and line."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from uegr.data import load
from uegr.errors import InputError

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NASTY = [
    '"',
    '""',
    ",",
    ";",
    "\t",
    "|",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "😀",
    "שלום",
    "\u202e",
    "\ufeff",
    "\u2028",
    "\x85",
    "'",
    "\\",
]
letters = st.one_of(st.sampled_from(NASTY), st.characters(codec="utf-8"))
texts = st.lists(letters, max_size=12).map("".join)
labels = texts.map(lambda text: "L" + text)
tables = st.lists(st.tuples(texts, labels), min_size=1, max_size=8)
HARD = [('a "quoted", text\r\nwith\0all\t|;', 'L"x"\n'), ("\ufeffשלום \u202e😀", "L2"), ("", "L")]


def delimited(table, delimiter, encoding, header=("text", "label")):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerows([header, *table])
    return out.getvalue().encode(encoding)


def lines(table, ascii_only):
    rows = [json.dumps({"text": text, "label": label}, ensure_ascii=ascii_only) for text, label in table]
    return "".join(row + "\n" for row in rows).encode("utf-8", "surrogatepass")


def read_back(name, content, **options):
    """The rows that `load` gives, labels by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        data = load(path, **options)
        rows = data.splits["train"][:]
        return [(text, data.labels[label]) for text, label in zip(rows["text"], rows["label"], strict=True)]


@quick
@given(tables, st.sampled_from([",", ";", "|", "\t"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]))
@example(HARD, ",", "utf-8")
@example(HARD, ";", "utf-16")
def test_csv(table, delimiter, encoding):
    assert read_back("x.csv", delimited(table, delimiter, encoding)) == table


@quick
@given(tables)
@example(HARD)
def test_tsv_in_gzip(table):
    assert read_back("x.tsv.gz", gzip.compress(delimited(table, "\t", "utf-8"))) == table


bare = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n"), max_size=12)


@quick
@given(st.lists(st.tuples(bare, bare.map(lambda text: "L" + text)), min_size=1, max_size=8))
@example([('"open', "L1"), ('5" disk', "L2")])
def test_tsv_whose_quotes_are_ordinary_characters(table):
    content = "".join(f"{text}\t{label}\n" for text, label in [("text", "label"), *table]).encode()
    assert read_back("x.tsv", content, quoting="none") == table


@quick
@given(tables, st.booleans())
@example(HARD, True)
@example(HARD, False)
def test_jsonl(table, ascii_only):
    assert read_back("x.jsonl", lines(table, ascii_only)) == table


@quick
@given(tables)
def test_json_array(table):
    content = json.dumps([{"text": text, "label": label} for text, label in table], indent=1).encode()
    assert read_back("x.json", content) == table


any_texts = st.lists(st.one_of(letters, st.characters(categories=["Cs"])), max_size=6).map("".join)


@quick
@given(st.lists(st.tuples(any_texts, st.just("L")), min_size=1, max_size=8))
@example([("fine", "L"), ("half \ud83d", "L")])
@example([("\ud83d\ude00", "L")])
def test_lone_surrogates_in_json_escapes_name_their_line(table):
    expected = [json.loads(json.dumps(text)) for text, _ in table]  # JSON joins two halves that stand together
    bad = [place for place, text in enumerate(expected, 1) if any("\ud800" <= letter <= "\udfff" for letter in text)]
    if not bad:
        assert [text for text, _ in read_back("x.jsonl", lines(table, True))] == expected
        return
    with pytest.raises(InputError, match=rf"x\.jsonl, line {bad[0]}: "):
        read_back("x.jsonl", lines(table, True))


@quick
@given(st.integers(0, 5), st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\xc3"]), st.sampled_from(["x.csv", "x.jsonl"]))
def test_bytes_that_are_no_text_name_their_line(before, bad, name):
    good, last = (
        (b"fine,L\n", b"%b,L\n") if name == "x.csv" else (b'{"text": "a", "label": "L"}\n', b'{"text": "%b"}\n')
    )
    header = [b"text,label\n"] if name == "x.csv" else []
    content = b"".join([*header, *[good] * before, last % bad])
    with pytest.raises(InputError, match=rf"{name}, line {len(header) + before + 1}: .*encoding"):
        read_back(name, content)


@quick
@given(st.binary(max_size=200), st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "parquet.gz"]))
@example(b"\x1f\x8b\x08\x00", "csv.gz")
@example(b"PAR1PAR1PAR1", "parquet")
def test_rubbish_is_refused_in_one_line(content, ending):
    message = f"x.{ending}"
    try:
        read_back(f"x.{ending}", content, labelled=True)
    except InputError as error:
        message = str(error)
    assert f"x.{ending}" in message
    assert "\n" not in message
