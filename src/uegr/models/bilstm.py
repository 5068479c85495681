"""BiLSTM: Graves & Schmidhuber 2005 (bidirectional LSTM), as R-AT's and UEGR's tables use it.

    h_t = [LSTM(x_1 .. x_t), LSTM(x_T .. x_t)],   z = W dropout(max_t h_t) + b

The papers do not say how the states become one vector; the maximum over time is the usual choice (Conneau 2017), and
`pooling="last"` (each direction's last state) and "mean" are the others. A text's logits do not depend on its batch.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from uegr.errors import InputError, did_you_mean
from uegr.models.recurrent import Bidirectional, reading_order
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
        self.dropout = nn.Dropout(config.dropout)
        self.pool = POOLINGS[config.pooling]
        units = [config.embedding_size] + [self.size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(Bidirectional(nn.LSTM, width, config.hidden_size) for width in units)

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
