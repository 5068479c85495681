"""Local files and folders as sources of rows: formats, columns and quoting are detected or given."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from uegr.cache import digest, key_of, remembered
from uegr.data import arrow, encoding
from uegr.data.formats import Array, Delimited, Format, Lines, Parquet, delimiter_of, is_lines
from uegr.data.source import Row, Source
from uegr.errors import InputError, did_you_mean

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text1", "text2"),
    ("text", "pair"),
    ("text", "text_pair"),
    ("text_a", "text_b"),
)
TEXTS = ("text", "sentence", "review", "content", "tweet", "comment", "document", "body", "title", "headline")
LABELS = (
    "label",
    "labels",
    "class",
    "category",
    "target",
    "gold_label",
    "sentiment",
    "polarity",
    "score",
    "rating",
    "y",
)


@dataclass(frozen=True)
class Reading:
    """How to read a file; None means detect."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    delimiter: str | None = None
    quoting: Literal["standard", "none"] | None = None
    encoding: str | None = None
    keep: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (column, values): rows with other values are left out
    null_as_empty: bool = False  # a text that is null is an empty one, not an error


def suffix_of(path: Path) -> str:
    """
    >>> suffix_of(Path("a/train.csv.gz")), suffix_of(Path("x.JSONL"))
    ('.csv', '.jsonl')
    """
    name = path.name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def file_source(path: Path, reading: Reading) -> Source:
    """The rows of one file; the columns that are used are decided here, the content is read later."""
    content, codec, layout, names = looked_at(path, reading)
    used = columns_of(path, names, reading)
    wanted = [name for name in (used.text, used.pair, used.label) if name]
    return Source(
        name=str(path),
        key=key_of("file", content, type(layout).__name__, codec, asdict(used), *["nulls"] * reading.null_as_empty),
        read=lambda: encoding.guarded(path, codec, rows_of(path, layout, used, wanted, reading.null_as_empty)),
        paired=used.pair is not None,
        labelled=used.label is not None,
        unit=layout.unit,
        columns=(used.text, used.pair) if used.pair else (used.text,),
    )


def looked_at(path: Path, reading: Reading) -> tuple[str, str, Format, list[str]]:
    """The digest of a file's content, its encoding, its format, and the names of its columns."""
    content = protected(path, "utf-8", digest)
    codec = encoding.checked(reading.encoding) if reading.encoding else protected(path, "utf-8", encoding.detect)
    layout = protected(path, codec, lambda file: format_of(file, codec, reading, content))
    names = protected(path, codec, lambda file: layout.columns())
    if not names:
        raise InputError(f"{path} is empty; expected a header or at least one row")
    return content, codec, layout, names


def all_columns(path: Path, reading: Reading) -> dict[str, list[Any]]:
    """Every column of a file, in memory, with the rows that `file_source` has and in their order."""
    _, codec, layout, names = looked_at(path, reading)
    names += [name for name in protected(path, codec, lambda file: layout.columns(None)) if name not in names]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: the column {doubled[0]!r} occurs {names.count(doubled[0])} times; rename one")
    rows = [values for _, values in encoding.guarded(path, codec, layout.rows(names))]
    return {name: [values[at] for values in rows] for at, name in enumerate(names)}


def protected(path: Path, codec: str, look: Callable[[Path], Any]) -> Any:
    """A first look into the file, with the same errors as reading it."""

    def once() -> Iterator[Any]:
        yield look(path)

    return next(encoding.guarded(path, codec, once()))


