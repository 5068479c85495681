"""A training loop of your own: `uegr.backward` takes the place of `loss.backward()`.

python examples/own_loop.py
"""

import torch

import uegr
from uegr import data, methods, models

torch.manual_seed(0)
snippets = data.load("snippets")
loaded = models.load("minilm-l3", labels=snippets.labels)
model, tokenizer = loaded.model.train(), loaded.tokenizer
rows = data.subsample(snippets.splits["train"], size=128, seed=0).shuffle(seed=0)

method = methods.rat(epsilon=0.1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step, start in enumerate(range(0, len(rows), 16)):
    part = rows[start : start + 16]
    batch = dict(tokenizer(part["text"], padding=True, truncation=True, max_length=48, return_tensors="pt"))
    batch["labels"] = torch.tensor(part["label"])
    terms = uegr.backward(method, model, batch, step=step)  # the gradients are in .grad, as after loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, {name: round(value, 3) for name, value in terms.items()})
