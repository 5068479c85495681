"""MT-DNN: Liu, He, Chen and Gao 2019, "Multi-task deep neural networks for natural language understanding".

One encoder, and a head for each task:
- single: a text's class, softmax(W x), x the encoder's summary of the text;
- regression: a number for a text or the similarity of a pair, w x;
- pair: a pair's class by a stochastic answer network (Liu 2018). Over the words M^p of the first text and M^h of the
  second, contextual all,

    s^0 = sum_j softmax_j(w_1 M^h_j) M^h_j,   x^k = sum_j softmax_j(s^(k-1) W_2 M^p_j) M^p_j,   s^k = GRU(s^(k-1), x^k)
    P^k = softmax(W_3 [s^k, x^k, |s^k - x^k|, s^k x^k]),   P = mean of P^1 .. P^K

  where training leaves steps out of the mean at random. The logits of this head are log P, whose softmax is P.

A batch is of one task, which `task_ids` (examples,) names, all equal; without it the model answers for its first task,
and `for_task(name)` is the same model answering for another one. Where a batch has `targets`, they replace its labels.
Deviations: the summary is the pooled one of an encoder with a pooler, else its first token's state; a regression starts
at the scale of its labels; AdamW in place of Adamax; QNLI is a pair, not a ranking.
"""

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils.generic import can_return_tuple

from uegr.errors import InputError, did_you_mean

Kind = Literal["single", "pair", "regression"]


class Task(NamedTuple):
    """What a head is for; `labels` are the classes by number, None for a regression."""

    name: str
    kind: Kind
    labels: tuple[str, ...] | None

    @property
    def outputs(self) -> int:
        return 1 if self.labels is None else len(self.labels)


class MTDNNConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """`encoder` is the configuration of the shared encoder; `steps` are the answer network's K."""

    model_type = "uegr_mtdnn"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        tasks: Sequence[Sequence[Any]] = (),
        steps: int = 5,
        prediction_dropout: float = 0.1,
        dropout: float = 0.1,
        sep_token_id: int | None = None,
        **values: Any,
    ) -> None:
        self.encoder = {"model_type": "bert"} if encoder is None else encoder
        self.tasks = [[name, kind, None if labels is None else list(labels)] for name, kind, labels in tasks]
        self.steps = steps
        self.prediction_dropout = prediction_dropout
        self.dropout = dropout
        self.max_position_embeddings = self.encoder.get("max_position_embeddings")
        self.vocab_size = self.encoder.get("vocab_size")
        super().__init__(sep_token_id=sep_token_id, **values)  # type: ignore[call-arg]

    def read_tasks(self) -> list[Task]:
        """The tasks in the order of their numbers."""
        return [Task(name, kind, None if labels is None else tuple(labels)) for name, kind, labels in self.tasks]


class Reading(NamedTuple):
    """The output of the encoder for a batch, and which tokens belong to the first and to the second text."""

    states: Tensor  # (B, T, size)
    summary: Tensor  # (B, size)
    first: Tensor  # (B, T)
    second: Tensor  # (B, T)


