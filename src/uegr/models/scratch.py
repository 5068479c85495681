"""What bilstm, textcnn and texthan share: embedded tokens in, one vector per text out, dropout, a linear head.

They are PreTrainedModel subclasses registered with the Auto classes (importing uegr.models.architectures does it), so
that Trainer, attacks and evaluation treat them like a Hugging Face encoder.
"""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils.generic import can_return_tuple

EMBEDDING_RANGE = 0.25  # Kim 2014 draws unknown words' vectors from U[-0.25, 0.25], the variance of pretrained ones


class ScratchConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """The settings that every model without pretraining has."""

    def __init__(
        self,
        vocab_size: int = 20_000,
        embedding_size: int = 300,
        dropout: float = 0.5,  # at every site, as in the papers' tables
        pad_token_id: int = 0,
        **values: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.dropout = dropout
        super().__init__(pad_token_id=pad_token_id, **values)  # type: ignore[call-arg]


class ScratchEncoder(nn.Module):
    """Token ids (B, T) and their mask to hidden states (B, T, units of a layer) and one vector per text (B, size)."""

    size: int

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)

    @abstractmethod
    def forward(self, input_ids: Tensor, mask: Tensor) -> tuple[tuple[Tensor, ...], Tensor]: ...


class ScratchClassifier(PreTrainedModel):  # type: ignore[no-untyped-call]
    """A sequence classifier over one of the encoders; `forward` has the output of Hugging Face's classifiers."""

    base_model_prefix = "encoder"
    from_scratch = True  # pieces/dropout.py; `load` marks one whose weights are another training's
    encoder_class: type[ScratchEncoder]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(self.encoder.size, config.num_labels)
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.embeddings = value  # type: ignore[assignment]

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,  # what a tokenizer may give; not used, the separator divides a pair
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> SequenceClassifierOutput:
        mask = input_ids != self.config.pad_token_id if attention_mask is None else attention_mask.bool()
        states, summary = self.encoder(input_ids, mask)
        logits = self.classifier(self.dropout(summary))
        return SequenceClassifierOutput(
            loss=None if labels is None else self.loss_function(labels, logits, self.config),
            logits=logits,
            hidden_states=states if output_hidden_states else None,
        )

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw a module's weights; transformers calls it for everything that a checkpoint does not have."""
        if isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -EMBEDDING_RANGE, EMBEDDING_RANGE)
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                module.weight[module.padding_idx].zero_()
        elif isinstance(module, nn.Linear | nn.Conv1d):
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.LSTM | nn.GRU):
            self._init_recurrent(module)

    def _init_recurrent(self, module: nn.RNNBase) -> None:
        """Orthogonal recurrences; an LSTM's forget gates start open (Jozefowicz 2015)."""
        for name, weight in module.named_parameters():
            if name.startswith("weight_hh"):
                init.orthogonal_(weight)
            elif name.startswith("weight_ih"):
                init.xavier_uniform_(weight)
            elif isinstance(module, nn.LSTM) and name.startswith("bias_ih"):
                size = module.hidden_size
                init.copy_(
                    weight, torch.cat([weight.new_zeros(size), weight.new_ones(size), weight.new_zeros(2 * size)])
                )
            else:
                init.zeros_(weight)


def strongest(values: Tensor, mask: Tensor) -> Tensor:
    """The maximum over a text's tokens, (B, T, units) to (B, units); 0 for a text without tokens."""
    hidden = values.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)
    return hidden.masked_fill(~mask.any(1, keepdim=True), 0.0)