def format_of(path: Path, codec: str, reading: Reading, content: str) -> Format:
    """The format by the file's name, and its details by its content."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        return Parquet(path)
    if suffix in (".jsonl", ".ndjson") or (suffix == ".json" and is_lines(path, codec)):
        return Lines(path, codec)
    if suffix == ".json":
        return Array(path, codec)
    if suffix not in (".csv", ".tsv"):
        raise InputError(f"{path}: expected a file that ends with {', '.join(SUFFIXES)}, each also with .gz")
    usual = "\t" if suffix == ".tsv" else ","
    delimiter = reading.delimiter or delimiter_of(path, codec, usual)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"expected one character as delimiter (--delimiter), got {delimiter!r}")
    layout = Delimited(path, codec, delimiter, reading.quoting or "standard")
    return layout if reading.quoting or delimiter != "\t" else with_quoting(layout, content)


def with_quoting(layout: Delimited, content: str) -> Delimited:
    """Tab-separated files often have quotes that quote nothing (GLUE does): read so if only that gives even rows."""

    def consistent(layout: Delimited) -> bool:
        try:
            return all(True for _ in layout.rows([]))
        except InputError:
            return False

    def bare() -> bool:
        return not consistent(layout) and consistent(replace(layout, quoting="none"))

    key = key_of("quoting", arrow.VERSION, content, layout.encoding)
    return replace(layout, quoting="none") if remembered(key, bare) else layout


@dataclass(frozen=True)
class Used:
    """The columns that are read, and how."""

    text: str
    pair: str | None
    label: str | None
    delimiter: str | None
    quoting: str | None
    keep: tuple[tuple[str, tuple[str, ...]], ...]


def columns_of(path: Path, names: list[str], reading: Reading) -> Used:
    """The columns that the user names, else the usual names."""
    asked = {"--text-column": reading.text, "--pair-column": reading.pair, "--label-column": reading.label}
    for flag, name in asked.items():
        if name is not None and name not in names:
            raise InputError(f"{path} has no column {name!r} ({flag}); {did_you_mean(name, names)}")
    label = reading.label or first_of(LABELS, names)
    text, pair = reading.text, reading.pair
    if text is None:
        text, detected = text_columns(path, [name for name in names if name != label])
        pair = pair or detected
    if text == pair:
        raise InputError(
            f"{path}: expected two texts in two columns, got {text!r} for both; "
            "name another one (--text-column, --pair-column), or leave out --pair-column"
        )
    for name in (text, pair, label):
        if name is not None and names.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} occurs {names.count(name)} times; rename one")
    return Used(text, pair, label, reading.delimiter, reading.quoting, reading.keep)


def first_of(usual: tuple[str, ...], names: list[str]) -> str | None:
    """The first usual name that is there, in the file's own spelling."""
    spelling = {name.lower(): name for name in reversed(names)}
    return next((spelling[name] for name in usual if name in spelling), None)


def text_columns(path: Path, names: list[str]) -> tuple[str, str | None]:
    """Two texts if a usual pair is there, else a usual name, else the only column."""
    for first, second in PAIRS:
        found, other = first_of((first,), names), first_of((second,), names)
        if found and other:
            return found, other
    found = first_of(TEXTS, names)
    if found or len(names) == 1:
        return found or names[0], None
    raise InputError(
        f"{path}: none of the columns {', '.join(map(repr, names[:12]))} is called text; "
        "name it with text_column (--text-column), and check that the first line names the columns"
    )


def rows_of(path: Path, layout: Format, used: Used, wanted: list[str], null_as_empty: bool = False) -> Iterator[Row]:
    """Rows whose text is checked to be text."""
    paired, labelled = used.pair is not None, used.label is not None
    kept = [set(values) for _, values in used.keep]
    for place, values in layout.rows([*wanted, *(name for name, _ in used.keep)]):
        if any(value not in chosen for value, chosen in zip(values[len(wanted) :], kept, strict=True)):
            continue
        for at, name in enumerate(wanted[: 1 + paired]):
            if values[at] is None and null_as_empty:
                values[at] = ""
            elif not isinstance(values[at], str):
                raise no_text(f"{path}, {layout.unit} {place}", name, values[at])
        yield Row(place, values[0], values[1] if paired else None, values[len(wanted) - 1] if labelled else None)


def no_text(where: str, name: str, value: Any) -> InputError:
    """The error for a row whose text is null or another value."""
    got = "nothing" if value is None else f"{value!r:.60} ({type(value).__name__})"
    remedy = 'remove the row, or write "" for an empty text' if value is None else "write it as a string"
    return InputError(f"{where}: expected text in column {name!r}, got {got}; {remedy}")


def split_files(folder: Path) -> dict[str, Path]:
    """The data files of a folder by split: train, validation (or dev, val, valid), test, each with anything after _."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if not path.is_file() or not suffix_of(path):
            continue
        split = split_name(path.name.lower().removesuffix(".gz").removesuffix(suffix_of(path)))
        if split in found:
            raise InputError(f"{folder} has two files for {split}: {found[split].name} and {path.name}; remove one")
        if split:
            found[split] = path
    order = ("train", "validation", "test")
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0].partition("_")[0]), item[0])))


def split_name(stem: str) -> str:
    """
    >>> split_name("dev"), split_name("validation_matched"), split_name("notes")
    ('validation', 'validation_matched', '')
    """
    head, mark, tail = stem.partition("_")
    head = {"dev": "validation", "val": "validation", "valid": "validation"}.get(head, head)
    return head + mark + tail if head in ("train", "validation", "test") else ""
