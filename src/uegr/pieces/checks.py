"""Numbers that methods are told, refused by their name where they are none."""


def check_amount(name: str, value: float) -> float:
    """A radius, weight or length, if it is one: what is negative or infinite is refused by its name."""
    if not 0 <= value < float("inf"):
        raise ValueError(f"expected {name} >= 0, got {value}")
    return value


def check_epsilon(epsilon: float) -> float:
    """The radius, if it is one."""
    return check_amount("epsilon", epsilon)


def check_steps(steps: int) -> int:
    """The number of ascent steps, if it is one."""
    if not (isinstance(steps, int) and steps >= 1):
        raise ValueError(f"expected steps >= 1, got {steps}")
    return steps