class SummaryHead(nn.Module):
    """Logits from the summary alone, (B, outputs)."""

    def __init__(self, config: MTDNNConfig, size: int, outputs: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(size, outputs)

    def forward(self, reading: Reading) -> Tensor:
        return self.output(self.dropout(reading.summary))  # type: ignore[no-any-return]


class StochasticAnswer(nn.Module):
    """Log-probabilities (B, outputs) from K looks at the first text, beginning with the second."""

    def __init__(self, config: MTDNNConfig, size: int, outputs: int) -> None:
        super().__init__()
        self.steps, self.prediction_dropout = config.steps, config.prediction_dropout
        self.start = nn.Linear(size, 1, bias=False)
        self.look = nn.Linear(size, size, bias=False)
        self.cell = nn.GRUCell(size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(4 * size, outputs)

    def forward(self, reading: Reading) -> Tensor:
        memory = self.dropout(reading.states)
        state = attended(self.start(memory).squeeze(-1), memory, reading.second)
        answers = []
        for _ in range(self.steps):
            seen = attended((self.look(state).unsqueeze(1) * memory).sum(-1), memory, reading.first)
            state = self.step(seen, state)
            compared = torch.cat([state, seen, (state - seen).abs(), state * seen], -1)
            answers.append(self.output(self.dropout(compared)).log_softmax(-1))
        kept = chosen(self.steps, len(state), self.prediction_dropout if self.training else 0.0, state.device)
        return log_mean(torch.stack(answers), kept)

    def step(self, seen: Tensor, state: Tensor) -> Tensor:
        """One step of the recurrent state, in the weights' own precision."""
        kind = self.cell.weight_ih.dtype
        with torch.autocast(seen.device.type, enabled=False):
            return self.cell(seen.to(kind), state.to(kind))  # type: ignore[no-any-return]


def attended(scores: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The mean of values (B, T, size), weighted by the softmax of scores (B, T) over the mask, over all if empty.

    >>> attended(torch.zeros(1, 3), torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]])).item()
    2.0
    """
    usable = mask | ~mask.any(1, keepdim=True)
    weights = scores.masked_fill(~usable, float("-inf")).softmax(1)
    return (weights.unsqueeze(-1) * values).sum(1)


def chosen(steps: int, rows: int, rate: float, device: torch.device) -> Tensor:
    """Which steps count for which row, (steps, rows): each is left out with the rate, but never all of a row."""
    if rate == 0:
        return torch.ones(steps, rows, dtype=torch.bool, device=device)
    kept = torch.rand(steps, rows, device=device) >= rate
    return kept | ~kept.any(0)


def log_mean(answers: Tensor, kept: Tensor) -> Tensor:
    """The log of the mean probability over the kept steps: answers (steps, B, classes) and kept (steps, B).

    >>> halves = torch.tensor([[[0.2, 0.8]], [[0.4, 0.6]]]).log()
    >>> [round(p, 4) for p in log_mean(halves, torch.ones(2, 1).bool()).exp().flatten().tolist()]
    [0.3, 0.7]
    """
    answers = answers.masked_fill(~kept.unsqueeze(-1), float("-inf"))
    return answers.logsumexp(0) - kept.sum(0).to(answers.dtype).log().unsqueeze(-1)


class Heads(nn.Module):
    """All heads in one module, so that an adapter can wrap them all."""

    def __init__(self, config: MTDNNConfig, size: int) -> None:
        super().__init__()
        kinds: dict[str, Any] = {"single": SummaryHead, "regression": SummaryHead, "pair": StochasticAnswer}
        self.tasks = nn.ModuleList(kinds[task.kind](config, size, task.outputs) for task in config.read_tasks())

    def forward(self, reading: Reading, task: int) -> Tensor:
        return self.tasks[task](reading)  # type: ignore[no-any-return]


class MTDNNForSequenceClassification(PreTrainedModel):  # type: ignore[no-untyped-call]
    """The encoder and its heads; `forward` has the output of Hugging Face's classifiers."""

    config_class = MTDNNConfig
    base_model_prefix = "encoder"
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(self, config: MTDNNConfig, encoder: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        if encoder is None:
            inner = AutoConfig.for_model(**config.encoder)
            encoder = AutoModel.from_config(inner, trust_remote_code=False)  # type: ignore[no-untyped-call]
        self.encoder: PreTrainedModel = encoder
        self.has_types = "token_type_ids" in inspect.signature(encoder.forward).parameters
        self.classifier = Heads(config, encoder.config.hidden_size)
        self.task = 0
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.set_input_embeddings(value)

    def for_task(self, name: str) -> "MTDNNForSequenceClassification":
        """This model, weights shared, as an ordinary classifier or regression of one task."""
        names = [task.name for task in self.config.read_tasks()]
        if name not in names:
            raise InputError(f"the model has no task {name}; {did_you_mean(name, names)}")
        view = copy.copy(self)
        vars(view).pop("forward", None)  # a wrapper such as accelerate's would use the head of this model's task
        view.task, view.config = names.index(name), copy.deepcopy(self.config)
        task = self.config.read_tasks()[view.task]
        view.config.id2label = dict(enumerate(task.labels or ("LABEL_0",)))
        view.config.label2id = {label: number for number, label in view.config.id2label.items()}
        view.config.problem_type = "regression" if task.labels is None else "single_label_classification"
        return view

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        task_ids: Tensor | None = None,
        labels: Tensor | None = None,
        targets: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> SequenceClassifierOutput:
        task = self.task if task_ids is None else one_task(task_ids)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        more = {"token_type_ids": token_type_ids} if self.has_types and token_type_ids is not None else {}
        output = self.encoder(
            input_ids, attention_mask=mask, output_hidden_states=output_hidden_states, return_dict=True, **more
        )
        logits = self.classifier(self.reading(output, input_ids, mask.bool()), task)
        return SequenceClassifierOutput(
            loss=None if labels is None else loss_of(logits, labels, self.config.read_tasks()[task], targets),  # type: ignore[arg-type]
            logits=logits,
            hidden_states=output.hidden_states,
        )

    def reading(self, output: Any, input_ids: Tensor, mask: Tensor) -> Reading:
        """The second text begins after the first separator; separators belong to neither."""
        states = output.last_hidden_state
        pooled = getattr(output, "pooler_output", None)
        separator = input_ids == (-1 if self.config.sep_token_id is None else self.config.sep_token_id)
        words, after = mask & ~separator, separator.cumsum(1) > 0
        return Reading(states, states[:, 0] if pooled is None else pooled, words & ~after, words & after)

    def head(self, name: str) -> Any:
        """The head of a task."""
        return self.classifier.tasks[[task.name for task in self.config.read_tasks()].index(name)]

    def take_heads(self, other: "MTDNNForSequenceClassification") -> list[str]:
        """Copy the heads of the tasks that both have, with the same labels; their names."""
        own, others = self.config.read_tasks(), other.config.read_tasks()
        common = [task for task in own if task in others]
        for task in common:
            head, trained = self.classifier.tasks[own.index(task)], other.classifier.tasks[others.index(task)]
            head.load_state_dict(trained.state_dict())
        return [task.name for task in common]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the weights of a head; the encoder draws its own."""
        if isinstance(module, nn.Linear):
            init.normal_(module.weight, std=0.02)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.GRUCell):
            init.xavier_uniform_(module.weight_ih)
            init.orthogonal_(module.weight_hh)
            init.zeros_(module.bias_ih)
            init.zeros_(module.bias_hh)


def one_task(task_ids: Tensor) -> int:
    """The number of the batch's task."""
    task = int(task_ids[0])
    if not bool((task_ids == task).all()):
        raise ValueError(f"expected a batch of one task, got task_ids {sorted(set(task_ids.tolist()))}")
    return task


def loss_of(logits: Tensor, labels: Tensor, task: Task, targets: Tensor | None = None) -> Tensor:
    """Cross-entropy (eq. 6), or the squared error (eq. 7), in the mean over examples.

    Targets (B, outputs) take the place of the labels: a probability for each class, or the value of a regression.
    """
    if task.labels is None:
        values = labels if targets is None else targets.squeeze(-1)
        return nn.functional.mse_loss(logits.squeeze(-1), values.to(logits.dtype))
    return nn.functional.cross_entropy(logits, labels if targets is None else targets.to(logits.dtype))


AutoConfig.register("uegr_mtdnn", MTDNNConfig, exist_ok=True)
AutoModelForSequenceClassification.register(MTDNNConfig, MTDNNForSequenceClassification, exist_ok=True)
