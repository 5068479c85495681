"""Numeric options of methods, checked; an error names the option."""


def check_amount(name: str, value: float) -> float:
    """The value of a radius, weight or length; a negative or infinite one is refused by its name."""
    if not 0 <= value < float("inf"):
        raise ValueError(f"expected {name} >= 0, got {value}")
    return value


def check_epsilon(epsilon: float) -> float:
    """The radius, checked."""
    return check_amount("epsilon", epsilon)


def check_steps(steps: int) -> int:
    """The number of ascent steps, checked."""
    if not (isinstance(steps, int) and steps >= 1):
        raise ValueError(f"expected steps >= 1, got {steps}")
    return steps
