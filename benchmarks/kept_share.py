"""What alpha of UEGR's selective update means: the share of the live entries of the gradient that is kept.

    python benchmarks/kept_share.py                   a Markdown table
    python benchmarks/kept_share.py --json            one JSON object
    python benchmarks/kept_share.py --steps 5 textcnn/ag_news

An entry is live when its gradient is not zero; the word vectors of words that a batch lacks are not. The share is the
mean keep probability p over all live entries, so that no random mask is drawn, averaged over the first steps of a
training: batches of 16 rows of at most 128 tokens, AdamW, the gradient of UEGR's whole loss. Under `scope="encoder"`
the entries outside the layers count as kept.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from uegr import backward, data, methods, models
from uegr.pieces.encoder import layer_names
from uegr.pieces.saliency import probability

PAIRS = ("textcnn/ag_news", "minilm/sst2")
ALPHAS, BETAS, SCOPES = (0.6, 0.9, 0.95), (1.0, 5.0, 10.0), ("all", "live", "encoder")
BATCH, LENGTH = 16, 128
RATES = {True: 1e-3, False: 5e-5}  # without and with pretraining, as `uegr train` has them


def loaded(model: str, rows: data.Data) -> models.Loaded:
    """The classifier with a head for the data's labels."""
    if models.cards()[model].scratch:
        return models.build(model, data.vocabulary(rows.splits["train"], max_length=LENGTH), labels=rows.labels)
    return models.load(model, labels=rows.labels)


def batches(rows: Any, tokenizer: Any, steps: int) -> Iterator[dict[str, Tensor]]:
    """Rows in a shuffled order that depends on nothing but their number."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    for step in range(steps):
        part = rows.select(order[step * BATCH : (step + 1) * BATCH])
        made = tokenizer(list(part["text"]), truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
        yield {**made, "labels": torch.tensor(list(part["label"]))}


def shares(gradients: dict[str, Tensor], layers: set[str]) -> dict[tuple[str, float, float], float]:
    """(scope, alpha, beta) -> the mean p over the live entries."""
    live = {name: gradient[gradient != 0] for name, gradient in gradients.items()}
    total, found = sum(entries.numel() for entries in live.values()), {}
    for scope in SCOPES:
        names = [name for name in gradients if scope != "encoder" or name in layers]
        outside = total - sum(live[name].numel() for name in names)
        for alpha, beta in itertools.product(ALPHAS, BETAS):
            ranked = [gradients[name] for name in names]
            p = probability(ranked, score="rank", keep="salient", alpha=alpha, beta=beta, live=scope == "live")
            kept = sum(float(p(live[name]).double().sum()) for name in names)
            found[scope, alpha, beta] = (kept + outside) / total
    return found


def measured(model: str, dataset: str, steps: int) -> dict[str, Any]:
    """One model on one data set."""
    rows = data.load(dataset)
    made = loaded(model, rows)
    layers, network = set(layer_names(made.model)), made.model.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATES[models.cards()[model].scratch], weight_decay=0.01)
    method, alive, seen = methods.uegr(selective_update=False), [], []
    torch.manual_seed(0)
    for number, batch in enumerate(batches(rows.splits["train"], made.tokenizer, steps)):
        optimizer.zero_grad()
        backward(method, network, batch, step=number)
        gradients = {name: p.grad for name, p in network.named_parameters() if p.grad is not None}
        alive.append(sum(int((g != 0).sum()) for g in gradients.values()) / entries(network))
        seen.append(shares(gradients, layers))
        optimizer.step()
    kept = [
        {
            "scope": scope,
            "alpha": alpha,
            "beta": beta,
            "kept": round(mean([one[scope, alpha, beta] for one in seen]), 4),
        }
        for scope, alpha, beta in seen[0]
    ]
    return {"model": model, "dataset": dataset, "steps": steps, "live": round(mean(alive), 4), "kept": kept}


def entries(network: nn.Module) -> int:
    """How many weights are trained."""
    return sum(weight.numel() for weight in network.parameters() if weight.requires_grad)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def table(result: dict[str, Any]) -> str:
    """A Markdown table: a row per scope and beta, a column per alpha."""
    lines = [
        f"`{result['model']}` on `{result['dataset']}`, {100 * result['live']:.0f}% of the entries live:\n",
        f"| scope | beta | {' | '.join(f'alpha {alpha:g}' for alpha in ALPHAS)} |",
        f"|---|---|{'---|' * len(ALPHAS)}",
    ]
    kept = {(row["scope"], row["alpha"], row["beta"]): row["kept"] for row in result["kept"]}
    for scope in SCOPES:
        for beta in BETAS:
            cells = " | ".join(f"{100 * kept[scope, alpha, beta]:.1f}%" for alpha in ALPHAS)
            lines.append(f"| `{scope}` | {beta:g} | {cells} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", default=PAIRS, help=f"model/dataset, default: {' '.join(PAIRS)}")
    parser.add_argument("--steps", type=int, default=20, help="steps to average over, default: 20")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    results = [measured(*pair.split("/", 1), options.steps) for pair in options.pairs]
    print(json.dumps({"results": results}) if options.json else "\n\n".join(table(result) for result in results))


if __name__ == "__main__":
    main()
