"""What surrounds the page: the address, the browser, the policy. None of it needs Gradio."""

import asyncio
from typing import Any

import pytest

from uegr.errors import InputError
from uegr.playground.server import POLICY, Guard, has_display, listening


def test_any_free_port_of_this_machine() -> None:
    with listening(0) as place:
        address, port = place.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(InputError, match="choose another with --port"):
            listening(port)


def answered(path: str) -> list[dict[str, Any]]:
    """What the guard sends for a request to this path, around an application that answers 200."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Guard(app)({"type": "http", "path": path}, None, send))
    return sent


def test_every_answer_has_the_policy_and_nothing_is_uploaded() -> None:
    (start,) = answered("/")
    assert (start["status"], dict(start["headers"])[b"a"]) == (200, b"b")
    assert dict(start["headers"])[b"content-security-policy"].decode() == POLICY
    assert answered("/gradio_api/upload")[0]["status"] == answered("/upload/")[0]["status"] == 404


def test_the_policy_names_no_other_host() -> None:
    assert "http" not in POLICY
    assert "*" not in POLICY
    assert POLICY.startswith("default-src 'self'")


def test_no_browser_is_opened_where_none_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_display()
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_display()
