"""Outcomes on a terminal: the figures as a table, and examples with the changed words in colour."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from uegr.attacks.outcome import Outcome, Results, Summary
from uegr.attacks.search import Input


def shown(results: Results, examples: int = 10) -> Group:
    """The figures, and the first examples that were found."""
    found = [outcome for outcome in results.outcomes if outcome.status == "success"][:examples]
    return Group(figures(results.summary), *(marked(outcome, results.labels) for outcome in found))


def figures(summary: Summary) -> Table:
    """One row per figure."""
    rows = {
        "accuracy before": percent(summary.accuracy_before),
        "accuracy under attack": percent(summary.accuracy_after),
        "attack success rate": percent(summary.success_rate),
        "words changed": f"{number(summary.words_changed)} ({percent(summary.words_changed_share)} of a text)",
        "queries per example": number(summary.queries),
        "texts scored": f"{summary.scored:,} in {summary.calls:,} calls",
        "seconds": f"{summary.seconds:.1f}, {percent(inside(summary))} inside predict",
    }
    rows |= {f"skipped: {reason}": str(count) for reason, count in summary.skipped.items()}
    table = Table(title=f"{summary.attack} on {summary.examples} examples", show_header=False, title_justify="left")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def inside(summary: Summary) -> float | None:
    """The share of the time that predict took."""
    return summary.seconds_predicting / summary.seconds if summary.seconds else None


def marked(outcome: Outcome, labels: Sequence[str] = ()) -> Text:
    """Before and after, the changed words marked, with the right label and its probability; examples count from 1.

    >>> from uegr.attacks.outcome import Change
    >>> change = Change(1, "good", "fine")
    >>> outcome = Outcome(3, "success", "", "a good film", 1, 1, 0.9, "a fine film", 0, 0.2, 3, (change,))
    >>> print(marked(outcome, ["bad", "good"]).plain)
    example 4: label good, 0.900 -> 0.200, now bad
      a good film
      a fine film
    """
    after = outcome.found_probability if outcome.found_probability is not None else outcome.probability
    number, label = outcome.index + 1, name(outcome.label, labels)  # of the attacked examples, not of the data's rows
    text = Text(f"example {number}: label {label}, {outcome.probability:.3f} -> {after:.3f}", style="bold")
    text.append(f", now {name(outcome.found_predicted, labels)}" if outcome.found_predicted is not None else "")
    text.append("\n  ").append_text(coloured(outcome.text, [change.old for change in outcome.changes], "green"))
    if outcome.found is not None:
        text.append("\n  ").append_text(coloured(outcome.found, [change.new for change in outcome.changes], "red"))
    return text


def name(label: int, labels: Sequence[str]) -> str:
    """The label's name, or its number where names are not known."""
    return labels[label] if 0 <= label < len(labels) else str(label)


def coloured(given: Input, words: list[str], colour: str) -> Text:
    """A text with each of the words in colour, found in order from left to right."""
    joined = given if isinstance(given, str) else " || ".join(given)
    text, at = Text(joined, style="not bold"), 0
    for word in filter(None, words):
        start = joined.find(word, at)
        if start >= 0:
            at = start + len(word)
            text.stylize(f"bold {colour}", start, at)
    return text


def percent(share: float | None) -> str:
    """A share as a percentage, or a dash.

    >>> percent(0.125), percent(None)
    ('12.5%', '-')
    """
    return "-" if share is None else f"{100 * share:.1f}%"


def number(value: float | None) -> str:
    """One decimal, or a dash."""
    return "-" if value is None else f"{value:,.1f}"
