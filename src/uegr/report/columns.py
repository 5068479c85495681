"""The leaderboard's columns: a run's figures in a handful of numbers that runs on other data have too."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from uegr.ledger.doubts import REPLAYED
from uegr.report.figures import Entries, Entry, Quantity
from uegr.report.reading import TaskRun
from uegr.result import Attack
from uegr.statistics import Figure, mean_of_same_rows, mean_of_separate_sets


@dataclass(frozen=True)
class Column:
    """What a column is called and what its numbers are."""

    key: str
    title: str
    meaning: str


COLUMNS = (
    Column("own", "Clean", "the task's metric on the run's own held-out rows"),
    Column("robust", "Robust", "mean of the accuracies under a calibrated word attack and under relative PGD"),
    Column("shift", "Shift", "mean accuracy over sets of other domains"),
    Column("adversarial", "Adversarial sets", "mean accuracy over adversarial sets"),
    Column("fgm", "FGM", "accuracy one gradient step away on the embedded input, mean over the sizes of the step"),
    Column("noise", "Noise", "accuracy after a step in a random direction on the embedded input, mean over its sizes"),
    Column("pgd", "PGD", "accuracy under PGD on the embedded input, mean over its radii"),
    Column("pgd_relative", "Relative PGD", "accuracy under PGD within a radius relative to the model's word vectors"),
    Column("ece", "ECE", "expected calibration error on the own rows; less is better"),
    Column("ece_calibrated", "ECE after", "the same after the temperature that fits the validation rows"),
    Column("anomaly", "Anomaly", "mean AUROC against texts from elsewhere"),
)
RELATIVE = "perturbation/relative pgd "  # how the keys of accuracies under relative PGD start
PREFERRED = ("pwws", "textfooler", "genetic", "deepwordbug")  # the attack on words that the robust score takes
USUAL = {"surface": "default", "budget": None, "calibrated": True}  # settings of an attack that go without saying
LAST = Column("improvement", "Gap closed", "share of the gap to perfect that is closed, mean over perspectives (RoAST)")


def columns_of(run: TaskRun, metric: str | None = None) -> Entries:
    """The columns that a run has figures for; word attacks have a column each. `metric` is that of the own rows."""
    sets, rows, all_of = mean_of_separate_sets, mean_of_same_rows, run.figures
    found = [
        own(all_of, metric),
        average("shift", "shift, mean over sets", starting(all_of, "shift/", "accuracy"), sets),
        average("adversarial", "adversarial sets, mean", starting(all_of, "adversarial/", "accuracy"), sets),
        average("fgm", "accuracy under FGM, mean over radii", starting(all_of, "perturbation/fgm ", "accuracy"), rows),
        average("noise", "accuracy under noise, mean", starting(all_of, "perturbation/noise ", "accuracy"), rows),
        average("pgd", "accuracy under PGD, mean over radii", starting(all_of, "perturbation/pgd ", "accuracy"), rows),
        average("pgd_relative", "accuracy under relative PGD", starting(all_of, RELATIVE, "accuracy"), rows),
        average("robust", "accuracy under a word attack and relative PGD, mean", robust(run), rows),
        average("ece", "calibration error (ECE)", starting(all_of, "calibration/", "ece"), rows),
        average("ece_calibrated", "ECE after a temperature", starting(all_of, "calibration/", "ece_calibrated"), rows),
        average("anomaly", "AUROC, mean over outlier sets", starting(all_of, "anomaly/", "auroc"), sets),
        *attacks(run),
    ]
    return {entry.quantity.key: entry for entry in found if entry is not None}


def robust(run: TaskRun) -> list[Entry]:
    """What the robust score is the mean of: a calibrated word attack on own rows and relative PGD; both or none."""
    pgd = average("pgd_relative", "", starting(run.figures, RELATIVE, "accuracy"), mean_of_same_rows)
    own = {key: one for key, one in largest(run.task.attacks).items() if one.temperature and one.data == run.name}
    found = {called(one): attacked(run, key, one) for key, one in own.items()}
    words = next((found[name] for name in (*PREFERRED, *sorted(found)) if found.get(name)), None)
    return [words, pgd] if words and pgd else []


def own(figures: Entries, chosen: str | None = None) -> Entry | None:
    """The metric that was chosen, else the accuracy, else the first metric, on the own held-out rows."""
    some = starting(figures, "clean/")
    named = (entry for metric in (chosen, "accuracy") for entry in some if entry.quantity.metric == metric)
    best = next(named, None) or next(iter(some), None)
    return best and average("own", best.quantity.label, [best], mean_of_same_rows)


def starting(figures: Entries, start: str, metric: str | None = None) -> list[Entry]:
    """The figures whose key starts so."""
    some = (entry for key, entry in figures.items() if key.startswith(start))
    return [entry for entry in some if metric in (None, entry.quantity.metric)]


def average(key: str, label: str, entries: Sequence[Entry], mean: Callable[[Sequence[Figure]], Figure]) -> Entry | None:
    """The mean of some figures of one metric under a new name, with what it is made of; None of nothing."""
    if not entries:
        return None
    figure = entries[0].figure if len(entries) == 1 else mean([entry.figure for entry in entries])
    known = all(len(entry.right) == 1 for entry in entries)
    right = tuple(digits for entry in entries for digits in entry.right) if known else ()
    made_of = sorted(part for entry in entries for part in entry.quantity.of or (entry.quantity.place,) if part)
    return Entry(Quantity(key, label, entries[0].quantity.metric, tuple(made_of)), figure, right)


def attacks(run: TaskRun) -> list[Entry | None]:
    """The accuracy under each word attack with the same settings; over several sets, their mean."""
    found: dict[str, list[Entry]] = {}
    for key, attack in largest(run.task.attacks).items():
        if entry := attacked(run, key, attack):
            found.setdefault(called(attack), []).append(entry)
    return [
        average(f"attack {name}", f"accuracy under {name}", some, mean_of_separate_sets) for name, some in found.items()
    ]


def attacked(run: TaskRun, key: str, attack: Attack) -> Entry | None:
    """The accuracy under an attack, whatever the number of examples."""
    entry = run.figures.get(f"attack/{key}/accuracy_after")
    part = f"{called(attack)} on {attack.data}, {attack.settings.get('side', '')} text"
    return entry and replace(entry, quantity=replace(entry.quantity, of=(part,)))


def called(attack: Attack) -> str:
    """The attack with the settings that are not the usual ones: with them it is another attack."""
    given = {name: value for name, value in attack.settings.items() if name not in ("side", "replayed_from")}
    if attack.attack.endswith(REPLAYED):
        given.pop("calibrated", None)  # it searches nothing
    told = [f"{name} {value}" for name, value in given.items() if name not in USUAL or value != USUAL[name]]
    return ", ".join([attack.attack, *told]).replace("calibrated False", "not calibrated")


def largest(attacks: dict[str, Attack]) -> dict[str, Attack]:
    """Of the same attack with the same settings on the same data, the one with the most examples."""
    found: dict[tuple[str, str], str] = {}
    for key, attack in attacks.items():
        before = found.setdefault((called(attack), attack.data), key)
        if attack.examples > attacks[before].examples:
            found[called(attack), attack.data] = key
    return {key: attacks[key] for key in found.values()}


def titles(keys: Iterable[str]) -> list[Column]:
    """The columns among these keys in the order of reading: the fixed ones, then attacks by name."""
    present = set(keys)
    fixed = [column for column in COLUMNS if column.key in present]
    words = sorted(key for key in present if key.startswith("attack "))
    named = [(key, key.removeprefix("attack ")) for key in words]
    attacked = [Column(key, name, f"accuracy under the word attack {name}") for key, name in named]
    return fixed + attacked + [LAST] * (LAST.key in present)
