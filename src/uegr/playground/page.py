"""The page: one column per model, and below each other the answer, the attack and the perturbation.

Texts and labels come from anyone. They are shown by components that put them into the page as text (Label, Textbox,
HighlightedText), never by Markdown or HTML, which hold only constants.
"""

from collections.abc import Iterator
from typing import Any

from uegr.errors import InputError
from uegr.models.texts import Text
from uegr.playground.attacked import Attacked, Piece, default_choice
from uegr.playground.examples import PAIRS, SENTENCES
from uegr.playground.opened import MOST, Model, checked_text, limit_note
from uegr.playground.play import RADII, STEP, Playground
from uegr.runs.finished import Prediction

TITLE = "uegr playground"
INTRODUCTION = """# uegr playground

Type a text and see what each model answers. Attack it, or move it along its gradient, and see which answer changes.
Everything stays on this machine.
"""
ATTACK = """## Attack

A search replaces words, or makes typos, until the label changes. Each model is attacked by itself.
"""
RADIUS = """## Perturbation

The embedded text moves along the gradient of the loss (FGM). A radius of 1 is the mean norm of the word vectors.
"""
BARS = 5  # labels at most, the likeliest first
CHANGED, REPLACED = "changed", "replaced"
ALARM = "#ef444440"  # behind a label that changed
SIDES = ["first", "second"]  # of a pair
BETWEEN = " / "  # the texts of a pair
# in the browser: what an attack found is shown for as long as its text is in the boxes
HIDE = f"(asked, ...texts) => ({{ __type__: 'update', visible: asked === texts.join({BETWEEN!r}) }})"
SEARCHING = "searching ..."
WIDTH = 280  # of a column at least, in pixels; on a phone they are below each other
COLOURS = {REPLACED: "#f59e0b", CHANGED: "#ef4444"}
Update = Any  # what Gradio takes for a component


