"""BiLSTM: Graves & Schmidhuber 2005 (bidirectional LSTM), as R-AT's and UEGR's tables use it.

    h_t = [LSTM(x_1 .. x_t), LSTM(x_T .. x_t)],   z = W dropout(max_t h_t) + b

The papers do not say how the states become one vector; the maximum over time is the usual choice (Conneau 2017), and
`pooling="last"` (each direction's last state) and "mean" are the others. Padding is never seen by either direction: a
text's logits do not depend on its batch. Both directions run over texts laid out in their own reading order, which is
more than twice as fast on a CPU as packing them.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from uegr.errors import InputError, did_you_mean
from uegr.models.scratch import ScratchClassifier, ScratchConfig, ScratchEncoder, strongest


class BiLSTMConfig(ScratchConfig):  # type: ignore[no-untyped-call]
    """`hidden_size` counts one direction."""

    model_type = "uegr_bilstm"

    def __init__(self, hidden_size: int = 128, num_hidden_layers: int = 1, pooling: str = "max", **values: Any) -> None:
        if pooling not in POOLINGS:
            raise InputError(f"expected a pooling, got {pooling}; {did_you_mean(pooling, POOLINGS)}")
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.pooling = pooling
        super().__init__(**values)


class Bidirectional(nn.Module):
    """One layer of two LSTMs, (B, T, units) to (B, T, 2 hidden); outputs at padding are zero."""

    def __init__(self, units: int, hidden: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(units, hidden, batch_first=True)
        self.back = nn.LSTM(units, hidden, batch_first=True)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        ahead = in_order(self.ahead, values, reading_order(mask))
        back = in_order(self.back, values, reading_order(mask, backwards=True))
        return torch.cat([ahead, back], -1) * mask.unsqueeze(-1)


def reading_order(mask: Tensor, backwards: bool = False) -> Tensor:
    """Positions (B, T) in which a direction reads each text: its tokens first, padding after them.

    >>> reading_order(torch.tensor([[1, 1, 1, 0]]).bool(), backwards=True).tolist()
    [[2, 1, 0, 3]]
    """
    place = torch.arange(mask.shape[1], device=mask.device)
    key = place.flip(0) if backwards else place
    return torch.where(mask, key, place + mask.shape[1]).argsort(1)


def in_order(layer: nn.LSTM, values: Tensor, order: Tensor) -> Tensor:
    """The layer's output for each position, when it reads the positions in the given order."""
    rows = torch.arange(len(order), device=order.device).unsqueeze(1)
    output = run(layer, values[rows, order])
    return output[rows, order.argsort(1)]


def run(layer: nn.LSTM, values: Tensor) -> Tensor:
    """The layer's outputs; on a CPU in the weights' own precision, since few have the bfloat16 LSTM of autocast."""
    if values.device.type != "cpu":
        return layer(values)[0]  # type: ignore[no-any-return]
    with torch.autocast("cpu", enabled=False):
        return layer(values.to(next(layer.parameters()).dtype))[0]  # type: ignore[no-any-return]


def ends(values: Tensor, mask: Tensor) -> Tensor:
    """Where each direction has read the whole text: ahead at its last token, back at its first."""
    ahead, back = values.chunk(2, -1)
    rows = torch.arange(len(mask), device=mask.device)
    last = reading_order(mask, backwards=True)[:, 0]
    return torch.cat([ahead[rows, last], back[rows, reading_order(mask)[:, 0]]], -1)


def average(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over a text's tokens; 0 for a text without tokens."""
    return values.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


POOLINGS = {"max": strongest, "last": ends, "mean": average}


class BiLSTMEncoder(ScratchEncoder):
    def __init__(self, config: BiLSTMConfig) -> None:
        super().__init__(config)
        self.size = 2 * config.hidden_size
        self.pool = POOLINGS[config.pooling]
        units = [config.embedding_size] + [self.size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(Bidirectional(width, config.hidden_size) for width in units)

    def forward(self, input_ids: Tensor, mask: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        states = [self.embeddings(input_ids)]
        for layer in self.layers:
            states.append(layer(self.dropout(states[-1]), mask))
        return tuple(states), self.pool(states[-1], mask)


class BiLSTMForSequenceClassification(ScratchClassifier):  # type: ignore[no-untyped-call]
    config_class = BiLSTMConfig
    encoder_class = BiLSTMEncoder


AutoConfig.register("uegr_bilstm", BiLSTMConfig, exist_ok=True)
AutoModelForSequenceClassification.register(BiLSTMConfig, BiLSTMForSequenceClassification, exist_ok=True)
