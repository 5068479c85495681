"""Single keys of a configuration, as a flag or `--set path.to.key=value` gives them."""

from typing import Any

from uegr import safe_yaml
from uegr.errors import InputError


def setting_of(setting: str) -> tuple[str, Any]:
    """The key and the value of a `--set`.

    >>> setting_of("method.epsilon=0.2")
    ('method.epsilon', 0.2)
    """
    key, equals, text = setting.partition("=")
    if not equals or ("." not in key and key != "seed"):
        raise InputError(f"expected --set section.key=value, such as method.epsilon=0.2, got {setting!r}")
    return key, parsed(text)


def put(target: dict[str, Any], path: list[str], value: Any) -> None:
    """Set a nested key, making the sections on the way."""
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise InputError(f"expected a section at {'.'.join(path[:-1])}, got {target!r}")
    target[path[-1]] = value


def parsed(text: str) -> Any:
    """A value as YAML reads it: numbers, true, null, [0.3, 0.5], or a word; 1e-5 is a number too."""
    try:
        value = safe_yaml.load(text, "the value")
    except InputError:
        return text
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
