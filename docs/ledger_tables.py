"""The tables between the markers of a page, from the ledger alone:

<!-- ledger: headlines encoder-laptop -->
<!-- end of ledger -->

`headlines STUDY` has a table for each data set and model of a study; `contest STUDY METHOD` one method against each
baseline; `cells STUDY` tells how many cells have finished; `decisions all` has what `uegr recommend` answers;
`limits all METHOD` has where a method did not pay, and why; `parts STUDY METHOD` what each part of a method adds, where
the study took it away; `printed STUDY` sets a table beside the paper's figures; `boards STUDY` has every figure.
"""

import re
from pathlib import Path

from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.run import done_before
from uegr.ledger.package import studies
from uegr.models.card import from_scratch
from uegr.report import contest
from uegr.report.caveats import at_chance
from uegr.report.contest import matches
from uegr.report.cost import cost_of
from uegr.report.export import board, headline_parts, printed_table, table
from uegr.report.groups import Group, by_block, grouped, heading
from uegr.report.headline import headlines
from uegr.report.printed import comparisons
from uegr.report.reading import collect
from uegr.report.recommendation import Question, Recommendation, basis, read_studies, recommendation
from uegr.report.tables import gain, probability

ROOT = Path(__file__).parents[1]
LEDGER, GRIDS = ROOT / "results", ROOT / "benchmarks"
PAGES = ("study.md", "results.md")
MARKED = re.compile(r"(<!-- ledger: (\w+) ([\w-]+) ?([^>]*?) ?-->\n)(.*?)(<!-- end of ledger -->)", re.DOTALL)
WITHOUT = {"rat_su": {"rat": "update"}}  # methods that are others without a part
NOTHING = "No cell has finished yet."
ASKED = (("minilm-l3", 1000), ("minilm", 10_000), ("textcnn", 3000))  # models and rows of the table of decisions
LIMITS = (2.0, None)


def filled(text: str, ledger: Path = LEDGER) -> str:
    """A page with the tables between its markers built again."""

    def built(found: re.Match[str]) -> str:
        start, kind, study, method, _, end = found.groups()
        made = MAKERS[kind](ledger / study, method)
        return f"{start}\n{made}\n\n{end}"

    return MARKED.sub(built, text)


def groups_of(study: Path) -> list[Group]:
    """The settings of a study."""
    return grouped(collect([study]).runs) if study.is_dir() else []


def headline_tables(study: Path, _: str) -> str:
    """The headlines of a study in Markdown, one level lower than in a report."""
    parts = [part for one in headlines(groups_of(study)) for part in headline_parts(one)]
    return "\n\n".join(f"#{part}" if part.startswith("## ") else part for part in parts) or NOTHING


def contest_table(study: Path, method: str) -> str:
    """One method against each baseline, and how often it wins."""
    found = contest.contests(groups_of(study), method)
    lines = [line for one in found for line in contest.rows(one)]
    return "\n\n".join([contest.sentence(method, found), *([table(contest.HEADS, lines)] if lines else [])])


def cell_count(study: Path, _: str) -> str:
    """How many cells of a study's grid are in the ledger."""
    name, _, scale = study.name.rpartition("-")
    path = next(path for path in (GRIDS / "studies" / f"{name}.yaml", GRIDS / f"{name}.yaml") if path.is_file())
    cells = cells_of(read_grid(path, scale))
    done = done_before(study, cells) if study.is_dir() else {}
    return f"{len(done)} of {len(cells)} cells have finished."


def printed_tables(study: Path, _: str) -> str:
    """What was measured beside what the paper printed; a printed row that nothing stands for is only counted."""
    if not study.is_dir():
        return NOTHING
    found = collect([study])
    parts = []
    for compared in comparisons(found.grids, grouped(found.runs)):
        parts += [compared.verdict, printed_table([row for row in compared.rows if row.kind != "missing"])]
    return "\n\n".join(parts) or NOTHING


def boards(study: Path, _: str) -> str:
    """The leaderboard of each data set and model of a study, and what in it is not shown to be above chance."""
    parts = []
    for block, some in by_block(groups_of(study)).items():
        parts += [f"### {heading(block)}", board(some), *(f"- {line}" for line in at_chance(some))]
    return "\n\n".join(parts) or NOTHING


