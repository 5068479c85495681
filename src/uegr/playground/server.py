"""The page on 127.0.0.1 and nowhere else: no telemetry, no share link, no upload, no request to another host."""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from uegr.errors import InputError
from uegr.playground.play import Playground

HOST = "127.0.0.1"
CSS = Path(__file__).with_name("page.css")
SILENT = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
# The browser enforces what the page promises: nothing is loaded from, or sent to, another host.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)


def check_gradio() -> None:
    """Raise if the optional extra is missing."""
    if find_spec("gradio") is None:
        raise InputError("the playground needs Gradio, which is not installed; pip install 'uegr[playground]'")


def listening(port: int) -> socket.socket:
    """A socket of this machine; 0 is any free port. One that is taken is an error."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except OSError as error:
        found.close()
        raise InputError(
            f"cannot use port {port} of {HOST}: {error.strerror or error}; choose another with --port, 0 for any"
        ) from None
    return found


def application(play: Playground) -> Any:
    """The page as an ASGI application."""
    os.environ.update(SILENT)  # read when gradio is imported
    import gradio as gr
    from fastapi import FastAPI
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from uegr.playground.page import Page

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(Guard)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    system = ("system-ui", "sans-serif")
    theme = gr.themes.Default(primary_hue="indigo", font=system, font_mono=("ui-monospace", "monospace"))
    options: dict[str, Any] = {"footer_links": [], "run_history": False, "ssr_mode": False, "mcp_server": False}
    options |= {"enable_monitoring": False, "pwa": False, "show_error": False, "max_file_size": 1}
    return gr.mount_gradio_app(
        app, Page(play).blocks, path="/", theme=theme, css_paths=CSS, server_name=HOST, **options
    )


class Guard:
    """Adds the policy to every answer, and refuses uploads: the page has nothing to upload."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] == "http" and scope["path"].rstrip("/").endswith("/upload"):
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(b"content-security-policy", POLICY.encode()), (b"referrer-policy", b"no-referrer")]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        await self.app(scope, receive, guarded)


def serve(play: Playground, place: socket.socket, tell: Callable[[str], None], browser: bool) -> None:
    """Serve the page until Ctrl-C; `tell` gets its address."""
    import uvicorn

    app = application(play)
    address = f"http://{HOST}:{place.getsockname()[1]}"
    tell(f"the playground is at {address}; Ctrl-C ends it")
    if browser and has_display():
        webbrowser.open(address)  # the socket listens already
    settings = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(settings).run(sockets=[place])


def has_display() -> bool:
    """Whether a browser can show anything here; on a server it might be one that takes over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
