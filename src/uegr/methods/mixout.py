"""Mixout: each step computes with a random mixture of the trained and the pretrained weights.

Lee, Cho and Kang, "Mixout: Effective regularization to finetune large-scale pretrained language models", ICLR 2020.

    w' = (m u + (1 - m) w - p u) / (1 - p),   m_i ~ Bernoulli(p),   u the pretrained weights            eq. 6
    L  = CE(x; w')

so that E w' = w; p = 0 is vanilla. p 0.6 is RIFT's ("for best robustness"), within the paper's 0.1 .. 0.9. `unit` is
what m is drawn for: `"neuron"` replaces all outgoing weights of an input neuron together (a column of a linear layer),
as the paper and its MixLinear do; `"weight"` draws every weight by itself, as RIFT's sentence reads ("each parameter").
The matrices of the encoder are mixed, as by MixLinear; `weights="all"` mixes its biases, norms and embeddings too. The
head has no pretrained weights and is left alone. Deviations: the model's own dropout stays on, the paper replaces it
(load the model with rate 0). The parameters themselves are never changed. Each process draws its own mixture, as each
draws its own dropout. 1 forward and 1 backward pass.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, Literal

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.anchors import Anchors, Unit, mixed
from uegr.pieces.embedding import Batch
from uegr.pieces.encoder import encoder_names, matrix_names

Weights = Literal["matrices", "all"]


class Mixture:
    """The anchors, and the context in which the model computes with its mixture."""

    def __init__(self, p: float, weights: Weights, unit: Unit) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"expected 0 <= p < 1, got {p}")
        if weights not in ("matrices", "all"):
            raise ValueError(f"expected weights to be matrices or all, got {weights!r}")
        if unit not in ("neuron", "weight"):
            raise ValueError(f"expected unit to be neuron or weight, got {unit!r}")
        self.p, self.weights, self.anchors = p, weights, Anchors()
        self.unit: Unit = unit

    def keep(self, model: nn.Module) -> None:
        """Remember the weights as they are."""
        self.anchors.keep(model, matrix_names(model) if self.weights == "matrices" else encoder_names(model))

    def applied(self, model: nn.Module) -> AbstractContextManager[None]:
        """Inside, one mixture; p = 0 changes nothing and needs no anchors."""
        return mixed(model, self.anchors, self.p, self.unit) if self.p else nullcontext()


class Mixed(Objective):
    """One clean pass of the mixture."""

    keeps_weights: bool = False
    extra: ClassVar[str] = "drawing the mixture, and its backward"
    batchwise: str = "each micro-batch draws a mixture of its own"

    def __init__(self, mixture: Mixture) -> None:
        self.mixture = mixture

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        self.mixture.keep(model)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        with self.mixture.applied(model):
            yield {"task": task_loss(model(**batch))}

    def state_dict(self) -> dict[str, Tensor]:
        return self.mixture.anchors.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.mixture.anchors.load_state_dict(state)


@configured
def mixout(*, p: float = 0.6, weights: Weights = "matrices", unit: Unit = "neuron") -> Method:
    """Train a random mixture of trained and pretrained weights (Mixout)."""
    return Method(Mixed(Mixture(p, weights, unit)))
