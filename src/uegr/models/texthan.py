"""TextHAN: Yang 2016, "Hierarchical attention networks for document classification".

    h_it = BiGRU(x_i1 .. x_in),  u_it = tanh(W h_it + b),  a_it = softmax_t(u_it . u_w),  s_i = sum_t a_it h_it

for the words t of sentence i; the same again over the sentences gives the document's vector v, and z = W_c v + b_c.

Sentences end at the token ids in `sentence_ends` (full stops and similar marks, see architectures.py), and after
`sentence_length` tokens at the latest. The words are embedded as one text, (B, T), and regrouped afterwards, so that a
perturbation of the embedding means the same here as in every other model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from uegr.models.recurrent import Bidirectional
from uegr.models.scratch import ScratchClassifier, ScratchConfig, ScratchEncoder


class TextHANConfig(ScratchConfig):  # type: ignore[no-untyped-call]
    """`hidden_size` counts one direction; 50 and 100 are the paper's sizes."""

    model_type = "uegr_texthan"

    def __init__(
        self,
        hidden_size: int = 50,
        attention_size: int = 100,
        sentence_ends: Sequence[int] = (),
        sentence_length: int = 50,
        **values: Any,
    ) -> None:
        self.hidden_size = hidden_size
        self.attention_size = attention_size
        self.sentence_ends = list(sentence_ends)
        self.sentence_length = sentence_length
        super().__init__(**values)


class Sentences(NamedTuple):
    """Where every token of a batch goes, (B, T) each."""

    number: Tensor  # of the token's sentence within its text
    slot: Tensor  # of the token within its sentence
    row: Tensor  # of the sentence among those of the whole batch


def sentences(input_ids: Tensor, mask: Tensor, ends: Tensor, length: int) -> Sentences:
    """Split texts after a run of sentence ends, and after `length` tokens.

    >>> ids = torch.tensor([[5, 6, 3, 3, 7, 8]])
    >>> sentences(ids, ids > 0, torch.tensor([3]), 3).number.tolist()
    [[0, 0, 0, 1, 2, 2]]
    """
    place = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    end = torch.isin(input_ids, ends) & mask
    before = nn.functional.pad(mask & ~end, (1, 0))[:, :-1]  # the token before is a word of this sentence
    after_end = nn.functional.pad(end, (1, 0))[:, :-1]
    start = mask & ~before & ~(after_end & end)
    start = start | (mask & (_since(start, place) % length == 0))
    number, slot, counts = start.cumsum(1) - 1, _since(start, place), start.sum(1)
    row = number + (counts.cumsum(0) - counts).unsqueeze(1)
    return Sentences(*(where.masked_fill(~mask, 0) for where in (number, slot, row)))


def _since(start: Tensor, place: Tensor) -> Tensor:
    """How many places ago the last start was."""
    return place - torch.where(start, place, 0).cummax(1).values


def placed(values: Tensor, rows: Tensor, columns: Tensor, height: int) -> tuple[Tensor, Tensor]:
    """(height, width, units) with values[k] at (rows[k], columns[k]), zero elsewhere, and the mask of what is there."""
    shape = (max(height, 1), int(columns.max()) + 1 if len(columns) else 1)
    mask = torch.zeros(shape, dtype=torch.bool, device=values.device)
    mask[rows, columns] = True
    return values.new_zeros(*shape, values.shape[-1]).index_put((rows, columns), values), mask


class Attention(nn.Module):
    """(B, T, units) and a mask to the weighted mean over T, (B, units); zero where there is nothing."""

    def __init__(self, units: int, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(units, size)
        self.context = nn.Linear(size, 1, bias=False)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        scores = self.context(self.project(values).tanh()).masked_fill(~mask.unsqueeze(-1), float("-inf"))
        scores = scores.masked_fill(~mask.any(1)[:, None, None], 0.0)
        weighted: Tensor = scores.softmax(1) * values
        return weighted.sum(1)


class TextHANEncoder(ScratchEncoder):
    def __init__(self, config: TextHANConfig) -> None:
        super().__init__(config)
        self.size, self.length = 2 * config.hidden_size, config.sentence_length
        self.dropout = nn.Dropout(config.dropout)
        self.ends = config.sentence_ends
        self.words = Bidirectional(nn.GRU, config.embedding_size, config.hidden_size)
        self.word_attention = Attention(self.size, config.attention_size)
        self.sentences = Bidirectional(nn.GRU, self.size, config.hidden_size)
        self.sentence_attention = Attention(self.size, config.attention_size)

    def forward(self, input_ids: Tensor, mask: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        embedded = self.embeddings(input_ids)
        ends = torch.tensor(self.ends, dtype=torch.long, device=input_ids.device)
        split = sentences(input_ids, mask, ends, self.length)
        text, first = (mask & (split.slot == 0)).nonzero(as_tuple=True)  # every sentence's first word, in order of row
        words, inside = placed(self.dropout(embedded)[mask], split.row[mask], split.slot[mask], len(text))
        words = self.words(words, inside)
        summaries = self.word_attention(words, inside)[: len(text)]
        written, present = placed(summaries, text, split.number[text, first], len(mask))
        document = self.sentences(self.dropout(written), present)
        of_words = words[split.row, split.slot] * mask.unsqueeze(-1)
        of_sentences = document[torch.arange(len(mask)).unsqueeze(1), split.number] * mask.unsqueeze(-1)
        return (embedded, of_words, of_sentences), self.sentence_attention(document, present)


class TextHANForSequenceClassification(ScratchClassifier):  # type: ignore[no-untyped-call]
    config_class = TextHANConfig
    encoder_class = TextHANEncoder


AutoConfig.register("uegr_texthan", TextHANConfig, exist_ok=True)
AutoModelForSequenceClassification.register(TextHANConfig, TextHANForSequenceClassification, exist_ok=True)
