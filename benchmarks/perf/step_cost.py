"""The cost of a training step relative to vanilla: every contender alternates with vanilla in one process.

    python benchmarks/perf/step_cost.py            a table: trainer, fgm, rat, rat_released, uegr
    python benchmarks/perf/step_cost.py --all      also every other method of the table
    python benchmarks/perf/step_cost.py --json     one JSON line
    python benchmarks/perf/step_cost.py uegr rat   some contenders only; also uegr_plus_both, uegr_plus_fast

The default encoder (`minilm`), batches of 16 `snippets` with their natural lengths, by default one torch thread. A
step is what Trainer's inner loop does: losses, clipping, gradient edits, AdamW, zeroing. Ratios are medians over
rounds of a contender's time divided by vanilla's in the same round. `limits` is the computed cost of the declared
passes, plus the gradient edits and the method's declared extra, which is measured separately: the same operations on
all weights, without any pass. Peak memory is the largest sum of live tensors in a step, including weights and
optimizer state, from torch's memory profiler, so that it does not depend on the allocator; `step_memory` is the part
that a step allocates: gradients, activations and everything else it needs.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "99")

import torch
from step_extras import EXTRAS
from torch.profiler import ProfilerActivity, profile
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

import uegr
from uegr import RobustTrainer, data, methods, models
from uegr.methods import METHODS, Method
from uegr.methods.contract import Terms, predictions, task_loss
from uegr.methods.objectives.submodels import RegularizedAdversarial
from uegr.pieces.divergence import pairwise
from uegr.pieces.embedding import perturbed, repeated
from uegr.pieces.perturbation import unit, zero_start

BATCH, BATCHES = 16, 8
RECORD = Path(uegr.__file__).parent / "methods" / "cost.json"
PAPER = ("trainer", "fgm", "rat", "rat_released", "uegr")


class AsReleased(RegularizedAdversarial):
    """R-AT as its authors released it: the clean graph is kept and back-propagated twice, 3 forward, 4 backward."""

    yields, passes = 1, (3, 4)

    def __init__(self) -> None:
        self.__dict__.update(methods.rat().objective.__dict__)
        self.yields, self.passes = 1, (3, 4)

    def losses(self, model: Any, batch: Any) -> Iterator[Terms]:
        delta = zero_start(model, batch)
        with perturbed(model, delta, batch):
            clean = task_loss(model(**batch))
        wanted = [delta, *(p for p in model.parameters() if p.requires_grad)]
        gradient = torch.autograd.grad(clean, wanted, retain_graph=True)[0]
        move = self.attack.radius() * unit(gradient, batch, self.attack.norm)
        many = repeated(batch, self.submodels)
        with perturbed(model, torch.cat([move] * self.submodels), many):
            output = model(**many)
        logits = predictions(model, output["logits"], many).unflatten(0, (self.submodels, -1))
        apart = self.weight * pairwise(logits, self.divergence)
        yield {"task": clean, "adversarial": task_loss(output), "divergence": apart}


VARIANTS: dict[str, Callable[[], Method]] = {
    "rat_released": lambda: Method(AsReleased(), name="rat_released"),
    "uegr_plus_both": lambda: methods.uegr_plus(adversary="both"),
    "uegr_plus_fast": lambda: methods.uegr_plus(depth=0.5, epsilon_relative=True),
}


class Contender:
    """A trainer whose inner loop is stepped by hand, so that contenders take turns."""

    def __init__(self, name: str, rows: Any) -> None:
        loaded = models.load("minilm", labels=("negative", "positive"))
        args = TrainingArguments(
            tempfile.mkdtemp(), per_device_train_batch_size=BATCH, learning_rate=1e-6, report_to=[], use_cpu=True,
            weight_decay=0.01, disable_tqdm=True,
        )  # fmt: skip
        common = {"model": loaded.model, "args": args, "train_dataset": rows, "processing_class": loaded.tokenizer}
        common["data_collator"] = DataCollatorWithPadding(loaded.tokenizer)
        self.name = name
        self.trainer: Any = Trainer(**common) if name == "trainer" else RobustTrainer(**common, method=method_of(name))
        if name != "trainer":
            self.trainer.make_ready()
        self.trainer.create_optimizer_and_scheduler(num_training_steps=10_000)
        self.trainer.state.max_steps, self.trainer.epoch_steps = 10_000, 100
        self.trainer.model.train()
        self.edits = 0.0

    @property
    def passes(self) -> tuple[float, float]:
        """Forward and backward passes over the batch."""
        return (1, 1) if self.name == "trainer" else self.trainer.method.objective.passes

    def step(self, batch: dict[str, torch.Tensor]) -> float:
        """One step, as in Trainer's loop; returns its seconds."""
        trainer, start = self.trainer, time.perf_counter()
        trainer.current_gradient_accumulation_steps = 1
        trainer.training_step(trainer.model, dict(batch), torch.tensor(len(batch["labels"])))
        trainer._clip_grad_norm(trainer.model)
        before = time.perf_counter()
        trainer.callback_handler.on_pre_optimizer_step(trainer.args, trainer.state, trainer.control)
        self.edits += time.perf_counter() - before
        trainer.optimizer.step()
        trainer.callback_handler.on_optimizer_step(trainer.args, trainer.state, trainer.control)
        trainer.lr_scheduler.step()
        trainer.model.zero_grad()
        trainer.state.global_step += 1
        return time.perf_counter() - start

    def peak(self, batch: dict[str, torch.Tensor]) -> int:
        """The largest sum of live bytes allocated within one step."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
                self.step(batch)
        events = [e for e in profiled.profiler.kineto_results.events() if e.name() == "[memory]"]
        live = highest = 0
        for event in sorted(events, key=lambda e: e.start_ns()):
            live += event.nbytes()
            highest = max(highest, live)
        return highest

    def parts(self, batches: list[dict[str, torch.Tensor]]) -> tuple[float, float]:
        """Seconds of one forward and of one backward pass, medians."""
        forward, backward = [], []
        for batch in batches * 2:
            start = time.perf_counter()
            loss = self.trainer.model(**batch).loss
            middle = time.perf_counter()
            loss.backward()
            backward.append(time.perf_counter() - middle)
            forward.append(middle - start)
            self.trainer.model.zero_grad()
        return statistics.median(forward), statistics.median(backward)

    def standing(self) -> int:
        """The bytes of weights and optimizer state."""
        states = [v for state in self.trainer.optimizer.state.values() for v in state.values() if torch.is_tensor(v)]
        return sum(tensor.nbytes for tensor in [*self.trainer.model.parameters(), *states])


def extra_seconds(contender: Contender, times: int = 9) -> float:
    """What the method does to all weights beside its passes, alone; median."""
    if (run := EXTRAS.get(contender.name)) is None:
        return 0.0
    model, objective, seconds = contender.trainer.model, contender.trainer.method.objective, []
    for _ in range(times):
        start = time.perf_counter()
        run(model, objective)
        seconds.append(time.perf_counter() - start)
    model.zero_grad()
    return statistics.median(seconds)


def method_of(name: str) -> Method:
    """A method by name, with its defaults, or a variant of one."""
    return VARIANTS[name]() if name in VARIANTS else METHODS[name]()


def snippets() -> tuple[Any, list[dict[str, torch.Tensor]]]:
    """Tokenised rows, and the batches that every contender sees."""
    loaded = models.load("minilm", labels=("negative", "positive"))
    rows = models.tokenized(data.load("snippets").splits["train"], loaded.tokenizer).select(range(BATCH * BATCHES))
    collate = DataCollatorWithPadding(loaded.tokenizer)
    keys = ("input_ids", "attention_mask", "token_type_ids", "labels")
    parts = [[rows[i] for i in range(k * BATCH, (k + 1) * BATCH)] for k in range(BATCHES)]
    return rows, [collate([{key: row[key] for key in keys} for row in part]) for part in parts]


def compare(name: str, vanilla: Contender, rows: Any, batches: list[Any], rounds: int) -> dict[str, Any]:
    """One contender against vanilla, taking turns, the order alternating."""
    other = Contender(name, rows)
    pair = [vanilla, other]
    for contender in pair:
        contender.step(batches[0])
    other.edits, times = 0.0, {vanilla: [], other: []}
    for turn in range(rounds):
        for contender in pair if turn % 2 == 0 else pair[::-1]:
            times[contender].append(contender.step(batches[turn % len(batches)]))
        print(f"\r{name}: {turn + 1}/{rounds}", end="", file=sys.stderr)
    print("\r" + " " * 40, end="\r", file=sys.stderr)
    ratios = [a / b for a, b in zip(times[other], times[vanilla], strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "milliseconds": 1e3 * statistics.median(times[other]),
        "vanilla_milliseconds": 1e3 * statistics.median(times[vanilla]),
        "edits_share": other.edits / sum(times[other]),
        "passes": list(other.passes),
        "extra": extra_seconds(other) / statistics.median(times[vanilla]),
        "memory": memory(other, batches) / memory(vanilla, batches),
        "step_memory": other.peak(batches[0]) / vanilla.peak(batches[0]),
    }


def limit(entry: dict[str, Any], forward: float, backward: float) -> float:
    """The arithmetic limit: the declared passes, a forward and a backward together counting 1, and declared extras."""
    passes = entry["passes"][0] * forward + entry["passes"][1] * backward
    return passes / (forward + backward) + entry["extra"] + entry["edits_share"] * entry["ratio"]


def memory(contender: Contender, batches: list[Any]) -> int:
    """Everything alive at the peak of a step."""
    return contender.standing() + contender.peak(batches[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="*", help=f"default: {' '.join(PAPER)}")
    parser.add_argument("--all", action="store_true", help="every method; takes half an hour")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    parser.add_argument("--record", action="store_true", help="keep the result for the docs; other methods keep theirs")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1, help="with anything else running, one is faster than two")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rest = [name for name in METHODS if name not in (*PAPER, "vanilla")] if options.all else []
    names = options.contenders or [*PAPER, *rest]
    rows, batches = snippets()
    vanilla = Contender("vanilla", rows)
    vanilla.step(batches[0])
    forward, backward = vanilla.parts(batches)
    found = {name: compare(name, vanilla, rows, batches, options.rounds) for name in names}
    result = {
        "ratios": {"vanilla": 1.0, **{name: round(entry["ratio"], 3) for name, entry in found.items()}},
        "passes": {name: entry["passes"] for name, entry in found.items()},
        "limits": {name: round(limit(entry, forward, backward), 3) for name, entry in found.items()},
        "extras": {name: round(entry["extra"], 3) for name, entry in found.items() if entry["extra"]},
        "selective_update_share": round(found["uegr"]["edits_share"], 4) if "uegr" in found else None,
        "peak_memory": {"vanilla": 1.0, **{name: round(entry["memory"], 3) for name, entry in found.items()}},
        "step_memory": {"vanilla": 1.0, **{name: round(entry["step_memory"], 3) for name, entry in found.items()}},
        "milliseconds": {name: round(entry["milliseconds"], 1) for name, entry in found.items()},
        "vanilla_milliseconds": {name: round(entry["vanilla_milliseconds"], 1) for name, entry in found.items()},
        "rounds": options.rounds,
        "threads": options.threads,
        "batch": BATCH,
    }
    if options.record:
        RECORD.write_text(json.dumps(merged(json.loads(RECORD.read_text()), result), indent=1) + "\n")
    print(json.dumps(result) if options.json else table(result))


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The record with these methods measured again; the others stay."""
    return {
        key: old.get(key, {}) | value if isinstance(value, dict) else old.get(key) if value is None else value
        for key, value in new.items()
    }


def table(result: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{'method':<14}{'ratio':>8}{'limit':>8}{'forward':>9}{'backward':>10}{'memory':>8}"]
    for name, (forward, backward) in result["passes"].items():
        ratio, memory = result["ratios"][name], result["peak_memory"][name]
        bound = result["limits"][name]
        lines.append(f"{name:<14}{ratio:>8.2f}{bound:>8.2f}{forward:>9}{backward:>10}{memory:>8.2f}")
    if result["selective_update_share"] is not None:
        lines.append(f"the selective update is {100 * result['selective_update_share']:.1f}% of the uegr step")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
