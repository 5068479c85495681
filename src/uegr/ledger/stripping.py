"""A result without texts: no example, no label's name, no reason in prose, and no place on somebody's machine."""

import re
from typing import Any

from uegr.result import Evaluation, Result, Task

LEFT_OUT = "not measured"
PLACE = re.compile(r"(?<![\w.])(?:~[\w.-]*|[A-Za-z]:)?(?:[/\\][^\s/\\'\",;=]+)+[/\\]?")


def stripped(result: Result) -> Result:
    """The numbers of a result, and the names and settings that they belong to."""
    tasks = {name: stripped_task(task) for name, task in result.tasks.items()}
    plain = result.model_copy(update={"tasks": tasks}).model_dump(mode="json", by_alias=True)
    return Result.model_validate(without_places(plain))


def stripped_task(task: Task) -> Task:
    """A task whose labels are numbers, without the table of its classes, and whose attacks name no journal."""
    labels = None if task.labels is None else tuple(map(str, range(len(task.labels))))
    kept: dict[str, Any] = {"labels": labels, "classes": {}, "columns": ()}
    attacks = {name: one.model_copy(update={"journal": ""}) for name, one in task.attacks.items()}
    evaluation = stripped_evaluation(task.evaluation) if task.evaluation else None
    return task.model_copy(update=kept | {"attacks": attacks, "evaluation": evaluation})


def stripped_evaluation(evaluation: Evaluation) -> Evaluation:
    """What was left out keeps its name and loses the reason, which may quote a machine; classes have names."""
    left = dict.fromkeys(evaluation.left_out, LEFT_OUT)
    return evaluation.model_copy(update={"left_out": left, "classes": None})


def without_places(value: Any) -> Any:
    """Every absolute path by its last part, in texts, keys and lists.

    >>> without_places({"command": "uegr train --output=/home/ann/runs/first", "model": "owner/name"})
    {'command': 'uegr train --output=first', 'model': 'owner/name'}
    """
    if isinstance(value, dict):
        return {without_places(key): without_places(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_places(one) for one in value]
    return PLACE.sub(last_part, value) if isinstance(value, str) else value


def last_part(found: re.Match[str]) -> str:
    """
    >>> last_part(PLACE.match("/home/ann/words.tsv"))
    'words.tsv'
    """
    return re.split(r"[/\\]", found.group().rstrip("/\\"))[-1]
