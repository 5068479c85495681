"""Every test of the data room has its own cache, no $UEGR_DATA, and no network."""

import socket

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch, request):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if "slow" in request.keywords:
        return
    monkeypatch.delenv("UEGR_DATA", raising=False)

    def refuse(*_, **__):
        raise socket.gaierror("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("uegr.data.hub.getproxies", dict)
