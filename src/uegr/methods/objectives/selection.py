"""The backward stage of UEGR behind an objective with sub-models: which entries of the gradient are ranked and masked.

`scope`: `all` ranks every entry (eq. 8's Theta), `live` those whose gradient is not zero, `encoder` those of the
encoder's stacked layers (RoAST), while embeddings and head are always updated.
"""

from typing import Any, Literal, get_args

from uegr.methods.contract import Method
from uegr.methods.objectives.child import OnLayers
from uegr.methods.objectives.fisher import PerExample
from uegr.methods.objectives.submodels import RegularizedAdversarial
from uegr.pieces.fisher import Squares
from uegr.pieces.selective import SelectiveUpdate

Scope = Literal["all", "live", "encoder"]


def selectively(objective: RegularizedAdversarial, scope: Scope, **selection: Any) -> Method:
    """The objective with the selective update as its edit of the gradient."""
    if scope not in get_args(Scope):
        raise ValueError(f"expected scope to be one of {', '.join(get_args(Scope))}, got {scope!r}")
    squares = Squares() if selection["score"] == "fisher" else None
    update = SelectiveUpdate(live=scope == "live", squares=squares, **selection)
    if scope == "encoder":
        objective.layers = OnLayers(update)
    whole = objective if squares is None else PerExample(objective, squares)
    return Method(whole, gradients=(objective.layers or update,))
