"""Take the picture of a report for README.md: the first screen of a page, by a headless Chromium.

python docs/picture.py runs/demo/report.html docs/images/report.png
"""

import argparse
import shutil
import subprocess
import tempfile
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


if __name__ == "__main__":
    main()
