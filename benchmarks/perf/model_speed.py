"""TextCNN and BiLSTM in RobustTrainer against a hand-written minimal torch loop, on the same batches, in one process.

    python benchmarks/perf/model_speed.py            a table; exit code 1 when a share is below 60%
    python benchmarks/perf/model_speed.py --json     one JSON line
    python benchmarks/perf/model_speed.py bilstm     one of the two

The minimal loop is what one writes in ten minutes: torch's own bidirectional LSTM or three convolutions over prepared
padded batches, without masks, clipping, schedule or log. RobustTrainer runs in full: its data loader and collator,
clipping, schedule, callbacks, and models that ignore padding exactly. The two alternate. Times are CPU seconds, which
depend little on other work on the machine. A share is the median over rounds of the loop's time divided by the
trainer's in the same round.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DataCollatorWithPadding, PrinterCallback, TrainerCallback, TrainingArguments

from uegr import RobustTrainer, data, methods, models
from uegr.data.vocabulary import vocabulary

BATCH, STEPS, LEAST = 32, 20, 0.6


class MinimalBiLSTM(nn.Module):
    """Embedding, LSTM, maximum, linear."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 300, padding_idx=0)
        self.lstm = nn.LSTM(300, 128, batch_first=True, bidirectional=True)
        self.dropout, self.out = nn.Dropout(0.5), nn.Linear(256, 2)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.lstm(self.dropout(self.embedding(ids)))
        return self.out(self.dropout(states.amax(1)))


class MinimalTextCNN(nn.Module):
    """Embedding, three convolutions, maximum, linear."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 300, padding_idx=0)
        self.windows = nn.ModuleList(nn.Conv1d(300, 100, width, padding=width // 2) for width in (3, 4, 5))
        self.dropout, self.out = nn.Dropout(0.5), nn.Linear(300, 2)

    def forward(self, ids: Tensor) -> Tensor:
        words = self.embedding(ids).transpose(1, 2)
        return self.out(self.dropout(torch.cat([window(words).relu().amax(2) for window in self.windows], 1)))


MINIMAL = {"textcnn": MinimalTextCNN, "bilstm": MinimalBiLSTM}


def minimal(model: nn.Module, batches: list[dict[str, Tensor]]) -> float:
    """CPU seconds of the hand-written loop."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start = time.process_time()
    for batch in batches:
        loss = nn.functional.cross_entropy(model(batch["input_ids"]), batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return time.process_time() - start


class Clock(TrainerCallback):
    """From the first step to the end, without the setting up."""

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.start = time.process_time()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.seconds = time.process_time() - self.start


def trainer_of(name: str, rows: Any, tokenizer: Any, folder: str) -> tuple[RobustTrainer, Clock]:
    """A fresh model in a trainer with the defaults, for STEPS steps."""
    clock = Clock()
    args = TrainingArguments(
        folder, per_device_train_batch_size=BATCH, learning_rate=1e-3, max_steps=STEPS, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="no", logging_strategy="no", seed=0,
    )  # fmt: skip
    trainer = RobustTrainer(
        model=models.build(name, tokenizer, 2).model, args=args, train_dataset=rows, method=methods.vanilla(),
        data_collator=DataCollatorWithPadding(tokenizer), callbacks=[clock],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)  # standard output is for the result
    return trainer, clock


def compare(name: str, rows: Any, tokenizer: Any, rounds: int) -> dict[str, float]:
    """The two in turns, after a round that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        batches = list(trainer_of(name, rows, tokenizer, folder)[0].get_train_dataloader())[:STEPS]
        times: list[tuple[float, float]] = []
        for turn in range(rounds + 1):
            by_hand = minimal(MINIMAL[name](len(tokenizer)), batches)
            trainer, clock = trainer_of(name, rows, tokenizer, folder)
            trainer.train()
            times.append((by_hand, clock.seconds))
            print(f"\r{name}: {turn}/{rounds}", end="", file=sys.stderr)
    print("\r" + " " * 40, end="\r", file=sys.stderr)
    hand, ours = zip(*times[1:], strict=True)
    return {
        "share": round(statistics.median(a / b for a, b in zip(hand, ours, strict=True)), 3),
        "minimal_milliseconds": round(1e3 * statistics.median(hand) / STEPS, 1),
        "trainer_milliseconds": round(1e3 * statistics.median(ours) / STEPS, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="default: textcnn and bilstm")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train = data.load("snippets").splits["train"]
    tokenizer = vocabulary(train)
    rows = models.tokenized(train, tokenizer)
    result = {name: compare(name, rows, tokenizer, options.rounds) for name in options.models or MINIMAL}
    if options.json:
        print(json.dumps({**result, "rounds": options.rounds, "threads": options.threads, "batch": BATCH}))
    else:
        for name, entry in result.items():
            times = f"{entry['minimal_milliseconds']} ms by hand, {entry['trainer_milliseconds']} ms in RobustTrainer"
            print(f"{name:<8} {entry['share']:.0%} of the minimal loop's speed ({times} a step)")
    sys.exit(any(entry["share"] < LEAST for entry in result.values()))


if __name__ == "__main__":
    main()
