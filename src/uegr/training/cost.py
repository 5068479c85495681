"""What a method's training step costs relative to vanilla's, before anything has run."""

from typing import Any

from uegr.methods.entries import measured
from uegr.training.config import build_method
from uegr.training.factories import is_own


def relative_cost(options: dict[str, Any]) -> float:
    """The time of a step, vanilla = 1: measured (methods/cost.json), else by its passes; 1 for code of the user's own.

    Options that change the number of passes change the cost in proportion.

    >>> relative_cost({"name": "vanilla"}), relative_cost({"name": "my_module:my_method"})
    (1.0, 1.0)
    """
    name = options["name"]
    if is_own(name):
        return 1.0
    given = {key: value for key, value in options.items() if key != "name"}
    passes, usual = (sum(build_method(name, some).objective.passes) for some in (given, {}))
    ratio = measured().get("ratios", {}).get(name)
    return passes / 2 if ratio is None else float(ratio) * passes / usual
