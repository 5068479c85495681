"""Take the picture of a report for README.md: the first screen of a page, by a headless Chromium.

python docs/picture.py runs/demo/report.html docs/images/report.png

The words of the page's verdict are written into the file, so that a test can tell an old picture.
"""

import argparse
import html
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1100)
    parser.add_argument("--height", type=int, default=900)
    given = parser.parse_args()
    given.picture.parent.mkdir(parents=True, exist_ok=True)
    program = next(found for name in NAMES if (found := shutil.which(name)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        size, place = f"--window-size={given.width},{given.height}", f"--screenshot={given.picture.resolve()}"
        command = [program, *FLAGS, f"--user-data-dir={profile}", size, place, given.page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True)
    write_words(given.picture, verdict(given.page.read_text(encoding="utf-8")))


def verdict(page: str) -> str:
    """The words of the page's first section."""
    found = re.search(r'<section id="verdict".*?</section>', page, re.DOTALL)
    if found is None:
        raise SystemExit("expected a page of `uegr report`, got one without a verdict")
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


def write_words(picture: Path, words: str) -> None:
    """Put words into a PNG, as the international text "Description"."""
    body = b"iTXt" + b"Description\0\0\0\0\0" + words.encode()
    data, end = picture.read_bytes(), 8 + 25  # after the signature and the header
    part = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    picture.write_bytes(data[:end] + part + data[end:])


def words(picture: Path) -> str:
    """What `write_words` wrote."""
    data = picture.read_bytes()
    place = data.find(b"iTXtDescription\0")
    if place < 0:
        return ""
    (size,) = struct.unpack(">I", data[place - 4 : place])
    return data[place + 4 : place + 4 + size].removeprefix(b"Description\0\0\0\0\0").decode()


if __name__ == "__main__":
    main()
