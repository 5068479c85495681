"""What `make audit` ends with: 0 if nothing is known to be vulnerable, 1 if something is, 2 if nobody was asked."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "audit"
FINE = {"name": "torch", "version": "2", "vulns": []}
WRONG = {"name": "odd", "version": "1", "vulns": [{"id": "CVE-1"}]}
SKIPPED = {"name": "own", "skip_reason": "not on the index"}


def audit() -> Any:
    spec = spec_from_loader("audit", SourceFileLoader("audit", str(FILE)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({"pypi": [FINE]}, 0),
        ({"pypi": [], "osv": [FINE]}, 0),
        ({"pypi": [FINE, WRONG]}, 1),
        ({"pypi": [FINE, SKIPPED]}, 1),
        ({"pypi": [], "osv": []}, 2),
    ],
)
def test_the_end_of_an_audit(answers: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = audit()
    monkeypatch.setattr(module, "installed", lambda box: "pip-audit")
    monkeypatch.setattr(module, "looked_up", lambda program, service: answers[service])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert int(ended.value.code or 0) == code


def test_the_check_of_make_test_includes_bandit() -> None:
    makefile = (FILE.parents[1] / "Makefile").read_text()
    assert "bandit" in makefile.partition("\ncheck:")[2].partition("\n\n")[0]
