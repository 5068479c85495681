"""Groups of options: several commands share them, and each group has a heading of its own in their help."""

import functools
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, get_args

Command = Callable[..., None]


@dataclass(frozen=True)
class Group:
    """The parameters of `collect` are the options; what it returns is what the command is given."""

    heading: str
    collect: Callable[..., Any]

    def options(self) -> list[inspect.Parameter]:
        """The options, keyword-only, under the heading."""
        return [self.placed(option) for option in inspect.signature(self.collect).parameters.values()]

    def placed(self, option: inspect.Parameter) -> inspect.Parameter:
        """The same option under the heading."""
        kind, info = get_args(option.annotation)
        info = copy(info)
        info.rich_help_panel = self.heading
        return option.replace(annotation=Annotated[kind, info], kind=inspect.Parameter.KEYWORD_ONLY)

    def value(self, given: dict[str, Any]) -> Any:
        """What `collect` makes of the options, which are taken out of `given`."""
        return self.collect(**{name: given.pop(name) for name in inspect.signature(self.collect).parameters})


def with_groups(**groups: Group) -> Callable[[Command], Command]:
    """A command whose parameters of these names stand for groups of options.

    >>> import typer
    >>> def collect(rows: Annotated[int, typer.Option(help="How many.")] = 5) -> dict[str, int]:
    ...     return {"rows": rows}
    >>> @with_groups(reading=Group("Data", collect))
    ... def show(name: str, reading: dict[str, int]) -> None:
    ...     print(name, reading)
    >>> list(inspect.signature(show).parameters)
    ['name', 'rows']
    >>> show(name="snippets", rows=3)
    snippets {'rows': 3}
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            values = {name: group.value(given) for name, group in groups.items()}
            command(**given, **values)

        own = [one for one in inspect.signature(command).parameters.values() if one.name not in groups]
        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        shared = [option for group in groups.values() for option in group.options()]
        vars(run)["__signature__"] = inspect.Signature([*own, *shared])
        return run

    return decorate
