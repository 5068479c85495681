"""Every command and every Python block of the pages runs, one after the other, on tiny models and data.

`tests/test_docs_commands.py` runs those of README.md, docs/tutorial.md, docs/own_method.md, and
`tests/training/test_generation.py` those of docs/generation.md.
"""

import re
import shlex
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import transcript
from typer.testing import CliRunner

from tests.doc_pages import PAGES, ROOT, read
from tests.tiny_run import data_folder, model_folder, sentences, write_csv
from uegr import cli
from uegr.attacks import lexicons
from uegr.benchmark import backends
from uegr.benchmark import run as benchmark
from uegr.data import sample
from uegr.data.card import Card
from uegr.data.local import Reading, file_source
from uegr.data.resolve import Found
from uegr.models import huggingface
from uegr.models.hub import Place
from uegr.runs.trainer import make_trainer

RUN = [
    *(f"docs/{name}.md" for name in ("howto", "attacks", "evaluation", "data", "runs", "models", "report")),
    *(f"docs/{name}.md" for name in ("playground", "configuration", "study", "benchmarks", "scale", "results")),
    "docs/reliability.md",
    "results/README.md",
    "CONTRIBUTING.md",
]
ELSEWHERE = ("README.md", "docs/tutorial.md", "docs/own_method.md", "docs/generation.md")  # run by other tests
EXCEPTIONS = {  # the start of a command, and why it does not run here
    "pip install": "the network",
    "python docs/generate.py": "writes the pages; tests/test_docs.py compares them",
    "uegr --install-completion": "writes into the home directory",
    "uegr report runs/ --watch": "runs until Ctrl-C",
    "uegr playground": "serves until Ctrl-C; tests/playground runs it",
    "uegr benchmark benchmarks/uegr_table1.yaml --scale full --backend ray": "a Ray cluster",
    "uegr benchmark benchmarks/uegr_table1.yaml --scale full --output": "a Ray cluster",
    "srun": "SLURM",
    "pytest tests/faults": "tests of their own, in `make test`",
    "make test-slow": "this test is one of them",
    "python -m tests.faults.campaign": "hours",
    "python benchmarks/": "hours, or an idle machine",
}
PROGRAMS = ("uegr", "python", "pip", "make", "git", "docker", "pytest", "export", "srun")
START = re.compile(rf"(?:\$ |time )?((?:[A-Z_]+=\S+ )*)((?:{'|'.join(PROGRAMS)}) .*)")
VANILLA = "train --method vanilla --model minilm --dataset snippets --output"
ROBUST = "train --method uegr --model minilm --dataset snippets --output"
MADE = {  # how the runs that a page names are made, where it does not make them itself
    "plain": [f"{VANILLA} runs/plain"],
    "vanilla": [f"{VANILLA} runs/vanilla", "attack runs/vanilla --attack pwws", "evaluate runs/vanilla --all"],
    "robust": [f"{ROBUST} runs/robust"],
    "uegr": [f"{ROBUST} runs/uegr"],
    "first": [f"{ROBUST} runs/first"],
    "cola": ["train --method vanilla --model minilm --dataset cola --output runs/cola"],
    "rte": ["train --method vanilla --model minilm --dataset rte --output runs/rte"],
    "several": ["train --model mtdnn --dataset cola,rte --output runs/several"],
}


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(what is set in the environment, command) of a block; what stands in a loop once for every value."""
    loop, values = "", [""]
    for line in map(str.strip, block.replace("\\\n", " ").splitlines()):
        if start := re.match(r"for (\w+) in (.*); do$", line):
            loop, values = start[1], start[2].split()
            inner: list[tuple[str, str]] = []
        elif line == "done":
            yield from ((one, re.sub(rf"\${loop}\b", value, two)) for value in values for one, two in inner)
            loop = ""
        elif found := START.match(line):
            if loop:
                inner.append((found[1], found[2]))
            else:
                yield found[1], found[2]


def reason(command: str) -> str | None:
    """Why a command does not run here."""
    return next((why for start, why in EXCEPTIONS.items() if command.startswith(start)), None)


def uegr(command: str) -> None:
    """Run it in this process; it must succeed."""
    result = CliRunner().invoke(cli.app, shlex.split(command, comments=True))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"uegr {command}: {result.exception!r}") from result.exception
    assert result.exit_code == 0, f"uegr {command}: {result.stderr[-2000:]}{result.stdout[-2000:]}"


class Tiny:
    """What stands for the models, the data sets, the lexicons, the vectors and the grids: the same, made small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        model_folder(folder / "model")
        synonyms = [("fine", "great", "poor"), ("poor", "awful", "fine"), ("good", "fine"), ("a", "the")]
        (folder / "words.tsv").write_text("".join("\t".join(row) + "\n" for row in synonyms))
        (folder / "vectors.txt").write_text("".join(f"{word}{' 0.1' * 300}\n" for word in ("the", "film")))
        self.words, self.starts = lexicons.load_lexicon(str(folder / "words.tsv")), benchmark.with_starts
        self.locate, self.rows = huggingface.locate, sample.rows_wanted

    def put(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for target, stand_in in {
            "uegr.models.huggingface.locate": self.model,
            "uegr.models.multitask.locate": self.model,
            "uegr.models.vectors.fetch": lambda source: self.folder / "vectors.txt",
            "uegr.data.resolve.from_card": self.data,
            "uegr.attacks.surface.load_lexicon": lambda name="wordnet": self.words,
            "uegr.data.sample.rows_wanted": lambda rows, size, share: self.rows(rows, size and min(size, rows), share),
            "uegr.benchmark.run.with_starts": self.ends,
            "uegr.runs.train.make_trainer": self.trainer,
            "uegr.benchmark.backends.run_processes": self.processes,
        }.items():
            monkeypatch.setattr(target, stand_in)

    def model(self, name: str) -> Place:
        """Every alias that has weights is the same BERT of one layer."""
        card = huggingface.cards().get(name)
        if card is None or card.architecture:
            return self.locate(name)
        return Place(str(self.folder / "model"), True, card)

    def data(self, card: Card, paper_split: bool) -> Found:
        """Every card has its columns and labels, and few rows."""
        columns = ("text", "pair") if card.columns.pair else ("text",)
        names = card.label_names or ("0.5", "1.5", "2.5")
        sources = {}
        for number, split in enumerate(card.splits):
            path = self.folder / card.name / f"{split}.csv"
            path.parent.mkdir(exist_ok=True)
            texts = sentences(max(32 if split == "train" else 12, 3 * len(names)), seed=number)
            rows = [(*(f"{text} {split}" for _ in columns), names[i % len(names)]) for i, (text, _) in enumerate(texts)]
            sources[split] = file_source(write_csv(path, rows, (*columns, "label")), Reading(*columns, label="label"))
        return Found(card.name, sources, card, card.label_names)

    def ends(self, chosen: Sequence[Any], cells: Sequence[Any]) -> list[Any]:
        """Of the chosen cells of a grid the first and the last."""
        return self.starts([chosen[0], *chosen[1:][-1:]], cells)

    @staticmethod
    def trainer(*given: Any) -> Any:
        """Two steps, however many epochs."""
        made, bar = make_trainer(*given)
        made.args.max_steps = 2
        return made, bar

    @staticmethod
    def processes(work: Any, cells: Sequence[Any], count: int, changed: Callable[[Any], None]) -> None:
        backends.run_here(work, cells, changed)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of someone in a clone of the repository, with the files that the pages name; everything is small."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Tiny(tmp_path).put(monkeypatch)
    shop = tmp_path / "shop"
    transcript.prepare(shop)
    for name in ("benchmarks", "results"):
        shutil.copytree(ROOT / name, shop / name)
    data_folder(shop / "my_folder", train=32, other=12)
    write_csv(shop / "my.csv", sentences(40))
    write_csv(shop / "complaints.csv", sentences(40, seed=1))
    named = [(text, {"good": "positive", "bad": "negative"}[label]) for text, label in sentences(20, seed=7)]
    write_csv(shop / "holdout.csv", named, ("review", "verdict"))
    (grid,) = [block for language, block in read(ROOT / "docs/benchmarks.md").blocks if language == "yaml"]
    (shop / "my_grid.yaml").write_text(grid)
    monkeypatch.chdir(shop)
    return shop


def prepare(text: str) -> None:
    """The configuration and the runs that a page names and does not make."""
    if "my.yaml" in text and "uegr init my.yaml" not in text:
        uegr("init my.yaml --dataset snippets")
    named = set(re.findall(r"runs/(\w+)", text)) - set(re.findall(r"--output runs/(\w+)", text))
    if re.search(r"report runs/ ", text):
        named |= {"plain", "robust"}
    for name in MADE:
        for command in MADE[name] if name in named else ():
            uegr(command)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_every_command_and_snippet_runs(page: str, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, names, ran = read(ROOT / page), {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tiny data deserve some
        prepare("\n".join(block for _, block in parts.blocks))
        for language, block in parts.blocks:
            if language == "python":
                exec(compile(block, page, "exec"), names)
                continue
            for environment, command in commands(block):
                ran += 1
                if reason(command) is not None:
                    continue
                program, _, rest = command.partition(" ")
                assert program in ("uegr", "export"), f"run {command}, or say in EXCEPTIONS why not"
                for setting in [*shlex.split(environment), *(rest.split() if program == "export" else ())]:
                    monkeypatch.setenv(*setting.split("=", 1))
                if program == "uegr":
                    uegr(rest)
    assert ran or names, f"{page} has nothing to run; leave it out"


def test_every_page_with_commands_or_snippets_is_known() -> None:
    known = {*RUN, *ELSEWHERE}
    for page in PAGES:
        parts = read(page)
        if parts.python or any(True for _, block in parts.blocks for _ in commands(block)):
            assert str(page.relative_to(ROOT)) in known


def test_every_exception_stands_on_a_page() -> None:
    blocks = [block for page in RUN for language, block in read(ROOT / page).blocks if language != "python"]
    every = [command for block in blocks for _, command in commands(block)]
    for start in EXCEPTIONS:
        assert any(command.startswith(start) for command in every), f"no page has {start}"
