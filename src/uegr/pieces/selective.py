"""The selective update as an edit of gradients: state across steps, random masks by seed and step.

`live` ranks only the entries whose gradient is not zero (pieces/saliency.py).

`refresh` says how often p is computed: from every step's own gradient (1, the paper), from the squared gradients summed
over N steps (N), or over an epoch ("epoch", RoAST). Until the first window closes nothing is known, so nothing is
masked. A mask is not a freeze: momentum and weight decay still move a masked weight, as in the papers.

`rescale`: True divides the kept gradient by p (theorem 1). Under Adam that factor cancels almost wholly, because Adam
divides by the root of the mean square: "update" masks and rescales the optimizer's update instead, whatever optimizer
it is, at the price of a copy of the weights. False only masks.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from uegr.pieces.fisher import Squares
from uegr.pieces.saliency import Keep, Probability, Score, check_selection, probability, select_
from uegr.pieces.schedule import Moment

Parameters = Mapping[str, nn.Parameter]
Rescale = bool | Literal["update"]
Refresh = int | Literal["epoch"]


class SelectiveUpdate:
    """Keeps an entry of the gradient with a probability that follows its saliency."""

    def __init__(
        self,
        *,
        score: Score,
        keep: Keep,
        alpha: float,
        beta: float,
        live: bool = False,
        rescale: Rescale = True,
        refresh: Refresh = 1,
        squares: Squares | None = None,
    ) -> None:
        check_selection(score, keep, alpha, beta)
        if refresh != "epoch" and not (isinstance(refresh, int) and refresh >= 1):
            raise ValueError(f"expected refresh to be a number of steps >= 1 or 'epoch', got {refresh!r}")
        if rescale not in (True, False, "update"):
            raise ValueError(f"expected rescale to be true, false or 'update', got {rescale!r}")
        self.score: Score = score
        self.keep: Keep = keep
        self.alpha, self.beta, self.live = alpha, beta, live
        self.rescale: Rescale = rescale
        self.refresh: Refresh = refresh
        self.given = squares  # with score="fisher": those of single examples
        self.needs_optimizer = rescale == "update"
        self.squares: dict[str, Tensor] = {}  # summed over the open window
        self.roots: dict[str, Tensor] = {}  # roots of the last window's sums
        self._before: dict[str, Tensor] = {}  # with rescale="update": the weights before the optimizer's step
        self._salience: dict[str, Tensor] = {}
        self._moment = Moment()

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        """Mask the gradients of one optimizer step, in place; for `rescale="update"`, remember the weights."""
        if self._before:
            raise ValueError(
                "expected finish_update(method, model) after every step of the optimizer for rescale='update', got none"
            )
        for parameter in parameters.values():
            if parameter.grad is not None and not parameter.grad.is_contiguous():
                parameter.grad = parameter.grad.contiguous()
        gradients = {name: p.grad for name, p in parameters.items() if p.grad is not None}
        salient = self._salient(gradients, moment)
        if not salient:
            return
        chosen = {name: gradients[name] for name in salient}
        if self.rescale == "update":
            self._moment, self._salience = moment, {name: value.clone() for name, value in salient.items()}
            self._before = {name: parameters[name].detach().clone() for name in salient}
            return
        self._select(chosen, salient, moment, rescale=bool(self.rescale))

    def after(self, parameters: Parameters) -> None:
        """Once the optimizer has stepped: mask and rescale its update."""
        if not self._before:
            return
        with torch.no_grad():
            moved = {name: (parameters[name] - before).contiguous() for name, before in self._before.items()}
            self._select(moved, self._salience, self._moment, rescale=True)
            for name, before in self._before.items():
                parameters[name].copy_(before + moved[name])
        self._before, self._salience = {}, {}

    def _select(self, values: dict[str, Tensor], salient: dict[str, Tensor], moment: Moment, *, rescale: bool) -> None:
        p = self.probability(list(salient.values()))
        generator = moment.generator(next(iter(values.values())).device)
        select_(list(values.values()), list(salient.values()), p, generator, rescale=rescale)

    def probability(self, salient: list[Tensor]) -> Probability:
        """|g| -> p over all given tensors together."""
        return probability(salient, score=self.score, keep=self.keep, alpha=self.alpha, beta=self.beta, live=self.live)

    def _salient(self, gradients: dict[str, Tensor], moment: Moment) -> dict[str, Tensor]:
        """What the saliency of this step is read from: tensors whose squares are s."""
        given = None if self.given is None else self.given.take()
        if self.refresh == 1 and given is None:
            return {name: gradient.detach() for name, gradient in gradients.items()}
        if self.refresh == 1 and given is not None:
            return {name: given[name].sqrt_() for name in gradients if name in given}
        window = self.refresh if self.refresh != "epoch" else moment.epoch_steps
        if window is None:
            raise ValueError("expected the number of steps in an epoch for refresh='epoch', got none; give a number")
        for name, gradient in gradients.items():
            wide = torch.promote_types(gradient.dtype, torch.float32)  # a long sum of halves stops growing
            square = gradient.to(wide).square() if given is None else given[name]
            self.squares[name] = self.squares[name].add_(square) if name in self.squares else square
        known = {name: self.roots[name] for name in gradients if name in self.roots}
        if (moment.step + 1) % window == 0:
            self.roots, self.squares = {name: total.sqrt_() for name, total in self.squares.items()}, {}
        return known

    def state_dict(self) -> dict[str, Tensor]:
        """The open window and the last one."""
        return {f"squares.{k}": v for k, v in self.squares.items()} | {f"roots.{k}": v for k, v in self.roots.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`."""
        for field in ("squares", "roots"):
            start = f"{field}."
            setattr(self, field, {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)})
