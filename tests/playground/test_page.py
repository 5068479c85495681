"""The page in a real browser: type, attack, drag, read the result; no request leaves the machine."""

import json
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.report.chromium import Browser, browser, program
from uegr.playground.opened import MOST, limit_note, open_models
from uegr.playground.play import Playground
from uegr.runs import folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("gradio") is None, reason="no gradio here; make test-slow installs it"),
    pytest.mark.skipif(program() is None, reason="no Chromium here"),
]
EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"
TEXT = "the plot was awful and the scene dull"
WORDS = "awful\tgreat\nfine\tawful\ndull\tlovely\nplot\tfilm\nscript\tfilm\n"
ANSWERS = "[...document.querySelectorAll('.{} h2')].map(one => one.textContent)"
LINES = "[...document.querySelectorAll('.{} textarea')].map(one => one.value)"
ATTACKED = f"{LINES.format('attack-line')}.every(line => line && !line.startsWith('searching'))"
DRAG = """(() => {{
    const slider = document.querySelector('#radius input[type=range]');
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(slider, '{}');
    slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
    slider.dispatchEvent(new Event('pointerup', {{ bubbles: true }}));
}})()"""
WATCH = """
import sys
def watch(event, details):
    if event == "socket.getaddrinfo" and details[0] not in (None, "127.0.0.1", "localhost"):
        print("asked for", details[0], file=sys.stderr, flush=True)
    if event == "socket.connect" and isinstance(details[1], tuple) and details[1][0] != "127.0.0.1":
        print("connected to", details[1], file=sys.stderr, flush=True)
sys.addaudithook(watch)
"""


# of every box: the words that a screen reader says
NAMES = """[...document.querySelectorAll('textarea')].map(one =>
    (one.ariaLabel || [...(one.labels || [])].map(label => label.textContent).join(' ')).trim())"""