class Page:
    """The components, and what happens when something is typed, pressed or dragged."""

    def __init__(self, play: Playground) -> None:
        import gradio

        self.ui: Any = gradio
        self.play, self.examples = play, PAIRS if play.paired else [(text,) for text in SENTENCES]
        with self.ui.Blocks(title=TITLE, analytics_enabled=False) as self.blocks:
            self.ui.Markdown(INTRODUCTION)
            self.inputs = self.text_boxes()
            self.note = self.ui.Textbox(
                label="Note", visible=False, interactive=False, show_label=False, elem_id="note"
            )
            self.asked = self.ui.Textbox(
                label="Text of the attack", visible="hidden", show_label=False
            )  # the text that was attacked last
            self.answers = self.answer_row()
            self.ui.Markdown(ATTACK)
            self.attack, self.side, self.button = self.attack_controls()
            self.attacked_row, self.attacked = self.attack_row()
            self.ui.Markdown(RADIUS)
            self.radius = self.ui.Slider(0, RADII[-1], value=0, step=STEP, label="Radius", elem_id="radius")
            self.moved = self.radius_row()
            self.connect()

    def text_boxes(self) -> list[Any]:
        """One box, or two for models of pairs, with examples below."""
        names = ("First text", "Second text") if self.play.paired else ("Text",)
        with self.ui.Row():
            boxes = [
                self.ui.Textbox(first, label=name, lines=2, max_length=MOST, elem_id=f"text{number}", min_width=WIDTH)
                for number, (name, first) in enumerate(zip(names, self.examples[0], strict=True))
            ]
        self.ui.Examples([list(one) for one in self.examples], boxes, cache_examples=False, label="Or try one of these")
        return boxes

    def answer_row(self) -> list[Any]:
        """A label with bars for each model, and what the model is."""
        found = []
        with self.ui.Row():
            for model in self.play.models:
                with self.ui.Column(min_width=WIDTH, elem_classes="model"):
                    found.append(self.answer(model.name, "first"))
                    self.ui.Textbox(model.about, label=f"{model.name}: about", elem_classes="line", **PLAIN)
        return found

    def attack_controls(self) -> tuple[Any, Any, Any]:
        """Which attack, on which side of a pair, and the button."""
        names = self.play.attacks
        with self.ui.Row(elem_id="controls"):
            paired, small = self.play.paired, {"scale": 0, "min_width": 260}
            attack = self.ui.Dropdown(names, value=default_choice(names), label="Attack", elem_id="attack", **small)
            side = self.ui.Radio(SIDES, value=SIDES[-1], label="Text that may change", **small) if paired else None
            button = self.ui.Button("Attack", variant="primary", elem_id="press", **small)
        return attack, side or self.ui.State(SIDES[-1]), button

    def attack_row(self) -> tuple[Any, list[tuple[Any, ...]]]:
        """For each model: the text before and after, the answer after, one line."""
        found = []
        with self.ui.Row(visible=False, elem_id="attacked") as row:
            for model in self.play.models:
                with self.ui.Column(min_width=WIDTH, elem_classes="model"):
                    line = self.line(f"{model.name}: attack", "attack-line")
                    texts = [self.marked_text(f"{model.name}: {when}", when) for when in ("before", "after")]
                    found.append((line, *texts, self.answer(f"{model.name}: answer after", "last")))
        return row, found

    def radius_row(self) -> list[tuple[Any, ...]]:
        """For each model: the answer at the radius, one line."""
        found = []
        with self.ui.Row():
            for model in self.play.models:
                with self.ui.Column(min_width=WIDTH, elem_classes="model"):
                    line = self.line(f"{model.name}: perturbation", "radius-line")
                    found.append((line, self.answer(model.name, "moved")))
        return found

    def line(self, name: str, kind: str) -> Any:
        """A line that says what happened; its name is for screen readers."""
        return self.ui.Textbox(label=name, elem_classes=["line", "told", kind], **PLAIN)

    def answer(self, name: str, kind: str) -> Any:
        """A label with bars."""
        return self.ui.Label(label=name, num_top_classes=BARS, elem_classes=["answer", kind])

    def marked_text(self, name: str, kind: str) -> Any:
        """A text with its changed words marked."""
        looks = {"color_map": COLOURS, "show_inline_category": False}
        return self.ui.HighlightedText(label=name, elem_classes=["marked", kind], **looks)

    def connect(self) -> None:
        """Typing asks all models; the button attacks; the slider moves."""
        flat_attacked = [part for parts in self.attacked for part in parts]
        flat_moved = [part for parts in self.moved for part in parts]
        quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        typed = [box.change for box in self.inputs]
        self.ui.on(
            [self.blocks.load, *typed],
            self.on_text,
            self.inputs,
            [self.note, *self.answers],
            trigger_mode="always_last",
            **quick,
        )
        self.ui.on(
            [self.blocks.load, *typed, self.radius.change],
            self.on_radius,
            [self.radius, *self.inputs],
            flat_moved,
            trigger_mode="always_last",
            **quick,
        )
        self.button.click(
            self.on_attack,
            [self.attack, self.side, *self.inputs],
            [self.note, self.asked, self.attacked_row, *flat_attacked],
            trigger_mode="always_last",
            show_progress_on=[self.button],
            api_visibility="private",
        )
        self.ui.on(typed, None, [self.asked, *self.inputs], self.attacked_row, js=HIDE, **quick)

    def text(self, texts: tuple[str | None, ...]) -> Text:
        """What was typed, checked."""
        return checked_text(texts[0], texts[-1], self.play.paired)

    def noted(self, line: str) -> Update:
        """The line below the text boxes; no line where there is nothing to say."""
        return self.ui.Textbox(line, visible=bool(line))

    def left_out(self, texts: tuple[str | None, ...], text: Text) -> str:
        """What the boxes, or some models, do not take of the text."""
        return "; ".join(line for line in (limit_note(texts), *self.play.cut(text)) if line)

    def on_text(self, *texts: str | None) -> list[Update]:
        """The answers to a new text."""
        try:
            text = self.text(texts)
            answers = zip(self.play.models, self.play.predictions(text), strict=True)
            found: list[Update] = [bars(model, answer) for model, answer in answers]
            return [self.noted(self.left_out(texts, text)), *found]
        except InputError as error:
            typed = any((text or "").strip() for text in texts)
            return [self.noted(str(error) if typed else ""), *([None] * len(self.answers))]

    def on_radius(self, radius: float, *texts: str | None) -> list[Update]:
        """The answers at a radius; nothing where there is no text, which `on_text` says."""
        try:
            found = self.play.moved(self.text(texts), radius)
        except InputError:
            return ["", None] * len(self.moved)
        pairs = zip(self.play.models, found, strict=True)
        return [part for model, one in pairs for part in (one.told, self.shown(model, one.answer, one.changed))]

    def on_attack(self, attack: str, side: Any, *texts: str | None) -> Iterator[list[Update]]:
        """What the attack does to each model, one after the other."""
        shown: list[Update] = [SEARCHING, [], [], None] * len(self.attacked)
        asked = BETWEEN.join(text or "" for text in texts)
        try:
            text = self.text(texts)
            found, note = self.play.attacked(text, attack, side), self.noted(self.left_out(texts, text))
            yield [note, asked, self.ui.Row(visible=True), *shown]
            for number, (model, one) in enumerate(zip(self.play.models, found, strict=True)):
                shown[4 * number : 4 * number + 4] = self.drawn(model, one)
                # another text may stand there by now, with a note of its own, and the row may be hidden
                yield [self.ui.skip(), asked, self.ui.skip(), *shown]
        except InputError as error:
            yield [self.noted(str(error)), "", self.ui.Row(visible=False), *(["", [], [], None] * len(self.attacked))]

    def drawn(self, model: Model, one: Attacked) -> list[Update]:
        """The components of one model after an attack."""
        texts = highlighted(one.before, REPLACED), highlighted(one.after, CHANGED)
        return [one.told(model), *texts, self.shown(model, one.last or one.first, one.flipped)]

    def shown(self, model: Model, answer: Prediction, changed: bool) -> Update:
        """The answer after something was done to the text; another label than before stands out."""
        return self.ui.Label(bars(model, answer), color=ALARM if changed else "transparent")


PLAIN: dict[str, Any] = {"interactive": False, "show_label": False, "container": False, "lines": 1}


def bars(model: Model, answer: Prediction) -> dict[str, float]:
    """Probabilities under the names that may be shown."""
    return dict(zip(model.labels, answer.probabilities.values(), strict=True))


def highlighted(pieces: list[Piece], name: str) -> list[tuple[str, str | None]]:
    """Pieces as HighlightedText takes them."""
    return [(piece, name if changed else None) for piece, changed in pieces]
