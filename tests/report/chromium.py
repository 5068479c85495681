"""A headless Chromium over the DevTools protocol's pipe: enough to open a page, ask it things and take its picture."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One tab; everything that it says and fetches is kept."""

    def __init__(self, wishes: int, answers: int) -> None:
        self.wishes, self.answers = os.fdopen(wishes, "wb", buffering=0), os.fdopen(answers, "rb", buffering=0)
        self.count, self.rest, self.events, self.session = 0, b"", [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            read = self.answers.read(1 << 20)
            if not read:
                raise RuntimeError("Chromium went away")
            self.rest += read
        first, _, self.rest = self.rest.partition(b"\0")
        return json.loads(first)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.count += 1
        wish = {"id": self.count, "method": method, "params": parameters}
        self.wishes.write(json.dumps(wish | ({"sessionId": self.session} if self.session else {})).encode() + b"\0")
        while True:
            heard = self.message()
            if heard.get("id") == self.count:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']['message']}")
                return heard["result"]
            self.events.append(heard)

    def open(self, path: Path) -> float:
        """Open a file; the seconds until its load event has been handled."""
        return self.visit(path.resolve().as_uri())

    def visit(self, url: str) -> float:
        """Open an address; the seconds until its load event has been handled."""
        started = time.perf_counter()
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")
        return time.perf_counter() - started

    def until(self, expression: str, seconds: float = 60) -> None:
        limit = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            if time.monotonic() > limit:
                raise TimeoutError(f"not within {seconds} s: {expression}")
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and broken policies."""
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent]

    def type(self, selector: str, text: str) -> None:
        """Put a text into a box, in place of what is there, as a keyboard does."""
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.ask("Input.insertText", text=text)

    def printing(self) -> None:
        """Show the page as it is on paper, while it stays a page that can be asked."""
        self.ask("Emulation.setEmulatedMedia", media="print")
        self.run("dispatchEvent(new Event('beforeprint'))")

    def size(self, width: int, height: int, dark: bool = False) -> None:
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, clip: dict[str, float] | None = None) -> None:
        area = {"clip": {**clip, "scale": 1}} if clip else {}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, **area)
        path.write_bytes(base64.b64decode(shot["data"]))

    def paper(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium of its own with an empty profile; it is gone afterwards."""
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()

    def pipes() -> None:  # Chromium reads descriptor 3 and writes descriptor 4
        spare = [os.dup(their_in), os.dup(their_out)]
        for place, one in zip((3, 4), spare, strict=True):
            os.dup2(one, place)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
        flags += ["--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            [str(program()), *flags],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        try:
            yield Browser(our_out, our_in)
        finally:
            process.terminate()
            process.wait(timeout=20)