@contextmanager
def served(runs: list[Path], words: Path) -> Iterator[str]:
    """The address of a playground that asks no other host; it is ended by Ctrl-C and has said nothing else."""
    words.write_text(WORDS, encoding="utf-8")
    code = f"{WATCH}\nfrom uegr.cli import main\nmain()"
    command = [sys.executable, "-c", code, "playground", *map(str, runs), "--surface", str(words)]
    with subprocess.Popen(
        [*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        try:
            found = re.search(r"http://127\.0\.0\.1:\d+", told)
            assert found, f"{told} {process.communicate()[1] if process.poll() is not None else ''}"
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "the playground has ended\n", "")


@pytest.fixture(scope="module")
def address(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(runs, tmp_path_factory.mktemp("words") / "words.tsv") as found:
        yield found


@pytest.fixture
def tab() -> Iterator[Browser]:
    with browser() as found:
        found.ask("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => { window.harmed = true }")
        yield found


def opened(tab: Browser, address: str, models: int = 2) -> None:
    """The page, with the first answers."""
    tab.visit(address)
    tab.until(f"{ANSWERS.format('first')}.length === {models}")


def attack(tab: Browser) -> list[str]:
    """Press the button; the line of each model."""
    tab.run("document.querySelector('#press').click()")
    tab.until(f"document.querySelector('#attacked') && {ATTACKED}")
    return list(tab.run(LINES.format("attack-line")))


def dense(text: str) -> str:
    """Without spaces: Gradio has some of its own between the pieces of a text."""
    return "".join(text.split())


def written(tab: Browser, selector: str, number: int = 0) -> str:
    """The text of a box with marked words."""
    return dense(tab.run(f"document.querySelectorAll('{selector} .textfield')[{number}].textContent"))


def outside(tab: Browser, address: str) -> list[str]:
    return [url for url in tab.requests() if not url.startswith((f"{address}/", "data:", "blob:"))]


def test_every_box_has_a_name_for_screen_readers(address: str, tab: Browser) -> None:
    """Boxes whose label is not shown were all called Textbox."""
    opened(tab, address)
    names = tab.run(NAMES)
    assert {"Text", "short: about", "long: about", "short: perturbation", "long: perturbation"} <= set(names)
    assert not {"", "Textbox"} & set(names)


def test_type_attack_and_drag(tab: Browser, address: str, runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text(WORDS, encoding="utf-8")
    play = Playground(open_models(runs), surface=str(tmp_path / "words.tsv"))
    tab.size(1440, 900)
    opened(tab, address)

    tab.type("#text0 textarea", TEXT)
    answers = [answer.label for answer in play.predictions(TEXT)]
    tab.until(f"JSON.stringify({ANSWERS.format('first')}) === {json.dumps(json.dumps(answers, separators=(',', ':')))}")

    expected = list(play.attacked(TEXT, "pwws"))
    assert attack(tab) == [one.told(model) for one, model in zip(expected, play.models, strict=True)]
    assert expected[1].flipped
    after = "document.querySelectorAll('.after')[1]"
    assert written(tab, ".after", 1) == dense(str(expected[1].outcome.found))
    marked = tab.run(f"[...{after}.querySelectorAll('.highlighted')].map(one => one.textContent.trim())")
    assert marked == [piece for piece, mark in expected[1].after if mark]
    assert tab.run(ANSWERS.format("last"))[1] == "good"

    moved = play.moved(TEXT, 2)
    tab.run(DRAG.format(2))
    tab.until(f"{LINES.format('radius-line')}[1] === {json.dumps(moved[1].told)}")
    assert moved[1].changed
    assert tab.run(ANSWERS.format("moved")) == [one.answer.label for one in moved]

    tab.type("#text0 textarea", "a lovely film")  # what was found for another text is not shown with this one
    tab.until("!document.querySelector('#attacked') || !document.querySelector('#attacked').offsetParent")
    attack(tab)
    assert written(tab, ".before") == "alovelyfilm"
    assert outside(tab, address) == []
    assert tab.complaints() == []


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_it_fits_and_asks_nobody(tab: Browser, address: str, width: int, dark: bool) -> None:
    tab.size(width, 900, dark)
    opened(tab, address)
    attack(tab)
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    tops = tab.run("[...document.querySelectorAll('.first')].map(one => one.getBoundingClientRect().top)")
    assert (tops[0] == tops[1]) is (width == 1440)  # side by side, or below each other
    assert tab.run("document.body.classList.contains('dark')") is dark
    assert outside(tab, address) == []
    assert tab.complaints() == []


def test_an_empty_text_is_one_line_on_the_page(tab: Browser, address: str) -> None:
    opened(tab, address)
    tab.type("#text0 textarea", " ")
    tab.until(f"{ANSWERS.format('first')}.length === 0")
    tab.run("document.querySelector('#press').click()")
    tab.until("document.querySelector('#note textarea')?.value === 'type a sentence'")


def test_a_text_that_is_cut_is_said_for_as_long_as_it_stands_there(address: str, tab: Browser) -> None:
    opened(tab, address)
    tab.type("#text0 textarea", "film " * (MOST // 5) + "and more")
    note = f"document.querySelector('#note textarea')?.value.includes({json.dumps(limit_note(['a' * MOST]))})"
    tab.until(note)
    assert tab.run("document.querySelector('#text0 textarea').value.length") == MOST
    attack(tab)
    assert tab.run(note)
    tab.type("#text0 textarea", "a lovely film")
    tab.until("!document.querySelector('#note')?.offsetParent")


def test_an_example_fills_the_box(tab: Browser, address: str) -> None:
    opened(tab, address)
    tab.run("[...document.querySelectorAll('.gallery-item, .example')].at(-1)?.click()")
    tab.until("document.querySelector('#text0 textarea').value.startsWith('Shares of the bank')")


def test_hostile_texts_labels_and_names_are_shown_as_text(tab: Browser, runs: list[Path], tmp_path: Path) -> None:
    place = tmp_path / EVIL.replace("/", "")
    shutil.copytree(runs[1], place)
    folder.update(place, lambda result: result.with_task("data", labels=(f"{EVIL}\x1b[31m\u202e", "good")))
    with served([place], tmp_path / "words.tsv") as address:
        opened(tab, address, models=1)
        tab.type("#text0 textarea", f"awful {EVIL} plot")
        tab.until(f"{ANSWERS.format('first')}[0] === {json.dumps(EVIL + '[31m')}")
        (line,) = attack(tab)
        assert EVIL in line
        assert dense(EVIL) in written(tab, ".before")
        assert EVIL.replace("/", "") in tab.run("document.querySelector('.first label').textContent")
        assert tab.run("window.harmed === undefined")
        assert tab.run("document.querySelectorAll('img[src=x]').length") == 0
        assert outside(tab, address) == []
        assert tab.complaints() == []


def test_pairs_have_two_boxes_and_a_side_to_attack(tab: Browser, pair_run: Path, tmp_path: Path) -> None:
    with served([pair_run], tmp_path / "words.tsv") as address:
        tab.size(390, 900)
        opened(tab, address, models=1)
        tab.type("#text0 textarea", "the fine plot")
        tab.type("#text1 textarea", "an awful film")
        tab.until("document.querySelectorAll('.radius-line textarea')[0].value")
        attack(tab)
        assert written(tab, ".before") == "anawfulfilm"
        tab.run("document.querySelector('input[type=radio][value=first]').click()")
        tab.run("document.querySelector('#press').click()")
        tab.until("document.querySelector('.before .textfield')?.textContent.includes('fine')")
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
        assert outside(tab, address) == []


def test_other_host_names_and_uploads_are_refused(address: str) -> None:
    for path, headers, status in (("/", {"Host": "evil.example"}, 400), ("/gradio_api/upload", {}, 404)):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(urllib.request.Request(f"{address}{path}", headers=headers, data=b"x"))
        assert error.value.code == status
    with urllib.request.urlopen(address) as page:
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
