"""`uegr doctor`: what this machine has, without a word to the network unless it is asked for."""

import json
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from uegr import doctor

ROOT = Path(__file__).parents[2]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses that something tried to connect to."""
    tried: list[Any] = []

    def connect(self: socket.socket, address: Any) -> None:
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **more: connect(None, address))  # type: ignore[arg-type]
    return tried


def test_it_shows_every_part_and_asks_nobody(
    uegr: Command, no_network: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "uegr").mkdir()
    (tmp_path / "uegr" / "kept").write_bytes(b"x" * 2500)
    code, out, error = uegr("doctor", "--json")
    found = json.loads(out)
    assert (code, error, no_network) == (0, "", [])
    assert list(found) == ["versions", "machine", "data and models", "features"]
    assert {"python", "uegr", "torch", "transformers"} <= set(found["versions"])
    assert set(found["machine"]) == {"processors", "bf16 instructions", "accelerator"}
    assert found["data and models"]["cache"] == f"2.5 kB in {tmp_path / 'uegr'}"
    assert found["data and models"]["hub"] == "not asked; use --hub"


def test_the_table_has_a_heading_per_section(uegr: Command) -> None:
    code, out, _ = uegr("doctor")
    assert code == 0
    assert [line.strip() for line in out.splitlines() if line[:1].strip()] == [
        "versions",
        "machine",
        "data and models",
        "features",
    ]


def test_a_hub_that_does_not_answer_is_no_error(no_network: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "is_offline_mode", lambda: False)
    monkeypatch.setattr("huggingface_hub.utils._http.is_offline_mode", lambda: False, raising=False)
    assert doctor.hub_state().startswith("does not answer")
    monkeypatch.setattr(constants, "is_offline_mode", lambda: True)
    assert doctor.hub_state() == "not asked: HF_HUB_OFFLINE is set"


def test_a_package_that_is_too_old_is_wrong_and_exits_with_1(uegr: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requirements", lambda: [Requirement("torch>=99"), Requirement("gone-package")])
    code, out, _ = uegr("doctor")
    assert code == 1
    assert "expected >=99" in out
    assert "WRONG: missing" in " ".join(out.split())


def test_a_feature_names_what_is_missing_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requirements", lambda: [Requirement("gone-package>=1; extra == 'ray'")])
    found = dict(doctor.features())
    assert found["ray"].endswith("missing gone-package: pip install 'uegr[ray]'")
    assert found["onnx"].endswith("; installed")


def test_every_extra_has_its_feature() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(doctor.FEATURES) == set(extras) - {"dev", "docs"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx512_bf16 amx_bf16", "yes: avx512_bf16, amx_bf16"),
        ("Features\t: fp asimd bf16", "yes: bf16"),
        ("flags\t\t: fpu avx2", "no; `uegr train --precision bf16` is slow here"),
    ],
)
def test_bf16_is_read_from_the_processors_flags(line: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\n")
    assert doctor.bf16(tmp_path / "cpuinfo") == expected
    assert doctor.bf16(tmp_path / "nowhere") == "not known on this system"
