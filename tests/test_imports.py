"""Imports go one way (design.md): each room knows only the rooms that it may, and no module leads back to itself."""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "uegr"
# what every room but pieces may use
BASE = {"errors", "files", "cache", "packages", "result", "safe_json", "safe_yaml", "statistics", "terminal", "console"}
ONE_RUN = {"methods", "pieces", "models", "data", "training", "evaluation", "attacks"}
MAY_KNOW: dict[str, set[str]] = {
    "pieces": set(),
    "methods": {"pieces"},
    "models": {"pieces"} | BASE,
    "data": BASE,
    "training": {"methods", "pieces"} | BASE,
    "evaluation": {"pieces", "models"} | BASE,
    "attacks": {"pieces", "models"} | BASE,
    "runs": ONE_RUN | BASE,
    "benchmark": {"runs", "training", "ledger", "signals"} | BASE,
    "playground": {"models", "evaluation", "attacks", "runs"} | BASE,
    "report": {"ledger"} | BASE,  # reads results and statistics only
    "ledger": BASE,
    "result": {"errors", "statistics", "safe_json"},
    "statistics": {"errors"},
    "errors": set(),
    "terminal": set(),
    "console": {"terminal"},
    "safe_json": {"errors"},
    "safe_yaml": {"errors"},
    "doctor": {"data"} | BASE,
    "private": set(),  # a list that tests read
    "files": {"errors"},
    "signals": {"errors"},
    "cache": {"files"},
    "packages": {"errors", "cache"},
}
EXCEPTIONS: dict[str, set[str]] = {
    # a method that attacks by words (ASCC, RIFT) takes its table of substitutes from the lexicon of an attack
    "training/requirements.py": {"attacks"},
}
FRONT_DOORS = {"__init__", "__main__", "cli", "testing"}  # these know everything
OUTSIDE_OF_PIECES = {"torch"}


def imported(file: Path) -> set[str]:
    """Dotted names of the modules that a file imports, also inside functions; relative ones made absolute."""
    names: set[str] = set()
    package = ("uegr", *file.relative_to(SOURCE).parent.parts)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (start, node.module) if part)
            names |= {f"{base}.{alias.name}" for alias in node.names} | {base}
    return names


def room(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == "uegr" and len(parts) > 1 else None


def files(name: str) -> list[Path]:
    return sorted((SOURCE / name).rglob("*.py")) or [SOURCE / f"{name}.py"]


def rooms() -> list[str]:
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    return sorted(found - FRONT_DOORS)


def test_every_room_has_its_rule() -> None:
    assert set(rooms()) <= set(MAY_KNOW)


@pytest.mark.parametrize("name", rooms())
def test_a_room_knows_only_the_rooms_that_it_may(name: str) -> None:
    for file in files(name):
        known = {other for dotted in imported(file) if (other := room(dotted))} - {name}
        place = file.relative_to(SOURCE).as_posix()
        allowed = MAY_KNOW[name] | EXCEPTIONS.get(place, set())
        assert known <= allowed, f"{place} imports {sorted(known - allowed)}"


def modules() -> dict[str, Path]:
    """The file of every module, by its dotted name."""
    parts = {file: ("uegr", *file.relative_to(SOURCE).with_suffix("").parts) for file in sorted(SOURCE.rglob("*.py"))}
    return {".".join(path).removesuffix(".__init__"): file for file, path in parts.items()}


def graph() -> dict[str, set[str]]:
    """The modules that each module imports; `from package import module` leads to the module, not to the package."""
    known, found = modules(), {}
    for name, file in known.items():
        names = imported(file)
        values = {dotted.rpartition(".")[0] for dotted in names if dotted not in known}
        through = {
            dotted for dotted in names if any(other.rpartition(".")[0] == dotted for other in names & known.keys())
        }
        found[name] = ((names - through) | (names & values)) & known.keys() - {name}
    return found


def cycle() -> list[str]:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not cycle(), f"each imports the one before: {' <- '.join(cycle())}"


def test_an_exception_is_needed() -> None:
    for place, others in EXCEPTIONS.items():
        assert others <= {room(dotted) for dotted in imported(SOURCE / place)}, f"{place} needs its exception no more"


def test_pieces_know_torch_and_the_standard_library_only() -> None:
    allowed = OUTSIDE_OF_PIECES | sys.stdlib_module_names | {"uegr"}
    for file in files("pieces"):
        known = {dotted.split(".")[0] for dotted in imported(file)}
        assert known <= allowed, f"{file.name} imports {sorted(known - allowed)}"


def test_only_the_engine_and_the_models_inherit_from_a_framework() -> None:
    """Methods know torch but no transformers: they never see a device, a process or a Trainer."""
    for file in files("methods"):
        assert "transformers" not in {dotted.split(".")[0] for dotted in imported(file)}, file.name


def test_the_check_sees_a_forbidden_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "pieces").mkdir()
    file = tmp_path / "pieces" / "wrong.py"
    file.write_text("def f():\n    from ..training import engine\n    import numpy.linalg\n")
    assert {"uegr.training", "numpy.linalg"} <= imported(file)
    assert {room(dotted) for dotted in imported(file)} == {"training", None}


def test_the_check_sees_a_cycle_inside_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "__init__.py").write_text("from uegr.room.first import one\n")
    (tmp_path / "room" / "first.py").write_text("from uegr.room import second\n")
    (tmp_path / "room" / "second.py").write_text("import json\n")
    assert not cycle()
    (tmp_path / "room" / "second.py").write_text("def late():\n    from uegr.room.first import one\n")
    assert set(cycle()) == {"uegr.room.first", "uegr.room.second"}
    (tmp_path / "room" / "second.py").write_text("from uegr.room import one\n")
    assert set(cycle()) == {"uegr.room", "uegr.room.first", "uegr.room.second"}
