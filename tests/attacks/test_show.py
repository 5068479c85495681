"""What a terminal shows of an attack."""

from io import StringIO

from rich.console import Console

from tests.attacks.attack_models import bag, own_labels, sentences, surface
from uegr.attacks import attack
from uegr.attacks.outcome import Change, Outcome
from uegr.attacks.show import coloured, marked, shown


def printed(thing):
    console = Console(width=200, file=StringIO())
    console.print(thing)
    return console.file.getvalue()


def test_figures_and_examples_are_shown():
    results = attack(bag, own_labels(bag, [text for text, _ in sentences()[:12]]), "pwws", surface=surface())
    text = printed(shown(results, examples=2))
    assert "pwws on 12 examples" in text
    assert f"{100 * results.summary.accuracy_after:.1f}%" in text
    successes = [outcome for outcome in results.outcomes if outcome.status == "success"]
    assert successes[0].found in text
    assert successes[1].found in text
    assert successes[2].found not in text


def test_only_the_changed_words_are_marked():
    text = coloured("a good, good film", ["good", "film"], "red")
    assert [text.plain[span.start : span.end] for span in text.spans] == ["good", "film"]
    assert text.spans[0].start == 2


def test_markup_in_a_text_is_text():
    change = (Change(0, "[red]", "[/red]"),)
    outcome = Outcome(0, "success", "", "[red] x", 1, 1, 0.9, "[/red] x", 0, 0.1, 1, change)
    assert "[red] x" in printed(marked(outcome))


def test_a_pair_is_shown_as_two():
    change = (Change(0, "two", "three"),)
    outcome = Outcome(0, "failure", "", ("one", "two"), 1, 1, 0.9, ("one", "three"), 1, 0.8, 1, change)
    assert "one || three" in marked(outcome).plain


def test_examples_are_counted_from_1():
    """An outcome has the place of its example, from 0; the attacked rows are a sample, so it is no row of the data."""
    assert marked(Outcome(0, "failure", "", "a film", 1, 1, 0.9)).plain.startswith("example 1: label 1, 0.900")
