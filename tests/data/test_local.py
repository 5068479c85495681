import gzip
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from uegr.data import load
from uegr.data.formats import delimiter_of
from uegr.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def train(path, **options):
    return load(path, **options).splits["train"][:]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b"text,label\nfirst,1\nsecond,0\n"),
        ("x.tsv", b"text\tlabel\nfirst\t1\nsecond\t0\n"),
        ("x.jsonl", b'{"text": "first", "label": 1}\n{"text": "second", "label": 0}\n'),
        ("x.json", b'[{"text": "first", "label": 1},\n {"text": "second", "label": 0}]'),
        ("lines.json", b'{"text": "first", "label": 1}\n\n{"text": "second", "label": 0}\n'),
    ],
)
def test_every_text_format_also_gzipped(write, name, content, packed):
    path = write(name + ".gz" * packed, gzip.compress(content) if packed else content)
    assert train(path) == {"text": ["first", "second"], "label": [1, 0]}


@pytest.mark.parametrize("packed", [False, True])
def test_parquet(write, tmp_path, packed):
    table = pa.table(
        {"premise": ["a", "b"], "hypothesis": ["c", "d"], "label": pa.array(["x", "y"]).dictionary_encode()}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    path = tmp_path / "x.parquet"
    if packed:
        path = write("x.parquet.gz", gzip.compress(path.read_bytes()))
    assert train(path) == {"text": ["a", "b"], "pair": ["c", "d"], "label": [0, 1]}


@pytest.mark.parametrize(
    ("encoding", "newline"),
    [
        ("utf-8", "\n"),
        ("utf-8-sig", "\r\n"),
        ("utf-16", "\r\n"),
        ("utf-16-be", "\n"),
        ("utf-32", "\n"),
        ("utf-8", "\r"),
    ],
)
def test_encodings_and_line_ends_are_detected(write, encoding, newline):
    content = newline.join(["text,label", "naïve 影片,good", "ok,bad", ""]).encode(encoding)
    data = load(write("x.csv", content))
    assert data.splits["train"][:] == {"text": ["naïve 影片", "ok"], "label": [1, 0]}
    assert data.labels == ("bad", "good")


def test_an_encoding_can_be_said(write):
    path = write("x.csv", "text,label\n影片,好\n".encode("gb18030"))
    with pytest.raises(InputError, match=r"line 2: byte 0x.. is not utf-8; name the encoding"):
        load(path)
    data = load(path, encoding="gb18030")
    assert (data.splits["train"]["text"][0], data.labels) == ("影片", ("好",))
    with pytest.raises(InputError, match="expected an encoding such as utf-8"):
        load(path, encoding="klingon")
    with pytest.raises(InputError, match="expected an encoding such as utf-8"):
        load(path, encoding="rot13")


@pytest.mark.parametrize(
    ("header", "usual", "delimiter"),
    [
        ("text,label", ",", ","),
        ("text;label", ",", ";"),
        ('"te,xt";label', ",", ";"),
        ("a|b|c,d", "\t", "|"),
        ("text", ",", ","),
        ("text,a;b;c", ",", ","),
    ],
)
def test_the_delimiter_is_that_of_the_header(write, header, usual, delimiter):
    assert delimiter_of(write("x.csv", header + "\n"), "utf-8", usual) == delimiter


def test_quotes_that_quote_nothing_are_detected_in_tsv(write):
    path = write("x.tsv", 'sentence\tlabel\n"good" she said\t1\nan open " quote\t0\n"another\t0\n')
    assert train(path)["text"] == ['"good" she said', 'an open " quote', '"another']


def test_columns_are_detected_by_name_or_said(write):
    path = write("x.csv", "id,Review,Sentiment,note\n7,fine film,pos,n\n8,poor film,neg,m\n")
    assert train(path) == {"text": ["fine film", "poor film"], "label": [1, 0]}
    assert train(path, text_column="note", label_column="id")["text"] == ["n", "m"]
    paired = train(path, text_column="Review", pair_column="note")
    assert paired["pair"] == ["n", "m"]


@pytest.mark.parametrize("named", [{}, {"text_column": "text"}])
def test_the_second_text_is_in_another_column(named, write):
    path = write("x.csv", "text,other,label\na,b,1\nc,d,0\n")
    with pytest.raises(InputError, match="expected two texts in two columns, got 'text' for both; name another one"):
        load(path, pair_column="text", **named)
    assert train(path, pair_column="text", text_column="other")["pair"] == ["a", "c"]
    assert "pair" not in train(path, **named)


def test_label_free_files_are_unlabelled(write):
    path = write("x.csv", "text\nfirst\nsecond\n")
    data = load(path)
    assert (data.kind, data.labels, data.splits["train"].column_names) == ("unlabelled", None, ["text"])
    with pytest.raises(InputError, match=r"x\.csv has no label column; name it with label_column"):
        load(path, labelled=True)
    labelled = write("y.csv", "text,label\nfirst,\nsecond,1\n")
    assert load(labelled, labelled=False).splits["train"].column_names == ["text"]


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


TRUNCATED = gzip.compress(b"text,label\n" + b"".join(b"%d some text,%d\n" % (i * 7919, i % 2) for i in range(9000)))[
    :-9000
]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "x.csv is empty"),
        ("x.csv.gz", b"", "x.csv.gz is empty"),
        ("x.csv", "text,label\n", "x.csv has no rows"),
        ("x.jsonl", "\n\n", "x.jsonl is empty"),
        ("x.csv", "text,label\na,1\nb,\n,\n", "x.csv, line 3: the label is missing (2 of 3 rows have none)"),
        (
            "x.jsonl",
            json_lines({"text": "a", "label": 1}, {"text": "b", "label": None}),
            "line 2: the label is missing",
        ),
        ("x.jsonl", json_lines({"text": "a", "label": 1}, {"text": "b"}), "line 2: the label is missing"),
        ("x.csv", "text,label\na,1\nb,good\n", "the labels mix whole numbers (line 2: '1') and names (line 3: 'good')"),
        (
            "x.jsonl",
            json_lines({"text": "a", "label": True}, {"text": "b", "label": 3}),
            "mix true/false (line 1: True)",
        ),
        ("x.csv", "text,label\na,1\nb,0.5\n", "line 3: the label '0.5' is a fraction; use kind='regression'"),
        ("x.csv.gz", TRUNCATED, "x.csv.gz is a truncated or damaged gzip file"),
        ("x.csv.gz", b"text,label\n", "x.csv.gz is not a gzip file although its name ends with .gz"),
        ("x.csv", "text,label\na,b,c\n", "line 2: expected 2 fields as in the header, got 3"),
        ("x.csv", 'text,label\n"a,b\nc,d\n', "line 2: the quotes do not close"),
        ("x.csv", "foo,bar,label\na,b,c\n", "none of the columns 'foo', 'bar' is called text"),
        ("x.csv", "text,text,label\na,b,c\n", "the column 'text' occurs 2 times"),
        ("x.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "x.jsonl, line 2: not valid JSON"),
        ("x.jsonl", "[1, 2]\n", "line 1: expected a JSON object"),
        ("x.jsonl", json_lines({"text": 5, "label": 1}), "line 1: expected text in column 'text', got 5 (int)"),
        (
            "x.jsonl",
            json_lines({"text": None, "label": 1}),
            "line 1: expected text in column 'text', got nothing; remove the row, or write \"\" for an empty text",
        ),
        ("x.json", '"text"', "expected a list of objects"),
        ("x.json", "[" * 100_000, "not usable JSON"),
        ("x.parquet", b"PAR1 no, really", "x.parquet is not readable parquet"),
        ("x.xlsx", b"PK", "expected a file that ends with .csv"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line_and_nothing_is_written(write, tmp_path, name, content, message):
    path = write(name, content)
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        load(path, labelled=True)
    assert "\n" not in str(raised.value)
    assert name in str(raised.value)
    left = [found for found in (tmp_path / "cache").rglob("*") if found.is_file()]
    assert left == []


def test_a_text_far_longer_than_a_csv_field_usually_may_be(write):
    text = "word " * 100_000
    assert train(write("x.csv", f"text,label\n{text},1\n"))["text"] == [text]


def test_a_misspelt_column_gets_a_hint(write):
    with pytest.raises(InputError, match=r"no column 'lable' \(--label-column\); did you mean label"):
        load(write("x.csv", "text,label\na,1\n"), label_column="lable")


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(InputError, match="there is no file or folder"):
        load(tmp_path / "none.csv")
    with pytest.raises(InputError, match="there is no file"):
        load({"train": tmp_path / "none.csv"})
    with pytest.raises(InputError, match="has no data: expected files such as"):
        load(tmp_path)
