"""Compare two evaluations of a model: on the public copies, and on their secret twins.

Given the pair, which of the two copies is public was a fair coin. So the signs of the differences are flipped task by
task: for outcomes of 0 and 1 that is the exact binomial test over the discordant tasks. A leaderboard score has no
tasks, another harness and another day: it is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import beta
from scipy.stats import t as student

from assay.annotation import LogColumns, RunFacts, read_task_results, run_facts
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.release.secret_file import read_secret
from assay.release.statistic import pooled_outcome
from assay.reports import TabularResult, number_of

DAYS_APART = 7
"""Days between two evaluations from which on a served model may be another one."""
FEWEST = 2


@dataclass(frozen=True, slots=True, repr=False)
class TwinComparison(TabularResult):
    """Results on public copies beside those on twins.

    Attributes:
        tasks: that both results have.
        public: mean outcome on the public copies.
        twin: mean outcome on the twins.
        public_only: tasks that were better on the public copy.
        twin_only: tasks that were better on the twin.
        difference: public - twin, a share, with its interval.
        p_value: one-sided: better on the public copies.
        checked: facts that agree in both logs.
        unchecked: facts that a log does not state.
    """

    tasks: int
    public: float
    twin: float
    public_only: int
    twin_only: int
    difference: Estimate
    p_value: float
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]


def compare_results(public: str | Path, twin: str | Path, secret: str | Path | None = None) -> TwinComparison:
    """Compare results on the public file with results on the twins.

    Args:
        public: log of an evaluation: lm-eval samples, inspect, or EvalPlus results.
        twin: log of the same evaluation on the twins.
        secret: of the release, for the clusters; without it every task counts as one of its own.

    Raises:
        DataError: a log has no outcomes of single tasks, the tasks differ, or the runs are not alike.
    """
    public, twin = Path(public), Path(twin)
    ours, theirs = _outcomes(public), _outcomes(twin)
    if ours.keys() != theirs.keys():
        apart = sorted(ours.keys() ^ theirs.keys())
        raise DataError(
            f"{public} and {twin} differ in {number_of(len(apart), 'task')} (the first: {apart[0]}); expected the same"
        )
    checked, unchecked = _checked(public, twin=twin, ours=run_facts(public), theirs=run_facts(twin))
    lots = _lots(list(ours), None if secret is None else Path(secret), public)
    their_values = list(map(theirs.__getitem__, ours))
    differences = np.array(list(ours.values())) - their_values
    groups: dict[str, list[float]] = {}
    for lot, difference in zip(lots, differences.tolist(), strict=True):
        groups.setdefault(lot, []).append(difference)
    if len(groups) < FEWEST:
        raise DataError(f"all {len(ours)} tasks share one lot, expected at least {FEWEST} lots")
    by_lot = list(map(np.array, groups.values()))
    return TwinComparison(
        tasks=len(ours),
        public=float(np.mean(list(ours.values()))),
        twin=float(np.mean(their_values)),
        public_only=int((differences > 0).sum()),
        twin_only=int((differences < 0).sum()),
        difference=_interval(by_lot, len(ours)),
        p_value=pooled_outcome(by_lot),
        checked=checked,
        unchecked=unchecked,
    )


def _lots(ids: Sequence[str], secret: Path | None, public: Path) -> list[str]:
    """Return the lot of each task: its cluster in the secret; the task itself where there is none.

    Raises:
        DataError: the secret has none of the tasks.
    """
    if secret is None:
        return list(ids)
    clusters = {task.id: task.cluster for task in read_secret(secret).committed.tasks}
    # MBPP's harness names its tasks by number alone
    lots = [clusters.get(name) or clusters.get(f"MBPP/{name}") for name in ids]
    if clusters and not any(lots):
        raise DataError(f"{secret} has none of the tasks of {public}; expected the secret of their release")
    return [lot or name for lot, name in zip(lots, ids, strict=True)]


def _outcomes(path: Path) -> dict[str, float]:
    """Return the outcome of each task.

    Raises:
        DataError: the file has none.
    """
    try:
        results = read_task_results([path], LogColumns(), lambda _: None)
    except DataError as error:
        reason = str(error).removesuffix(", named with --metric")  # an option of another command
        raise DataError(
            f"{reason}; a leaderboard score cannot be compared: expected the log of an evaluation with single tasks"
        ) from error
    outcomes = {result.id: result.correct for result in results if result.correct is not None}
    if len(outcomes) < FEWEST:
        raise DataError(f"{path}: outcomes of {number_of(len(outcomes), 'task')}, expected the log of an evaluation")
    return outcomes


def _interval(sums: Sequence[np.ndarray], tasks: int) -> Estimate:
    """Return the mean difference with its 95 % interval.

    Of single tasks it is exact, given the discordant ones (Clopper and Pearson), so that it agrees with the test; of
    clusters or means of several answers it is Student's t over clusters.
    """
    totals = np.array(list(map(np.sum, sums)))
    n, value = len(sums), float(totals.sum() / tasks)
    if n == tasks and set(totals) <= {-1.0, 0.0, 1.0}:
        better, discordant = int((totals > 0).sum()), int(np.abs(totals).sum())
        if not discordant:
            # no discordant task: the largest share of them that shows none with chance 2.5 %
            reach = 1 - 0.025 ** (1 / tasks)
            return Estimate(value, -reach, reach)
        low = float(beta.ppf(0.025, better, discordant - better + 1)) if better else 0.0
        high = float(beta.ppf(0.975, better + 1, discordant - better)) if better < discordant else 1.0
        # a share p of the discordant tasks is a difference of (2 p - 1) discordant / tasks
        return Estimate(value, (2 * low - 1) * discordant / tasks, (2 * high - 1) * discordant / tasks)
    # the mean is a ratio over clusters of unlike sizes: its error is that of sums of residuals
    errors = np.array([(group - value).sum() for group in sums])
    spread = float(np.sqrt(n / (n - 1) * (errors**2).sum())) / tasks
    reach = float(student.ppf(0.975, n - 1)) * spread
    return Estimate(value, max(-1.0, value - reach), min(1.0, value + reach))


def _checked(public: Path, twin: Path, ours: RunFacts, theirs: RunFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which facts agree, and which are not stated.

    Raises:
        DataError: one differs.
    """
    if ours.harness != theirs.harness:
        raise DataError(f"{public} is of {ours.harness} and {twin} of {theirs.harness}; expected the same harness")
    checked, unchecked = [f"harness {ours.harness}"], []
    for name in sorted(ours.settings.keys() & theirs.settings.keys()):
        if ours.settings[name] != theirs.settings[name]:
            raise DataError(
                f"the runs differ in {name}: {str(ours.settings[name])[:80]} and {str(theirs.settings[name])[:80]}; "
                "expected the same settings"
            )
    if ours.settings and theirs.settings:
        checked.append("settings")
    else:
        unchecked.append("settings")
    if ours.day and theirs.day:
        # a log may state no time zone; some hours do not matter here
        apart = abs((ours.day.replace(tzinfo=None) - theirs.day.replace(tzinfo=None)).days)
        if apart > DAYS_APART:
            raise DataError(f"the runs are {apart} days apart, expected at most {DAYS_APART}: a model may have changed")
        checked.append("date")
    else:
        unchecked.append("date")
    return tuple(checked), tuple(unchecked)
