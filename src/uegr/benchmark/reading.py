"""Reading a grid file: the scale that is asked for, its settings files, and every mistake as one line."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from uegr import safe_yaml
from uegr.benchmark.grid import (
    FIXED,
    SCALES,
    AttackSpec,
    CalibrationSpec,
    Entry,
    Grid,
    Measure,
    RadiiSpec,
    Range,
    Search,
    Shared,
    Start,
)
from uegr.benchmark.printed import expanded
from uegr.errors import InputError, did_you_mean
from uegr.training.factories import refuse_code


def read_grid(path: Path, scale: str | None = None, *, allow_code: bool = False) -> Grid:
    """The grid of a file at a scale; without one the laptop's where the file has it, else the file as it is."""
    content = safe_yaml.read_mapping(path, "title, methods, datasets")
    if "scale" in content:
        raise InputError(f"{path.name} holds a grid that has been resolved; expected one with `scales`, or none")
    scales = content.pop("scales", None) or {}
    check_scales(path, scales)
    if scale is not None and scale not in scales:
        choice = did_you_mean(scale, scales) if scales else "the file has one scale only; leave out --scale"
        raise InputError(f"{path.name} has no scale {scale}; {choice}")
    chosen = scale or ("laptop" if "laptop" in scales else None)
    try:
        content["printed"] = expanded(content.get("printed") or [], path.name)
        resolved = with_settings_files(merged(content, scales.get(chosen) or {}), path.parent)
        grid = Grid(**resolved, scale=chosen)
    except ValidationError as error:
        raise InputError(f"{path.name}: {complaint(error)}") from None
    methods = [entry.name for entry in grid.methods]
    refuse_code(path.name, methods=methods, trusting=trusts_code(grid), allowed=allow_code)
    return grid


def trusts_code(grid: Grid) -> bool:
    """Whether any cell may run the code that a model brings."""
    entries = (*grid.methods, *grid.models, *grid.datasets)
    searches = filter(None, (grid.search, *(entry.search for entry in entries)))
    chosen = {"model.trust_remote_code"} & {
        *grid.vary,
        *(key for entry in entries for key in entry.vary),
        *(key for search in searches for key in search.space),
    }
    settings = (grid.shared.model, *(entry.model for entry in entries))
    return bool(chosen) or any(model.get("trust_remote_code") for model in settings)


def with_settings_files(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The grid with the content of the files that `per_dataset` names, by their paths beside the grid."""

    def filled(entry: Any) -> Any:
        if isinstance(entry, dict) and isinstance(name := entry.get("per_dataset"), str):
            found = safe_yaml.read_mapping(folder / name, "a data set, such as cola: {method: ...}")
            return entry | {"per_dataset": found}
        return entry

    axes = [key for key in ("methods", "models") if isinstance(content.get(key), list)]
    return content | {key: [filled(entry) for entry in content[key]] for key in axes}


def check_scales(path: Path, scales: Any) -> None:
    """Every scale is known, and overrides what a grid has."""
    if not isinstance(scales, dict):
        raise InputError(f"{path.name}: expected scales as a mapping of {', '.join(SCALES)}, got {scales!r:.60}")
    open_to_scales = set(Grid.model_fields) - FIXED - {"scale"}
    for name, settings in scales.items():
        if name not in SCALES:
            raise InputError(f"{path.name}: unknown scale {name}; {did_you_mean(str(name), SCALES)}")
        for key in settings or {}:
            if key not in open_to_scales:
                raise InputError(f"{path.name}: a scale has no key {key}; {did_you_mean(str(key), open_to_scales)}")


def merged(base: Any, over: Any) -> Any:
    """`over` wins; mappings are merged, null removes a key.

    >>> merged({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": None, "d": 4}})
    {'a': 1, 'b': {'d': 4}}
    """
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    both = base | {key: merged(base.get(key), value) for key, value in over.items()}
    return {key: value for key, value in both.items() if key not in over or value is not None}


def complaint(error: ValidationError) -> str:
    """The first of pydantic's complaints as one line."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if not str(part).startswith(("tuple[", "function-"))]
    where = ".".join(place)
    if first["type"] == "extra_forbidden":
        return f"unknown key {where}; {did_you_mean(place[-1], fields_at(place[:-1]))}"
    if first["type"] == "missing":
        return f"expected the key {where}, got none"
    said = str(first["msg"]).removeprefix("Value error, ")
    got = "" if first["type"] == "value_error" else f", got {first['input']!r:.80}"
    return f"{where}: {said[0].lower() + said[1:]}{got}".removeprefix(": ")


def fields_at(place: list[str]) -> list[str]:
    """The keys that a mapping at this place of a grid may have."""
    known: type[BaseModel] = Grid
    below: dict[str, type[BaseModel]] = {"shared": Shared, "measure": Measure, "search": Search, "attacks": AttackSpec}
    below |= {"calibration": CalibrationSpec, "radii": RadiiSpec, "starts": Start}
    below |= dict.fromkeys(("methods", "models", "datasets"), Entry) | {"space": Range}
    for part in place:
        known = below.get(part, known)
    return [*known.model_fields, *(["scales"] if known is Grid else [])]
