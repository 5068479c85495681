"""Child-Tuning driven by the task: only the weights that matter most to it are updated.

Xu, Luo, Zhang, Tan, Chang, Huang and Huang, "Raise a child in large language model: Towards effective and generalizable
fine-tuning", EMNLP 2021.

    F_i = (1/|D|) sum over the training data of (d log p(y|x) / d w_i)^2                    eq. 5
    g <- g * [F_i among the largest share p]                                                algorithm 1, Child-Tuning_D

F is computed once, in one pass over the training data before the first step; the child is the same throughout. p 0.3 is
within the paper's search (0.1, 0.2, 0.3); p = 1 is vanilla and needs no pass. As released: F squares the mean gradient
of a batch, not each example's; only the encoder's stacked layers are ranked and masked, embeddings, pooler and head are
left alone. Deviations: the release clips each gradient of that pass to norm 1, we do not; its dropout is drawn from a
fixed seed, so that the child depends on data and weights alone. The child is in the checkpoint. 1 forward and 1
backward pass per step.
"""

from collections.abc import Iterable, Mapping

from torch import Tensor, nn

from uegr.methods.contract import GradientEdit, Method, configured, task_loss
from uegr.methods.objectives.child import ChildTask, OnLayers, check_share
from uegr.pieces.embedding import Batch
from uegr.pieces.encoder import layer_names
from uegr.pieces.fisher import fisher, largest
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters


class FixedChild(GradientEdit):
    """Keeps the gradients of one fixed child network."""

    def __init__(self, p: float) -> None:
        self.p = check_share(p)
        self.child: dict[str, Tensor] = {}

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        if self.p == 1:
            return
        if not self.child:
            raise ValueError(
                "expected the Fisher information of the training data, got none; call "
                "method.objective.prepare(model, batches) with the training batches before the first step"
            )
        for name, parameter in parameters.items():
            if parameter.grad is not None and name in self.child:
                parameter.grad.mul_(self.child[name].to(parameter.device))

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self.child)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.child = dict(state)


class FisherTask(ChildTask):
    """One clean pass per step, and one over the data before the first."""

    batchwise: str = "the Fisher information squares the mean gradient of a micro-batch, as released"

    def __init__(self, layers: OnLayers, edit: FixedChild) -> None:
        super().__init__(layers)
        self.edit = edit

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        if self.edit.p < 1:
            self.edit.child = largest(fisher(model, layer_names(model), batches, task_loss), self.edit.p)


@configured
def child_d(*, p: float = 0.3) -> Method:
    """Update only the weights that matter most to the task (Child-Tuning D)."""
    edit = FixedChild(p)
    layers = OnLayers(edit)
    return Method(FisherTask(layers, edit), gradients=(layers,))
