"""RobustTrainer: a transformers.Trainer that trains with any method.

Accumulation is exact: a micro-batch counts by its share of the labelled items of the whole step, for every loss, so
2x4 equals 1x8 also where transformers itself would not divide (models that accept `num_items_in_batch` and ignore it).
"""

import copy
import math
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import Trainer, TrainerCallback

from uegr.methods import Method
from uegr.pieces.embedding import unwrapped
from uegr.pieces.encoder import encoder_names
from uegr.pieces.schedule import Moment
from uegr.training import window
from uegr.training.averaging import Averages, MeanWeights
from uegr.training.finite import Guard, check_weights, description
from uegr.training.losses import Balance, OwnLoss, chosen_loss, class_numbers
from uegr.training.requirements import as_method, check_labelled, refuse, warn
from uegr.training.rows import check_rows
from uegr.training.sampling import Balanced, GroupedByLength
from uegr.training.step import accumulate, edit_gradients, finish_update


class RobustTrainer(Trainer):
    """A Trainer with one more argument: `method=methods.uegr()`.

    `balance="weights"` multiplies each row's cross-entropy so that all classes count the same, and `"sampling"` makes
    batches with as many rows of each class, in place of batches of texts of about the same length. `compute_loss_func`
    is as in transformers: every loss of the method on its labels is then that function's, a mean over the batch that it
    is given. `weight_decay_on="head"` leaves the encoder without weight decay. `skip_nonfinite` is how many steps may
    be skipped whose loss or gradient is not finite, before that is an error. `averaging` gives the model the
    mean of its weights. `temperature` divides the logits in the loss on the labels.
    """

    model: nn.Module

    def __init__(
        self,
        *args: Any,
        method: Method | str,
        balance: Balance | None = None,
        weight_decay_on: Literal["all", "head"] = "all",
        skip_nonfinite: int = 0,
        averaging: MeanWeights | None = None,
        temperature: float = 1.0,
        **kwargs: Any,
    ) -> None:
        self.method = copy.deepcopy(as_method(method))
        super().__init__(*args, **kwargs)
        self.balance, self.weight_decay_on = balance, weight_decay_on
        check_rows(self)
        function, self.compute_loss_func = self.compute_loss_func, None
        soft, self.label_smoother = (temperature, self.args.label_smoothing_factor), None
        self.own_loss = OwnLoss(chosen_loss(balance, function, self.train_dataset, self.model, soft))
        self.guard, self.means = Guard(skip_nonfinite), averaging or MeanWeights()
        self.terms: dict[str, Tensor] = {}
        self.carried: Tensor | None = None
        self.epoch_steps: int | None = None
        self.prepared = False
        refuse(self)
        warn(self)
        self._keep_buffers()
        self.add_callback(GradientEdits(self))
        self.add_callback(Averages(self))

    def _keep_buffers(self) -> None:
        """No broadcast of buffers between two forwards of one step; the accelerator has read the arguments already."""
        if self.args.ddp_broadcast_buffers is None:
            self.args.ddp_broadcast_buffers = False
            if self.accelerator.ddp_handler is not None:
                self.accelerator.ddp_handler.broadcast_buffers = False

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with self.means.applied(self.model):
            return super().evaluate(*args, **kwargs)

    def train(self, *args: Any, **kwargs: Any) -> Any:
        with self.own_loss.applied(self.model):
            self.make_ready()
            return super().train(*args, **kwargs)

    def prediction_step(self, *args: Any, **kwargs: Any) -> Any:
        with self.own_loss.applied(self.model):
            return super().prediction_step(*args, **kwargs)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """As in transformers, for `push_to_hub`, with this package and the method among the tags."""
        tags = kwargs.get("tags") or []
        kwargs["tags"] = [*([tags] if isinstance(tags, str) else tags), "uegr", self.method.name]
        super().create_model_card(*args, **kwargs)

    def make_ready(self) -> None:
        """Surgery and preparation, once, before optimizer and processes exist and before a checkpoint is loaded."""
        if self.prepared:
            return
        for operate in self.method.surgery:
            operate(self.model)
        self.method.objective.prepare(self.model, self._batches())
        self.prepared = True

    def get_decay_parameter_names(self, model: Any) -> list[str]:
        """The weights that decay: as transformers has it, or only those outside the encoder."""
        names: list[str] = super().get_decay_parameter_names(model)
        spared = set(encoder_names(model)) if self.weight_decay_on == "head" else set()
        return [name for name in names if name not in spared]

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        rows: Any = self.train_dataset  # what comes has lost its lengths as a column that no model takes
        columns = getattr(rows, "column_names", None) or ()
        if self.balance == "sampling":
            return Balanced(class_numbers(rows), self._data_seed(), epoch=self._epoch())
        if self.args.train_sampling_strategy != "group_by_length" or self.args.length_column_name not in columns:
            return super()._get_train_sampler(train_dataset)
        size = self.args.train_batch_size * self.args.gradient_accumulation_steps
        lengths = rows.with_format("numpy", columns=[self.args.length_column_name])[:][self.args.length_column_name]
        return GroupedByLength(lengths, size, self._data_seed(), epoch=self._epoch())

    def _data_seed(self) -> int:
        return self.args.seed if self.args.data_seed is None else self.args.data_seed

    def _epoch(self) -> Callable[[], int]:
        """The current epoch, for a sampler; it does not keep the trainer alive, which keeps the sampler."""
        trainer = weakref.proxy(self)
        return lambda: int(trainer.state.epoch or 0)

    def _batches(self) -> Iterator[dict[str, Any]]:
        for batch in self.get_train_dataloader():
            yield self._prepare_inputs(batch)

    def moment(self) -> Moment:
        """Where the training is."""
        return Moment(self.state.global_step, self.state.max_steps, self.epoch_steps, self.args.seed)

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        model.train()
        schedule_free = getattr(self.optimizer, "train", None)
        if callable(schedule_free):
            schedule_free()
        batch = dict(self._prepare_inputs(inputs))
        check_labelled(batch, self.label_names)
        share = self._share(batch, num_items_in_batch)
        if share is None and self.model_accepts_loss_kwargs and num_items_in_batch is not None:
            batch["num_items_in_batch"] = num_items_in_batch  # as Trainer does, to the last bit

        def backward(loss: Tensor) -> None:
            self.accelerator.backward(loss if share is None else loss * share)

        with self.compute_loss_context_manager():
            no_sync = partial(self.accelerator.no_sync, model)
            terms = accumulate(self.method, model, batch, self.moment(), backward, no_sync)
        return self._note(terms, share, batch)

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        self.guard.norm = super()._get_grad_norm(model, grad_norm)  # type: ignore[no-untyped-call]
        return self.guard.norm

    def may_step(self) -> bool:
        """Whether the gradient may change the weights; else it is cleared, and too many such steps are an error."""
        guard = self.guard
        scaled = self.accelerator.scaler is not None  # fp16: its scaler skips steps, and expects to
        guard.skipping = not scaled and not guard.is_finite(self.model, self.args.world_size > 1)
        if guard.skipping:
            guard.skip(description(self, guard))
            self.model.zero_grad(set_to_none=True)  # an optimizer leaves a weight without a gradient alone
        guard.next_step()
        return not guard.skipping

    def check_weights(self) -> None:
        """Raise if the weights are not finite; sharded ones are not looked at."""
        if not (self.is_fsdp_enabled or self.is_deepspeed_enabled):
            check_weights(unwrapped(self.model), f"step {self.state.global_step} of {self.method.name}")

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Any:
        """Counted for every model: transformers asks only for those whose loss takes the number."""
        accepts, self.model_accepts_loss_kwargs = self.model_accepts_loss_kwargs, True
        try:
            return super()._get_num_items_in_batch(batch_samples, device)
        finally:
            self.model_accepts_loss_kwargs = accepts

    def _share(self, batch: dict[str, Any], num_items: Any) -> Tensor | float | None:
        """This micro-batch's weight in the step's mean; None is exactly 1."""
        if self.current_gradient_accumulation_steps == 1 and self.args.world_size == 1:
            return None
        if num_items is None:
            return 1 / self.current_gradient_accumulation_steps
        labels = batch["labels"][..., 1:] if self._loss_shifts_labels else batch["labels"]
        processes = self.args.world_size if self.args.average_tokens_across_devices else 1
        share: Tensor = (labels != -100).sum() * processes / num_items
        return share

    def _note(self, terms: dict[str, Tensor], share: Tensor | float | None, batch: dict[str, Any]) -> Tensor:
        """Add the terms to what the next log entry shows; the step's loss is their sum."""
        loss: Tensor | None = None
        for name, value in terms.items():
            value = value if share is None else value * share
            loss = value if loss is None else loss + value
            value = torch.where(torch.isfinite(value), value, 0.0) if self.guard.allowed else value
            self.terms[name] = self.terms[name] + value if name in self.terms else value
        return self.guard.note(loss if loss is not None else torch.zeros((), device=self.args.device), batch)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs and len(self.terms) > 1:
            steps = max(self.state.global_step - self._noted_at, 1)
            logs |= {f"loss_{name}": round(float(value) / steps, 6) for name, value in self.terms.items()}
        if "loss" in logs:
            self.terms, self._noted_at = {}, self.state.global_step
            logs |= {"skipped_steps": self.guard.skipped} if self.guard.skipped else {}
        super().log(logs, *args, **kwargs)

    _noted_at = 0

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        self.check_weights()  # what comes later makes the checkpoint whole; one that is not is never resumed from
        super()._save_optimizer_and_scheduler(output_dir)
        state = {name: value.contiguous() for name, value in self.method.state_dict().items()}
        Path(output_dir).mkdir(parents=True, exist_ok=True)  # the first process may not have made it yet
        save_file(state, self._state_file(output_dir, "method"))
        window.save(self, self._state_file(output_dir, "window"))
        self.means.save(self._state_file(output_dir, "mean"))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None and (file := self._state_file(checkpoint, "method")).exists():
            place = "cpu" if self.args.device.type == "cpu" else str(self.args.device)  # safetensors knows no "cpu:0"
            self.method.load_state_dict(load_file(file, device=place))
            window.load(self, self._state_file(checkpoint, "window"))
            self.means.load(self._state_file(checkpoint, "mean"), place)

    def _state_file(self, folder: str, kind: str) -> Path:
        return Path(folder) / f"{kind}_{self.args.process_index}.safetensors"


class GradientEdits(TrainerCallback):
    """Runs the method's edits once per step, on the accumulated and clipped gradient."""

    def __init__(self, trainer: RobustTrainer) -> None:
        self.trainer = weakref.proxy(trainer)  # the trainer keeps its callbacks: no cycle, so that its memory is freed

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        window.carry_on(self.trainer)
        try:
            batches = len(kwargs["train_dataloader"])
        except TypeError:  # a stream has no length
            return
        self.trainer.epoch_steps = math.ceil(batches / args.gradient_accumulation_steps)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.trainer.may_step():
            edit_gradients(self.trainer.method, self.trainer.model, self.trainer.moment())

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self.trainer.guard.skipping:
            finish_update(self.trainer.method, unwrapped(self.trainer.model))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.trainer.check_weights()
