"""One self-contained page that compares runs: no network, every text escaped, its own scripts and no others."""

import base64
import hashlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from uegr.errors import InputError
from uegr.files import write_text
from uegr.report import curves, drift, plots, sweeps
from uegr.report.caveats import at_chance, otherwise
from uegr.report.classes import class_tables
from uegr.report.examples import attack_examples
from uegr.report.groups import BASELINE, Group, grouped
from uegr.report.headline import doubted, headlines
from uegr.report.printed import comparisons
from uegr.report.provenance import datasets, machines, recipes, summary
from uegr.report.reading import Collection, Run
from uegr.report.tables import distinct, every_figure, glance, leaderboard, tested, view
from uegr.report.verdict import Verdict, verdict
from uegr.result import Result

OPEN_PANELS = 6  # further drawings are behind a click
SHOWN_FIRST = 8  # methods in the verdict and in a drawing; further ones are behind a click
ON_PAPER = 8  # settings across that fit on paper


def write_page(path: Path, results: Mapping[str, Result], *, title: str | None = None) -> Path:
    """The page for results by name."""
    collection = Collection(runs=[Run(name, result) for name, result in results.items()])
    return write(path, render(collection, title=title))


def write(path: Path, text: str) -> Path:
    """The whole page or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def render(
    collection: Collection, *, title: str | None = None, refresh: int | None = None, groups: list[Group] | None = None
) -> str:
    """The page as text; with `refresh` it reloads itself after as many seconds."""
    groups = grouped(collection.runs) if groups is None else groups
    looks = plots.styles(distinct(group.method for group in groups))
    judged = verdict(groups)
    sections = drawings(groups, looks)
    leave_off(sections, [BASELINE, *(row.method for row in judged.rows)] if judged else [])
    library, own = plotly() if sections else "", static("page.js")
    loader = PackageLoader("uegr.report")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["breakable"] = breakable
    environment.globals |= {"view": view, "baseline": BASELINE, "doubted": doubted}
    environment.globals |= {"open_panels": OPEN_PANELS, "shown_first": SHOWN_FIRST, "on_paper": ON_PAPER}
    return environment.get_template("page.html.j2").render(
        title=title or default_title(collection, groups),
        summary=summary(groups),
        refresh=refresh,
        policy=policy([library, own]),
        style=as_it_is(static("page.css")),
        plotly=as_it_is(library),  # the packages' own files
        script=as_it_is(own),
        data=as_it_is(payload(sections)),  # escaped for a script element
        verdict=judged,
        headlines=headlines(groups),
        board=leaderboard(groups),
        at_chance=at_chance(groups),
        glance=glance(ranking(judged)),
        tested=tested(groups),
        unlike=bool(otherwise(groups)),
        printed=comparisons(collection.grids, groups),
        sections={section.key: section for section in sections},
        looks=looks,
        examples=attack_examples(groups),
        classes=class_tables(groups),
        figures=every_figure(groups),
        recipes=recipes(groups),
        machines=machines(collection.runs),
        left=collection.left,
    )


def ranking(judged: Verdict | None) -> list[Group]:
    """The settings that the verdict counts, in its order: two tables of mean gains must not tell two stories."""
    if judged is None:
        return []
    order = [row.method for row in judged.rows]
    return sorted(judged.counted, key=lambda one: order.index(one.method) if one.method in order else len(order))


def drawings(groups: Sequence[Group], looks: Mapping[str, plots.Style]) -> list[plots.Section]:
    """The sections with drawings that have data."""
    attacks = distinct(name for group in groups for _, one in group.evaluations for name in one.perturbation)
    found = [
        curves.tradeoff(groups, looks),
        *(curves.curves(groups, looks, attack) for attack in attacks),
        *sweeps.sweeps(groups, looks),
        sweeps.training_size(groups, looks),
        curves.reliability(groups, looks),
        drift.similarity(groups, looks),
        drift.over_epochs(groups, looks),
        drift.cost(groups, looks),
    ]
    return [section for section in found if section is not None]


def leave_off(sections: Sequence[plots.Section], ranking: Sequence[str]) -> None:
    """Drawings of many methods start with the first of the ranking: forty curves cannot be read."""
    for section in sections:
        order = distinct([*(method for method in ranking if method in section.methods), *section.methods])
        section.off = order[SHOWN_FIRST:]


def as_it_is(text: str) -> Markup:
    """HTML that is not escaped again: files of packages, and what is escaped already."""
    return Markup(text)  # nosec B704


def breakable(text: str) -> Markup:
    """A name that a narrow column breaks after its underscores and slashes, and not inside a word.

    >>> breakable("snippets_editorials <b>")
    Markup('snippets_<wbr>editorials &lt;b&gt;')
    """
    return as_it_is(str(escape(text)).replace("_", "_<wbr>").replace("/", "/<wbr>"))


def default_title(collection: Collection, groups: Sequence[Group]) -> str:
    """What the page is about: the grid's title, or the methods and the data."""
    if len(collection.grids) == 1 and all(run.grids for run in collection.runs):
        return collection.grids[0].title
    methods, names = distinct(g.method for g in groups), datasets(groups)
    if not groups:
        return "No runs yet"
    own = {run.config.method.name for group in groups for run in group.runs}  # not their variants
    what = enumerated(methods) if len(methods) < 4 else f"{len(own)} methods"
    return f"{what} on {enumerated(names) if len(names) < 3 else f'{len(names)} data sets'}"


def enumerated(names: Sequence[str]) -> str:
    """
    >>> enumerated(["vanilla", "rat", "uegr"]), enumerated(["uegr"])
    ('vanilla, rat and uegr', 'uegr')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def payload(sections: Sequence[plots.Section]) -> str:
    """The drawings as JSON; no text in it can end its script element."""
    panels = {
        f"{section.key}-{place}": {"traces": panel.traces, "layout": panel.layout, "height": panel.height}
        for section in sections
        for place, panel in enumerate(section.panels)
    }
    text = json.dumps(panels, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(scripts: Sequence[str]) -> str:
    """Only these scripts may run, and nothing may be fetched."""
    hashes = " ".join(f"'sha256-{digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def static(name: str) -> str:
    """A file of this package."""
    return (files("uegr.report") / "static" / name).read_text(encoding="utf-8")


@cache
def plotly() -> str:
    """plotly.js as the Python package carries it."""
    content = pkgutil.get_data("plotly", "package_data/plotly.min.js")
    if content is None or b"</script" in content:
        raise InputError("expected plotly.min.js in the package plotly, got another file; install plotly again")
    return content.decode("utf-8").replace("\r\n", "\n")
