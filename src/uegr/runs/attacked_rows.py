"""Adversarial texts as training rows: before each epoch the model as it stands is attacked.

Every epoch is n + m rows: all n training rows, and the m rows of a sample once more, as an adversarial text of the same
label wherever the attack found one. m is the same in every epoch, so that the number of steps and the learning rate's
schedule are known before anything is attacked; in the first, clean epochs the sample is seen as it is. The sample and
whatever the attack draws depend on the seed and the epoch alone; what was found serves one epoch and is not carried on.

What was found is kept as JSON lines, one file per epoch, whole or not there. Rows are attacked in blocks, each a search
of its own, and an interrupted epoch resumes at its first unfinished block: a resumed run trains on exactly the texts of
an uninterrupted one.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from transformers import TrainerCallback

from uegr.attacks import Example, Outcome, Surface, Victim, attack
from uegr.errors import InputError
from uegr.files import write_text
from uegr.models.texts import length_limit
from uegr.models.tokens import encoded
from uegr.pieces.embedding import unwrapped

BLOCK = 64  # rows attacked together: full batches for the model, and not much to do again after an interruption
SHARE, MOST = 0.2, 1_000  # of the training rows, by default
Tell = Callable[[int, int], None]  # rows attacked, of how many


def sample_size(rows: int, wanted: int | None) -> int:
    """How many rows are attacked before an epoch: a fifth of them and at most 1,000, or as many as wanted.

    >>> sample_size(160, None), sample_size(50_000, None), sample_size(3, None), sample_size(160, 500)
    (32, 1000, 1, 160)
    """
    return min(rows, wanted or min(max(1, round(SHARE * rows)), MOST))


class GrowingRows(torch.utils.data.Dataset[Any]):
    """Tokenised rows with others after them, which `fill` replaces.

    A sampler may take it for a datasets.Dataset; its lengths and labels are one array each and stay up to date.
    """

    def __init__(self, clean: Any, extra: int) -> None:
        self.clean, self.column_names = clean, clean.column_names
        self.extra: list[dict[str, Any]] = [clean[0]] * extra
        self.columns = {name: self.column(name) for name in ("length", "labels")}

    def column(self, name: str) -> np.ndarray:
        """A number of every row."""
        known = self.clean.with_format("numpy", columns=[name])[:][name]
        return np.concatenate([known, [row[name] for row in self.extra]])

    def fill(self, extra: list[dict[str, Any]]) -> None:
        """Take other extra rows, as many as before."""
        if len(extra) != len(self.extra):
            raise ValueError(f"expected {len(self.extra)} rows, got {len(extra)}: the number of steps is fixed")
        self.extra = extra
        for name, values in self.columns.items():
            values[len(self.clean) :] = [row[name] for row in extra]

    def __len__(self) -> int:
        return len(self.clean) + len(self.extra)

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return {name: values[row] for name, values in self.columns.items()}
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """What a data loader asks for: a batch at once."""
        places = [row for row in rows if row < len(self.clean)]
        clean = iter(self.clean.__getitems__(places) if places else ())
        return [next(clean) if row < len(self.clean) else self.extra[row - len(self.clean)] for row in rows]

    def with_format(self, kind: str, columns: Sequence[str]) -> "GrowingRows":
        """Itself: `[:]` gives the lengths and the labels, as arrays."""
        return self


@dataclass(frozen=True)
class Plan:
    """What is attacked, and how; `rows` are the training rows as texts, in the order of the tokenised ones."""

    rows: Any
    tokenizer: Any
    attack: str
    surface: Surface | str = "default"
    examples: int | None = None
    start: int = 1
    side: Literal["first", "second"] = "second"
    budget: int | None = None
    max_length: int | None = None
    seed: int = 0
    settings: dict[str, Any] | None = None

    def sample(self, epoch: int) -> np.ndarray:
        """The rows that are attacked before an epoch, each once."""
        drawn = np.random.default_rng([self.seed, epoch]).choice(
            len(self.rows), sample_size(len(self.rows), self.examples), replace=False
        )
        return np.sort(drawn)

    def examples_of(self, rows: np.ndarray) -> list[Example]:
        """Texts, or pairs, with their labels."""
        chosen = self.rows.select(rows)
        texts = zip(chosen["text"], chosen["pair"], strict=True) if "pair" in chosen.column_names else chosen["text"]
        return [Example(text, int(label)) for text, label in zip(texts, chosen["label"], strict=True)]

    def attacked(self, model: Any, rows: np.ndarray, epoch: int) -> list[Outcome]:
        """One block; outcomes are numbered by their rows."""
        results = attack(
            Victim(unwrapped(model), self.tokenizer, max_length=self.max_length),
            self.examples_of(rows),
            self.attack,
            surface=self.surface,
            side=self.side,
            budget=self.budget,
            seed=int(np.random.SeedSequence([self.seed, epoch, int(rows[0])]).generate_state(1)[0]),
            progress=False,
            **(self.settings or {}),
        )
        return [replace(outcome, index=int(row)) for row, outcome in zip(rows, results.outcomes, strict=True)]

    def tokenised(self, examples: Sequence[Example]) -> list[dict[str, Any]]:
        """As the training rows are."""
        pairs = not isinstance(examples[0].text, str)
        sides = zip(*(example.text for example in examples), strict=True) if pairs else ([e.text for e in examples],)
        batch = dict(zip(("text", "pair"), map(list, sides), strict=False))
        columns = encoded(
            batch | {"label": [example.label for example in examples]},
            self.tokenizer,
            length_limit(self.tokenizer, self.max_length),
        )
        names = [name for name in columns if name != "cut"]
        return [{name: columns[name][row] for name in names} for row in range(len(examples))]


class Augment(TrainerCallback):
    """Attacks a sample of the training rows before each epoch, and puts what is found into the epoch."""

    def __init__(self, plan: Plan, tokens: Any, folder: Path, tell: Tell | None = None) -> None:
        self.plan, self.folder, self.tell = plan, folder, tell
        self.rows = GrowingRows(tokens, sample_size(len(tokens), plan.examples))
        self.rows.fill(plan.tokenised(plan.examples_of(plan.sample(0))))
        self.trainer: Any = None
        self.counts: dict[str, int] = {}

    def on_epoch_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        epoch = int(state.epoch or 0)
        chosen = self.plan.sample(epoch)
        if epoch < self.plan.start:
            self.rows.fill(self.plan.tokenised(self.plan.examples_of(chosen)))
            return
        begun = float(state.epoch or 0) > epoch
        with args.main_process_first(desc="attack"):
            outcomes = self.outcomes(model, chosen, epoch, begun)
        found = [outcome.found if outcome.status == "success" else outcome.text for outcome in outcomes]
        labels = [outcome.label for outcome in outcomes]
        self.rows.fill(self.plan.tokenised([Example(*pair) for pair in zip(found, labels, strict=True)]))  # type: ignore[arg-type]
        self.counts = {} if begun else counted(outcomes)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Log at the epoch's first step: a resumed run then logs it once, too."""
        if self.counts:
            self.trainer.log({f"augment_{name}": count for name, count in self.counts.items()})
            self.counts = {}

    def outcomes(self, model: Any, chosen: np.ndarray, epoch: int, begun: bool) -> list[Outcome]:
        """What became of every chosen row: read if it is known, else attacked, block after block."""
        file = self.folder / f"epoch-{epoch}.jsonl"
        if file.exists():
            return self.read(file, chosen)
        if begun:
            raise InputError(f"expected the texts of this epoch in {file}, got no such file; start the run again")
        part = file.with_suffix(".part")
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self.read(part, chosen) if part.exists() else []
        known = known[: len(known) // BLOCK * BLOCK]
        write_text(part, "".join(map(line, known)))
        for start in range(len(known), len(chosen), BLOCK):
            if self.tell:
                self.tell(start, len(chosen))
            known += self.plan.attacked(model, chosen[start : start + BLOCK], epoch)
            with part.open("a", encoding="utf-8") as grows:
                grows.write("".join(map(line, known[start:])))
        write_text(file, "".join(map(line, known)))
        part.unlink()
        return known

    def read(self, file: Path, chosen: np.ndarray) -> list[Outcome]:
        """The outcomes in a file, which must be of these rows; only an unfinished one may lack some."""
        try:
            outcomes = outcomes_in(file)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file} holds no outcomes of an attack ({error}); start the run again") from None
        rows = [outcome.index for outcome in outcomes]
        expected = chosen[: len(rows)] if file.suffix == ".part" else chosen
        if rows != expected.tolist():
            raise InputError(f"{file} holds other rows than this run attacks; start the run again")
        return outcomes


def line(outcome: Outcome) -> str:
    return json.dumps(outcome.encoded(), ensure_ascii=False) + "\n"


def outcomes_in(file: Path) -> list[Outcome]:
    """Of every whole line; the last may have been cut off by a crash."""
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    return [Outcome.decoded(json.loads(one)) for one in lines]


def counted(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Rows attacked, texts found, and rows that were wrong already or had nothing to change."""
    kinds = Counter(outcome.status for outcome in outcomes)
    return {"attacked": len(outcomes), "found": kinds["success"], "skipped": kinds["skipped"]}


def counts(folder: Path) -> list[dict[str, int]]:
    """The counts of every epoch that was attacked, for the result of a run."""
    files = {int(file.stem.rpartition("-")[2]): file for file in folder.glob("epoch-*.jsonl")}
    return [{"epoch": epoch} | counted(outcomes_in(files[epoch])) for epoch in sorted(files)]
