"""The negative control on models of known truth and benchmarks of five languages: its rule, its size, planted power.

`control/control_rule` is the error rate and the power of the rule. `packages` and `unseen` have one folder of archives
for each language: wheels, npm archives, or source archives of Debian. The models are those of `known_models`, with or
without half of the tasks of every benchmark. All texts are scored under each model and under the control. A case is a
model and a benchmark.

Rules are compared on the first half of the benchmarks, in the order in which they are named; the other half confirms.
Texts, models and values stay in the folder `models`, which is continued; the other experiments read it.

`control/control_sizes`: does the rule depend on the size of the control? A very small Llama is trained from scratch on
the same general text, the texts are scored under each control, and the rule of `assay audit` is applied with each. The
audited models are those made from `builtin:small`: no control descends from one.

`control/planted_power`: the power that `assay audit --plant` states, beside what was detected on models of known truth.
The clean parent, `builtin:small` after general text, is audited on each benchmark with planted doses. The training
differs: LoRA on unseen texts alone here, all weights beside general text there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.evaluation import Estimate, FlagRate, UnseenTail, conformal_p_values, flag_rate, flagged_excess
from assay.leakage import NegativeControl
from assay.models import default_control, open_local
from assay.types import Float64Array, Verdict
from assay_lab.bugs.scored import numbered
from assay_lab.columns import attributes, group_column, having
from assay_lab.control.known_models import (
    LAYERS,
    SCRATCH,
    SMALL_DOSES,
    WIDTH,
    Texts,
    models,
    score,
    stored,
    texts_of,
    train_parent,
    unpickled,
    values_of,
)
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import map_values

ALPHA = 0.05
MARGINS = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.15))
PRODUCT = "beyond the control by 0.10, or no more than 0.15, and the control not below chance"
"""The rule of `assay audit`, by its name in `verdicts_of`."""
SCORE = "mid_pit"
SMALLEST = (32, 1)
"""Width and layers of the smallest control."""


# Cases


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One audit of known truth.

    Attributes:
        benchmark: its name.
        model: name of the audited model.
        plant: clean, or the times that the planted tasks were trained on, and their share.
        audited, control: float64 [tasks and unseen texts], `SCORE` under the audited model and under the control.
        count: number of tasks.
        groups: of the unseen texts.
    """

    benchmark: str
    model: str
    plant: str
    audited: Float64Array
    control: Float64Array
    count: int
    groups: Sequence[str]

    def sides(self, values: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the values of the tasks and those of the unseen texts."""
        return values[: self.count], values[self.count :]


def control_name(control: str) -> str:
    """Return the name under which the values of a control are stored."""
    return f"control {control.replace(':', '-')}"


def cases_of(work: Path, texts: Texts, control: str) -> Iterator[Case]:
    """Yield a case for each model and benchmark."""
    of_control = unpickled(values_of(work, control_name(control)))[SCORE]
    places = places_of(texts)
    # the names of all audited models have their dose, those of controls have none
    for path in sorted(work.glob("*dose*.values")):
        of_model = unpickled(path)[SCORE]
        for name, rows in places.items():
            yield Case(
                benchmark=name,
                model=path.stem,
                plant=plant_of(path.stem),
                audited=of_model[rows],
                control=of_control[rows],
                count=len(texts.benchmarks[name]),
                groups=list(map(str, group_column(texts.unseen[name]))),
            )


def places_of(texts: Texts) -> dict[str, list[int]]:
    """Return benchmark → positions of its tasks, then of its unseen texts, among all texts."""
    places = {}
    task, unseen = 0, sum(map(len, texts.benchmarks.values()))
    for name, samples in texts.benchmarks.items():
        behind_task, behind_unseen = task + len(samples), unseen + len(texts.unseen[name])
        places[name] = [*range(task, behind_task), *range(unseen, behind_unseen)]
        task, unseen = behind_task, behind_unseen
    return places


def plant_of(model: str) -> str:
    """Return what was planted in a model, from its name: "clean", or dose and share."""
    if "dose 0" in model:
        return "clean"
    return model.split(", ", 1)[1].rsplit(", seed", 1)[0]


# Rules


def flags(case: Case, values: Float64Array) -> FlagRate:
    """Return what a model flags."""
    of_tasks, of_unseen = case.sides(values)
    tail = UnseenTail.of(of_unseen, case.groups, ALPHA)
    return flag_rate(conformal_p_values(of_tasks, of_unseen), ALPHA, unseen=tail)


def excess_of(case: Case) -> Estimate:
    """Return what the audited model flags beyond the control."""
    groups = [None] * case.count, case.groups
    return flagged_excess(case.sides(case.audited), case.sides(case.control), groups, alpha=ALPHA)


def verdicts_of(case: Case) -> dict[str, Verdict]:
    """Return rule → its verdict; the texts are taken to differ, so that the verdict rests on the control."""
    audited, control = flags(case, case.audited), flags(case, case.control)
    significant = audited.p_value <= ALPHA
    called = Verdict.CONTAMINATED if significant else Verdict.NO_EVIDENCE
    excess = excess_of(case)
    # a control that flags fewer than chance may hide a leak, but cannot make one
    hides = not significant and control.rate.has_interval and control.rate.high < control.chance
    holds = {"no control": True, "flat control": NegativeControl("control", control).is_flat}
    for beyond, no_more in MARGINS:
        # an accusation needs an excess that is certainly large, an acquittal one that is certainly small
        is_clear = excess.low > beyond if significant else excess.high < no_more
        name = f"beyond the control by {beyond:.2f}, or no more than {no_more:.2f}"
        holds[name] = excess.has_interval and is_clear
        holds[f"{name}, and the control not below chance"] = holds[name] and not hides
    return {rule: called if is_decided else Verdict.CANNOT_TELL for rule, is_decided in holds.items()}


# Figures


def figures(work: Path, texts: Texts, control: str) -> list[dict[str, Any]]:
    """Return a row for each rule and half of the benchmarks, and one for each benchmark."""
    by_benchmark: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases_of(work, texts, control):
        by_benchmark[case.benchmark].append(case)
    names = list(texts.benchmarks)
    chosen_on, confirmed_on = names[: len(names) // 2], names[len(names) // 2 :]
    rows = [*half_rows("chosen on", chosen_on, by_benchmark), *half_rows("confirmed on", confirmed_on, by_benchmark)]
    return rows + [benchmark_row(name, by_benchmark[name]) for name in names]


def half_rows(half: str, names: Sequence[str], cases: Mapping[str, Sequence[Case]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each rule: its verdicts on some of the benchmarks."""
    verdicts: defaultdict[str, list[tuple[str, Verdict]]] = defaultdict(list)
    for name in names:
        for case in cases[name]:
            for rule, verdict in verdicts_of(case).items():
                verdicts[rule].append((case.plant, verdict))
    for rule, by_plant in verdicts.items():
        yield {"half": half, "benchmarks": names, "rule": rule} | rates(by_plant)


def benchmark_row(name: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the sizes of a benchmark, and what the control and the models flag of it."""
    first = cases[0]
    by_plant: defaultdict[str, list[float]] = defaultdict(list)
    for case in cases:
        by_plant[case.plant].append(flags(case, case.audited).rate.value)
    return {
        "benchmark": name,
        "tasks": first.count,
        "unseen": len(first.groups),
        "packages": len(set(first.groups)),
        "control flags": str(flags(first, first.control).rate),
        "models flag, by plant": map_values(spread, dict(sorted(by_plant.items()))),
    }


def spread(values: Sequence[float]) -> list[float]:
    """Return smallest, median and largest value."""
    smallest, median, largest = np.quantile(values, (0, 0.5, 1)).tolist()
    return [smallest, median, largest]


def rates(verdicts: Iterable[tuple[str, Verdict]]) -> dict[str, Any]:
    """Return plant → shares of verdicts, from plant and verdict of each case."""
    counts: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
    for plant, verdict in verdicts:
        counts[plant][verdict] += 1
    return map_values(shares_of, dict(sorted(counts.items())))


def shares_of(counts: Counter[Verdict]) -> dict[str, Any]:
    """Return the number of cases, and verdict → its share."""
    total = counts.total()
    return {"cases": total, **{verdict.value: str(wilson(counts[verdict], total)) for verdict in Verdict}}


def figures_of_control(cases: Sequence[Case]) -> dict[str, Any]:
    """Return verdicts by plant, the excess of clean models, and what the control flags of each benchmark."""
    excess = attributes(map(excess_of, having(cases, plant="clean")), "value")
    by_benchmark = {case.benchmark: str(flags(case, case.control).rate) for case in cases}
    verdicts = rates((case.plant, verdicts_of(case)[PRODUCT]) for case in cases)
    return {"excess of clean models": spread(excess), "control flags": by_benchmark} | verdicts


# Experiments


def run(scale: None, seed: int, data: Data) -> Result:
    """Error rate and power of the rule of the negative control, on models of known truth."""
    work, control = data["models"], default_control()
    work.mkdir(parents=True, exist_ok=True)
    texts = stored(work / "texts.pkl", lambda: texts_of(data["benchmarks"], data["packages"], data["unseen"]))
    for name, model in models(work, texts):
        score(work, name, str(model), texts=texts)
    score(work, control_name(control), control, texts=texts)
    return Result(figures(work, texts, control))


def run_sizes(scale: None, seed: int, data: Data) -> Result:
    """Does the rule of the negative control depend on the size of the control?"""
    work, rows = data["models"], []
    texts: Texts = unpickled(work / "texts.pkl")
    for name, model in controls(work, texts):
        score(work, control_name(name), model, texts=texts)
        cases = [case for case in cases_of(work, texts, name) if SCRATCH not in case.model]
        rows.append({"control": name, "parameters": parameters(model)} | figures_of_control(cases))
    return Result(rows)


def controls(work: Path, texts: Texts) -> Iterator[tuple[str, str]]:
    """Yield name and model of each control; one that is not there is trained on general text."""
    for name in ("builtin:control", "builtin:small"):
        yield name, name
    yield f"{LAYERS} layers of {WIDTH}", str(work / "models" / SCRATCH)
    smallest = work / "models" / "smallest"
    if not smallest.exists():
        train_parent(SCRATCH, smallest, texts, size=SMALLEST)
    yield f"{SMALLEST[1]} layer of {SMALLEST[0]}", str(smallest)


def parameters(model: str) -> int:
    """Return the number of weights, shared ones once."""
    return sum(map(methodcaller("numel"), open_local(model).checkpoint.model.parameters()))


def run_power(scale: None, seed: int, data: Data) -> Result:
    """The power that `assay audit --plant` states, beside what was detected on models of known truth."""
    texts: Texts = unpickled(data["models"] / "texts.pkl")
    parent = data["models"] / "models" / "builtin-small"
    return Result([planted_power(parent, name, texts) for name in texts.benchmarks])


def planted_power(model: Path, name: str, texts: Texts) -> dict[str, Any]:
    """Return verdict, flagged share and smallest share called contaminated of each dose, for one benchmark."""
    audit = assay.audit(
        str(model),
        texts.benchmarks[name],
        unseen=numbered(texts.unseen[name]),
        scores=SCORE,
        settings=assay.AuditSettings(control=default_control(), plant=tuple(SMALL_DOSES)),
        progress=False,
    )
    calibration = audit.summary(SCORE).calibration
    assert calibration is not None
    assert calibration.planted is not None
    planted = calibration.planted
    doses = {}
    for entry in planted.doses:
        doses[entry.dose] = {
            "texts": entry.flagged.samples,
            "flagged": str(entry.flagged.rate),
            "gain": entry.gain,
            "detectable": entry.detectable,
        }
    return {
        "benchmark": name,
        "tasks": len(audit.samples),
        "unseen": calibration.unseen,
        "clean model": str(audit.decision.verdict),
        "rate": planted.rate,
        "barred": str(planted.barred),
        "doses": doses,
    }


MODELS = {"models": "a folder for texts, models and values, which control/control_rule fills and continues"}
EXPERIMENTS = (
    Experiment(
        name="control/control_rule",
        run=run,
        scales={"full": None},
        columns=("half", "rule", "clean"),
        needs={
            **MODELS,
            "benchmarks": "a text file of LANGUAGE=NAME=PATH, as java=humaneval-x=java; paths from its folder",
            "packages": "a folder of archives for each language, to train on",
            "unseen": "the same, other packages, to calibrate",
        },
        stored="control/control_rule",
    ),
    Experiment(
        name="control/control_sizes", run=run_sizes, scales={"full": None}, needs=MODELS, stored="control/control_sizes"
    ),
    Experiment(
        name="control/planted_power", run=run_power, scales={"full": None}, needs=MODELS, stored="control/planted_power"
    ),
)