def decisions(study: Path, _: str) -> str:
    """What is recommended for some models, numbers of rows and limits of cost, from all studies."""
    groups = read_studies(studies(study.parent))
    lines = []
    for model, rows in ASKED:
        for limit in LIMITS:
            found = recommendation(groups, Question(model, rows, limit), from_scratch)
            kind = "from scratch" if from_scratch(model) else "pretrained"
            lines.append((f"{kind} ({model})", f"{rows:,}", f"{limit:g} ×" if limit else "any", *decision(found)))
    return table(("model", "rows", "cost at most", "use", "robust gain", "clean gain", "cost", "evidence"), lines)


def decision(found: Recommendation) -> tuple[str, ...]:
    """The method with its gains, or that no gain is shown."""
    if found.chosen is None:
        why = "no gain shown" if found.candidates else "no evidence yet"
        return f"vanilla: {why}", "–", "–", "1.0 ×", basis(found)
    row = found.chosen.ranked
    return row.name, found.chosen.robust.text, found.chosen.clean.text, row.cost_text, basis(found)


def limits(study: Path, method: str) -> str:
    """The data sets and models where a method's cost did not pay, with the reasons; not those with one seed."""
    groups = [group for group in read_studies(studies(study.parent)) if len(group.seeds) > 1]
    lines, measured = [], 0
    for block, some in by_block(groups).items():
        scored = [group for group in some if {"own", "robust"} <= group.columns.keys()]
        for own in (group for group in scored if group.label == method and group.baseline is not None):
            measured += 1
            found = matches(own, [other for other in scored if other is not own])
            cheaper = {other.label for other in scored if (cost_of(other).passes or 0) < (cost_of(own).passes or 0)}
            why = objections(own, found, cheaper)
            base = next(match for match in found if own.baseline and match.against == own.baseline.label)
            cells = (gain(base.robust) or "–", gain(base.clean) or "–")
            lines += [(heading(block), *cells, "; ".join(why))] if why else []
    if not measured:
        return f"{method} has no cells with several seeds yet."
    told = f"{method} did not pay on {len(lines)} of {measured} data sets and models with several seeds."
    heads = ("data set, model", "robust gain", "clean gain", "why not")
    return "\n\n".join([told, *([table(heads, lines)] if lines else [])])


def parts(study: Path, method: str) -> str:
    """A method against itself without one of its parts: the settings called `METHOD, without PART`, and WITHOUT."""
    lines = []
    for block, some in by_block(groups_of(study)).items():
        known = {group.label: group.label.removeprefix(f"{method}, without ") for group in some}
        known = {label: part for label, part in known.items() if label != part} | WITHOUT.get(method, {})
        taken = [group for group in some if group.label in known]
        for own in (group for group in some if group.label == method and taken):
            for match in matches(own, taken):
                part = known[match.against]
                differences = (gain(match.clean) or "–", gain(match.robust) or "–")
                adjusted = (probability(one.adjusted) for one in (match.clean, match.robust))
                lines.append((heading(block), part, *differences, *adjusted))
    heads = ("data set, model", "part", "adds to clean", "adds to robust", "p (Holm), clean", "p (Holm), robust")
    return table(heads, lines) if lines else NOTHING


def objections(own: Group, found: list[contest.Match], cheaper: set[str]) -> list[str]:
    """Why the method's cost did not pay: no gain over vanilla, a lower clean score, a cheaper method as good."""
    base = next(match for match in found if own.baseline and match.against == own.baseline.label)
    why = [] if base.shown else [f"not shown to be more robust than {base.against}"]
    why += [] if base.not_inferior else [f"clean score more than half a point below {base.against}'s"]
    equal = [m.against for m in found if m.against in cheaper and m.against != base.against and not m.shown]
    return why + ([f"not shown to be more robust than {', '.join(equal)}, at less cost"] if equal else [])


def pages(folder: Path) -> dict[str, str]:
    """The pages with markers, up to date, by name."""
    found = {name: folder / name for name in PAGES}
    return {name: filled(path.read_text(encoding="utf-8")) for name, path in found.items()}


MAKERS = {
    "headlines": headline_tables,
    "cells": cell_count,
    "contest": contest_table,
    "decisions": decisions,
    "limits": limits,
    "parts": parts,
    "printed": printed_tables,
    "boards": boards,
}
