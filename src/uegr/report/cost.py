"""What training cost: passes over a batch, which are counted, then processor time and wall time, which are measured.

The wall time depends on the machine and on what else ran there. Passes do not, so they come first: the passes of the
whole training, forward and backward together, divided by those of the baseline. In a table of one data set and model
they have one unit: those of the cheapest baseline there.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from uegr.report.groups import Group
from uegr.report.reading import TaskRun


@dataclass(frozen=True)
class Cost:
    """Means over the seeds of one setting."""

    forward: float  # passes over a batch per step
    backward: float
    passes: float | None  # of the whole training, its own baseline = 1
    in_block: float | None  # the cheapest baseline of the data set and model = 1
    processor: float  # seconds, all threads together
    processor_ratio: float | None  # on the same machine with the same seed, baseline = 1
    seconds: float  # by the wall
    threads: int  # the most that a run had
    workers: int = 1  # the most cells of a grid that ran at the same time

    @property
    def per_step(self) -> str:
        """Forward and backward passes.

        >>> Cost(4, 5 / 3, 3.5, 3.5, 10.0, 3.4, 6.0, 2).per_step
        '4 + 1.67'
        """
        return f"{round(self.forward, 2):g} + {round(self.backward, 2):g}"

    @property
    def in_block_text(self) -> str:
        """Beside others of the same data set and model."""
        return "–" if self.in_block is None else f"{self.in_block:.1f} ×"

    @property
    def beside(self) -> str:
        """What the wall time was shared with.

        >>> Cost(4, 3, 3.5, 3.5, 10.0, 3.4, 6.0, 1, 2).beside
        '1 thread, 2 workers'
        """
        counts = {"thread": self.threads} | ({"worker": self.workers} if self.workers > 1 else {})
        return ", ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items())


def cost_of(group: Group) -> Cost:
    """The cost of a setting."""
    trainings = [run.run.result.training for run in group.runs]
    return Cost(
        forward=fmean(one.passes[0] for one in trainings),
        backward=fmean(one.passes[1] for one in trainings),
        passes=passes_ratio(group),
        in_block=mean_passes(group) / unit if (unit := min(map(mean_passes, group.units), default=0.0)) else None,
        processor=fmean(one.processor_seconds for one in trainings),
        processor_ratio=processor_ratio(group),
        seconds=fmean(one.seconds for one in trainings),
        threads=max(run.run.result.machine.threads for run in group.runs),
        workers=max(run.run.result.cell.workers if run.run.result.cell else 1 for run in group.runs),
    )


def passes_ratio(group: Group) -> float | None:
    """All passes of the training, those of vanilla = 1: of the baseline, or of all on these rows where they agree."""
    if group.is_baseline and group.baseline is None:
        return 1.0
    bases = {mean_passes(base) for base in ([group.baseline] if group.baseline else group.vanillas)}
    return mean_passes(group) / base if len(bases) == 1 and (base := bases.pop()) else None


def mean_passes(group: Group) -> float:
    """The mean over seeds."""
    return fmean(all_passes(run) for run in group.runs)


def all_passes(run: TaskRun) -> float:
    """Forward and backward passes over an example in the whole training: a pass over half a batch is half a pass."""
    training, asked = run.run.result.training, run.config.training
    examples = training.steps * asked.get("batch_size", 1) * asked.get("accumulation", 1)
    return float(examples * sum(training.passes))


def processor_ratio(group: Group) -> float | None:
    """The mean over seeds of the processor time, the baseline's on the same machine = 1; resumed runs are left out."""
    if group.baseline is None:
        return 1.0 if group.is_baseline else None
    base, own = (
        {
            place(run): run.run.result.training.processor_seconds
            for run in one.runs
            if not run.run.result.training.resumed
        }
        for one in (group.baseline, group)
    )
    found = [seconds / base[key] for key, seconds in own.items() if base.get(key)]
    return fmean(found) if found else None


def place(run: TaskRun) -> tuple[Any, ...]:
    """The seed and the machine: times are comparable only where both are the same."""
    result = run.run.result
    return run.seed, *result.machine.model_dump(exclude={"python"}).values(), result.versions.get("torch")
