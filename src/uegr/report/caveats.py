"""What a reader of the verdict must know besides: what was trained or measured in another way, or not compared."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from uegr.ledger import doubts
from uegr.ledger.doubts import AT_CHANCE
from uegr.report.columns import titles
from uegr.report.groups import BASELINE, Block, Group, any_compared, grids_of, heading
from uegr.report.settings import short

MOST = 3  # differences that are told


def caveats(compared: Sequence[Group], groups: Sequence[Group]) -> str:
    """All of them as sentences, of the settings that the verdict compares and of all others."""
    return unlike(compared) + otherwise(groups) + left_alone(groups)


def unlike(groups: Sequence[Group]) -> str:
    """Which methods were trained in another way than their baseline: the difference is not the method's alone."""
    told = dict.fromkeys(
        f"{group.method}{of_block(group, groups)} has {ways(group)}" for group in groups if ways(group)
    )
    return f" Not only the method differs from {BASELINE}: {'; '.join(told)}." if told else ""


def ways(group: Group) -> str:
    """How it was trained in another way than its baseline."""
    return ", ".join(group.unlike_baseline)


def of_block(group: Group, groups: Sequence[Group]) -> str:
    """Its data set and model, where the method has several."""
    several = len({other.block for other in groups if other.method == group.method}) > 1
    return f" on {heading(group.block)}" if several else ""


def uncounted(compared: Sequence[Group], counted: Sequence[Group]) -> str:
    """Which settings are no part of the gains, because not only the method differs from the baseline."""
    rest = [group for group in compared if group not in counted and ways(group)]
    told = list(dict.fromkeys(f"{group.method} on {heading(group.block)} ({ways(group)})" for group in rest))
    more = f"; and {len(told) - MOST} more" if len(told) > MOST else ""
    return f" Not counted, for not only the method differs: {'; '.join(told[:MOST])}{more}." if told else ""


def elsewhere(own: Mapping[str, Sequence[Group]], counted: Sequence[Group], shared: Collection[Block]) -> str:
    """On what the methods are ranked, where some were also compared on others."""
    left = {group.block for some in own.values() for group in some} - {group.block for group in counted}
    if not left:
        return ""
    whole = [method for method in own if {group.block for group in counted if group.method == method} >= set(shared)]
    where = heading(next(iter(shared))) if len(shared) == 1 else f"the {len(shared)} data sets and models"
    those = f"that {len(whole)} methods share" if len(whole) > 1 else f"of {whole[0]}"
    return f" Ranked on {where} {those}; the leaderboard has {len(left)} more."


def left_alone(groups: Sequence[Group]) -> str:
    """How many settings have nothing that they could be compared with, and why."""
    bases = [group.baseline for group in groups if group.baseline is not None]
    alone = [group for group in groups if not (group.is_baseline or any_compared([group]) or group in bases)]
    counts = Counter(why_alone(group) for group in alone)
    told = (f" {count} setting{'s have' if count > 1 else ' has'} {why}." for why, count in counts.items())
    return "".join(told)


def why_alone(group: Group) -> str:
    """What it lacks to be compared."""
    if not group.vanillas:
        return f"no {BASELINE} run on the same rows to compare with"
    if group.baseline is None:
        return f"several {BASELINE} settings on the same rows, none of them trained alike"
    return f"no figure that {BASELINE} has with the same seed too, measured alike"


def choosers(groups: Sequence[Group]) -> str:
    """How many settings are not ranked, because their rows chose a method; or that all rows did."""
    found = [group for group in groups if group.chooses]
    if not found:
        return ""
    if len(found) == len(groups):
        return " These rows chose a method for other studies: they are no evidence for the choice."
    studies = dict.fromkeys(grid.title for group in found for grid in grids_of(group) if grid.chooses)
    count = sum(not group.is_baseline for group in found)
    settings = f"{count} setting{'s' * (count != 1)} of {', '.join(studies)}"
    return f" Not ranked: {settings}, whose rows chose a method; see the leaderboard."


def otherwise(groups: Sequence[Group]) -> str:
    """Which columns were measured in another way than the baseline's: other settings of an attack, sets or radii."""
    found = [
        f"{titles([key])[0].title} of {group.method} ({cell.otherwise})"
        for group in groups
        for key, cell in group.columns.items()
        if cell.otherwise
    ]
    told = list(dict.fromkeys(found))
    more = f"; and {len(told) - MOST} more" if len(told) > MOST else ""
    return f" Not compared, for it was measured in another way: {'; '.join(told[:MOST])}{more}." if told else ""


def untaught(groups: Sequence[Group]) -> str:
    """Which settings are not shown to be above chance: a high accuracy hides that where most rows have one label."""
    found = [f"{group.label} on {heading(group.block)}{of_seeds(group)}" for group in groups if reasons_of(group)]
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    return f" {AT_CHANCE.capitalize()}: {'; '.join(found[:MOST])}{more}." if found else ""


def at_chance(groups: Sequence[Group]) -> list[str]:
    """A line for each setting that is not shown to be above chance, with its figures."""
    found = [(group, reasons_of(group)) for group in groups]
    return [
        f"{group.label} on {heading(group.block)}: {reasons[0]}{of_seeds(group)}" for group, reasons in found if reasons
    ]


def reasons_of(group: Group) -> list[str]:
    """Of each of its runs that is not shown to be above chance, the reason."""
    return [reason for run in group.runs for reason in doubts.untaught(run.task)]


def of_seeds(group: Group) -> str:
    """How many of its seeds that is."""
    return f" ({len(reasons_of(group))} of {len(group.runs)} seeds)" if len(group.runs) > 1 else ""


def only_baselines(groups: Sequence[Group]) -> str:
    """Where there are vanilla runs alone, in what they differ."""
    paths = dict.fromkeys(path for group in groups for path, _ in group.options)
    if not paths or not all(group.is_baseline for group in groups):
        return ""
    names = ", ".join(map(short, paths))
    return f" All runs are {BASELINE} and differ in {names}; `uegr compare RUN RUN` compares two of them."
