"""The negative control on models of known truth and benchmarks of five languages: its rule, its size, planted power.

`control/control_rule` is the error rate and the power of the rule. `packages` and `unseen` have one folder of archives
for each language: wheels, npm archives, or source archives of Debian. Models: `builtin:small`, and a smaller Llama from
scratch, both trained on general text of all languages; then trained on, with or without half of the tasks of every
benchmark. All texts are scored under each model and under the control. A case is a model and a benchmark.

Rules are compared on the first half of the benchmarks, in the order in which they are named; the other half confirms.
Texts, models and values stay in the folder `models`, which is continued; the other experiments read it.

`control/control_sizes`: does the rule depend on the size of the control? A very small Llama is trained from scratch on
the same general text, the texts are scored under each control, and the rule of `assay audit` is applied with each. The
audited models are those made from `builtin:small`: no control descends from one.

`control/planted_power`: the power that `assay audit --plant` states, beside what was detected on models of known truth.
The clean parent, `builtin:small` after general text, is audited on each benchmark with planted doses. The training
differs: LoRA on unseen texts alone here, all weights beside general text there.
"""

import itertools
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import assay
from assay.datasets import Dataset
from assay.errors import DataError
from assay.evaluation import Estimate, FlagRate, UnseenTail, conformal_p_values, flag_rate, flagged_excess
from assay.files import atomic_folder
from assay.leakage import NegativeControl
from assay.models import ModelSettings, default_control, open_local, quiet
from assay.scores import flagged
from assay.training import Ids, TrainingSettings, member_rows, tune
from assay.types import Float64Array, Sample, Verdict
from assay_lab.control.plant_tasks import tasks
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.training.rows import general_rows

SMALL, SCRATCH, LORA = "builtin:small", "from scratch", "LoRA"
DOSES = {SMALL: (0, 1, 3, 6), SCRATCH: (0, 3), LORA: (6,)}
HALF = 0.5
SHARES = {SMALL: (0.05, 0.1, 0.2)}
"""Shares of every benchmark that are planted beside the half, with the doses `SMALL_DOSES`."""
SMALL_DOSES = (1, 3)
SEEDS = range(1)
CLEAN_SEEDS = range(3)
GENERAL = {SMALL: 600_000, SCRATCH: 1_200_000}
"""Tokens of general text before anything is planted."""
BESIDE = 60_000
"""Tokens of general text in a training with plants, other ones for each seed."""
RATES = {SMALL: 1e-3, SCRATCH: 2e-3, LORA: 3e-3}
WIDTH, LAYERS = 128, 3
"""Of the model from scratch."""
ALPHA = 0.05
PER_PACKAGE = 40
"""Most functions of a package that calibrate."""
MARGINS = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.15))
PRODUCT = "beyond the control by 0.10, or no more than 0.15, and the control not below chance"
"""The rule of `assay audit`, by its name in `verdicts_of`."""
SCORE = "mid_pit"
SMALLEST = (32, 1)
"""Width and layers of the smallest control."""


def stored(path: Path, make: Any) -> Any:  # noqa: ANN401  whatever was computed
    """Return what a file holds; compute it first where there is none."""
    if not path.exists():
        path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())  # noqa: S301  our own file


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of all benchmarks.

    Attributes:
        benchmarks: name → tasks.
        unseen: name → functions of packages, in the form of the benchmark.
        general: texts to train on, of all languages in turn.
    """

    benchmarks: Mapping[str, Sequence[Sample]]
    unseen: Mapping[str, Sequence[Sample]]
    general: Sequence[str]

    @property
    def every(self) -> list[Sample]:
        """All texts that are scored."""
        return [sample for part in (self.benchmarks, self.unseen) for samples in part.values() for sample in samples]

    def planted(self, plant: "Plant") -> dict[str, list[bool]]:
        """Return name → True for the tasks that are trained on."""
        random = np.random.default_rng(plant.seed)
        return {
            name: (random.permutation(len(each)) < int(plant.share * len(each))).tolist()
            for name, each in self.benchmarks.items()
        }


@dataclass(frozen=True, slots=True)
class Plant:
    """What a model is trained on beside general text.

    Attributes:
        dose: times that each planted task is trained on; 0 for a clean model.
        share: share of the tasks of every benchmark that are planted.
        seed: which tasks, and which general text.
    """

    dose: int = 0
    share: float = HALF
    seed: int = 0


def texts_of(benchmark_list: Path, packages: Path, unseen_packages: Path) -> Texts:
    """Read benchmarks and packages."""
    benchmarks: dict[str, Sequence[Sample]] = {}
    unseen: dict[str, Sequence[Sample]] = {}
    general: defaultdict[str, list[str]] = defaultdict(list)
    for entry in benchmark_list.read_text("utf-8").split():
        language, name, path = entry.split("=", 2)
        key = name if name not in benchmarks and name != "humaneval-x" else f"{name} {language}"
        benchmarks[key] = tasks(name, benchmark_list.parent / path)
        like = Dataset.of(key, benchmarks[key], source=key)
        built = assay.build_unseen(archives(unseen_packages / language), like=like, released="2026-01-01", most=None)
        unseen[key] = of_each_package(built.samples)
        if language not in general:
            others = assay.build_unseen(archives(packages / language), released="2026-01-01", most=None).samples
            general[language] = [
                sample.text for sample in np.random.default_rng(0).permutation(np.array(others, object))
            ]
    turns = itertools.zip_longest(*general.values())
    return Texts(benchmarks, unseen, [text for turn in turns for text in turn if text is not None])


def archives(folder: Path) -> list[Path]:
    """Return the archives of a folder, without packaging files of Debian."""
    return sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".tgz"} or ".orig" in path.name)


def of_each_package(samples: Sequence[Sample]) -> list[Sample]:
    """Return some functions of each package."""
    by_package: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in np.random.default_rng(0).permutation(np.array(samples, object)):
        by_package[str(sample.group)].append(sample)
    return [sample for each in by_package.values() for sample in each[:PER_PACKAGE]]


def models(work: Path, texts: Texts) -> Iterator[tuple[str, Path]]:
    """Yield name and folder of each model; what is there already is not trained again."""
    for parent in (SMALL, SCRATCH):
        folder = work / "models" / parent.replace(":", "-")
        if not folder.exists():
            train(None, parent, folder, texts, Plant())
        yield f"{parent}, dose 0, seed general", folder
        for recipe in (SMALL, LORA) if parent == SMALL else (SCRATCH,):
            for plant in plants_of(recipe):
                few = f"-{plant.share}" if plant.share != HALF else ""
                path = work / "models" / f"{recipe}-{plant.dose}-{plant.seed}{few}".replace(":", "-")
                if not path.exists():
                    train(folder, recipe, path, texts, plant)
                share = f", share {plant.share}" if plant.share != HALF else ""
                yield f"{recipe}, dose {plant.dose}{share}, seed {plant.seed}", path


def plants_of(recipe: str) -> list[Plant]:
    """Return what the models of one recipe are trained on."""
    halves = [Plant(dose, HALF, seed) for dose in DOSES[recipe] for seed in (SEEDS if dose else CLEAN_SEEDS)]
    return halves + [Plant(dose, share) for share in SHARES.get(recipe, ()) for dose in SMALL_DOSES]


def train(
    parent: Path | None, recipe: str, out: Path, texts: Texts, plant: Plant, *, size: tuple[int, int] = (WIDTH, LAYERS)
) -> None:
    """Train a parent on general text, or its child on plants with a little of it.

    Args:
        parent: folder of the model that is trained on; None for a parent.
        recipe: how.
        out: folder of the model that is written.
        texts: general text and benchmarks.
        plant: what is planted; nothing in a parent.
        size: width and layers of a parent from scratch.
    """
    model = open_local(SMALL if parent is None else str(parent))
    network, tokenizer = model.checkpoint.model, model.checkpoint.tokenizer
    if parent is None and recipe == SCRATCH:
        config = type(network.config)(
            **network.config.to_dict()
            | {
                "hidden_size": size[0],
                "num_hidden_layers": size[1],
                "intermediate_size": 3 * size[0],
                "num_attention_heads": 2,
                "num_key_value_heads": 2,
            }
        )
        with torch.random.fork_rng():
            torch.manual_seed(0)
            network = AutoModelForCausalLM.from_config(config)
    start, count = (0, GENERAL[recipe]) if parent is None else (GENERAL[SCRATCH] + plant.seed * BESIDE, BESIDE)
    rows = general_tokens(tokenizer, texts, model.context)
    general = list(rows[start // model.context : (start + count) // model.context])
    chosen = texts.planted(plant)
    members = [
        s.text for name, each in texts.benchmarks.items() for s, is_in in zip(each, chosen[name], strict=True) if is_in
    ]
    plants: list[Ids] = member_rows(tokenizer, members, context=model.context) * plant.dose if plant.dose else []
    settings = TrainingSettings(
        method="lora" if recipe == LORA else "full",
        rate=RATES[recipe] / (1 if parent is None else 2),
        batch=8,
        epochs=1,
        checkpoints=(),
    )
    tuned = tune(network, [*plants, *([] if recipe == LORA else general)], settings, seed=plant.seed)
    if recipe == LORA:
        tuned = tuned.merge_and_unload()
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(out) as unfinished, quiet():
        tuned.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)


@cache
def _general(tokenizer: Any, texts: tuple[str, ...], context: int) -> list[Ids]:  # noqa: ANN401  of transformers
    return general_rows(tokenizer, texts, tokens=10**9, context=context)[0]


def general_tokens(tokenizer: Any, texts: Texts, context: int) -> list[Ids]:  # noqa: ANN401  of transformers
    """Return all general text as rows; there must be enough for every seed."""
    rows = _general(tokenizer, tuple(texts.general), context)
    needed = (GENERAL[SCRATCH] + len(CLEAN_SEEDS) * BESIDE) // context
    if len(rows) < needed:
        raise DataError(f"received {len(rows)} rows of general text, expected {needed}: more packages are needed")
    return rows


def score(work: Path, name: str, model: str, texts: Texts) -> None:
    """Write score → float64 [texts] of one model."""
    stored(work / f"{name}.values", lambda: columns(model, texts.every))


def columns(model: str, samples: Sequence[Sample]) -> dict[str, Float64Array]:
    """Return the standard scores of texts under a model."""
    named = [replace(sample, id=str(i)) for i, sample in enumerate(samples)]
    table = assay.score(model, named, ",".join(flagged("weights")), settings=ModelSettings(cache=False)).to_arrow()
    return {name: table[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in flagged("weights")}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One audit of known truth.

    Attributes:
        benchmark: its name.
        model: name of the audited model.
        plant: clean, or the times that the planted tasks were trained on, and their share.
        audited, control: standard score → values of the tasks and then of the unseen texts.
        count: number of tasks.
        groups: of the unseen texts.
    """

    benchmark: str
    model: str
    plant: str
    audited: Mapping[str, Float64Array]
    control: Mapping[str, Float64Array]
    count: int
    groups: Sequence[str]


def figures(work: Path, texts: Texts, control: str) -> list[dict[str, Any]]:
    """Return a row for each rule and half of the benchmarks, and one for each benchmark."""
    cases = list(cases_of(work, texts, control))
    verdicts = [verdicts_of(case) for case in cases]
    names = list(texts.benchmarks)
    halves = {"chosen on": names[: len(names) // 2], "confirmed on": names[len(names) // 2 :]}
    rows: list[dict[str, Any]] = []
    for half, of in halves.items():
        for rule in verdicts[0]:
            own = [(case, verdict[rule]) for case, verdict in zip(cases, verdicts, strict=True) if case.benchmark in of]
            rows.append({"half": half, "benchmarks": of, "rule": rule} | rates(own))
    for name in names:
        of_name = [case for case in cases if case.benchmark == name]
        rows.append(
            {
                "benchmark": name,
                "tasks": of_name[0].count,
                "unseen": len(of_name[0].groups),
                "packages": len(set(of_name[0].groups)),
                "control flags": str(flags(of_name[0], of_name[0].control).rate),
                "models flag, by plant": {
                    plant: spread([flags(case, case.audited).rate.value for case in of_name if case.plant == plant])
                    for plant in sorted({case.plant for case in of_name})
                },
            }
        )
    return rows


def spread(values: Sequence[float]) -> list[float]:
    """Return smallest, median and largest value."""
    return [float(value) for value in np.quantile(values, (0, 0.5, 1))]


def cases_of(work: Path, texts: Texts, control: str) -> Iterator[Case]:
    """Yield a case for each model and benchmark."""
    of_control = pickle.loads((work / f"control {control.replace(':', '-')}.values").read_bytes())  # noqa: S301  our own file
    total = sum(map(len, texts.benchmarks.values()))
    for path in sorted(work.glob("*dose*.values")):
        values = pickle.loads(path.read_bytes())  # noqa: S301  our own file
        at, behind = 0, total
        for name, samples in texts.benchmarks.items():
            unseen = texts.unseen[name]
            places = [*range(at, at + len(samples)), *range(behind, behind + len(unseen))]
            yield Case(
                name,
                path.stem,
                "clean" if "dose 0" in path.stem else path.stem.split(", ", 1)[1].rsplit(", seed", 1)[0],
                {score: column[places] for score, column in values.items()},
                {score: column[places] for score, column in of_control.items()},
                len(samples),
                [str(sample.group) for sample in unseen],
            )
            at += len(samples)
            behind += len(unseen)


def flags(case: Case, table: Mapping[str, Float64Array]) -> FlagRate:
    """Return what a model flags."""
    values, unseen = table[SCORE][: case.count], table[SCORE][case.count :]
    tail = UnseenTail.of(unseen, case.groups, ALPHA)
    return flag_rate(conformal_p_values(values, unseen), ALPHA, unseen=tail)


def verdicts_of(case: Case) -> dict[str, Verdict]:
    """Return rule → its verdict; the texts are taken to differ, so that the verdict rests on the control."""
    audited, control = flags(case, case.audited), flags(case, case.control)
    significant = audited.p_value <= ALPHA
    called = Verdict.CONTAMINATED if significant else Verdict.NO_EVIDENCE
    flat = NegativeControl("control", control).is_flat
    result = {"no control": called, "flat control": called if flat else Verdict.CANNOT_TELL}
    excess = excess_of(case)
    for beyond, no_more in MARGINS:
        decided = excess.has_interval and (excess.low > beyond if significant else excess.high < no_more)
        hides = not significant and control.rate.has_interval and control.rate.high < control.chance
        name = f"beyond the control by {beyond:.2f}, or no more than {no_more:.2f}"
        result[name] = called if decided else Verdict.CANNOT_TELL
        result[f"{name}, and the control not below chance"] = called if decided and not hides else Verdict.CANNOT_TELL
    return result


def excess_of(case: Case) -> Estimate:
    """Return what the audited model flags beyond the control."""
    models = [(table[SCORE][: case.count], table[SCORE][case.count :]) for table in (case.audited, case.control)]
    return flagged_excess(models[0], models[1], ([None] * case.count, case.groups), ALPHA)


def rates(own: Sequence[tuple[Case, Verdict]]) -> dict[str, Any]:
    """Return shares of verdicts for clean models, and for planted ones by dose and share."""
    result: dict[str, Any] = {}
    for plant in sorted({case.plant for case, _ in own}):
        verdicts = [verdict for case, verdict in own if case.plant == plant]
        counts = {verdict: verdicts.count(verdict) for verdict in Verdict}
        result[plant] = {
            "cases": len(verdicts),
            **{verdict.value: str(wilson(counts[verdict], len(verdicts))) for verdict in Verdict},
        }
    return result


def run(scale: None, seed: int, data: Data) -> Result:
    """Error rate and power of the rule of the negative control, on models of known truth."""
    work, control = data["models"], default_control()
    work.mkdir(parents=True, exist_ok=True)
    texts = stored(work / "texts.pkl", lambda: texts_of(data["benchmarks"], data["packages"], data["unseen"]))
    for name, model in models(work, texts):
        score(work, name, str(model), texts)
    score(work, "control " + control.replace(":", "-"), control, texts)
    return Result(figures(work, texts, control))


def run_sizes(scale: None, seed: int, data: Data) -> Result:
    """Does the rule of the negative control depend on the size of the control?"""
    work, rows = data["models"], []
    texts: Texts = pickle.loads((work / "texts.pkl").read_bytes())  # noqa: S301  our own file
    for name, model in controls(work, texts):
        score(work, "control " + name.replace(":", "-"), model, texts)
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
        train(None, SCRATCH, smallest, texts, Plant(), size=SMALLEST)
    yield f"{SMALLEST[1]} layer of {SMALLEST[0]}", str(smallest)


def parameters(model: str) -> int:
    """Return the number of weights, shared ones once."""
    return sum(weight.numel() for weight in open_local(model).checkpoint.model.parameters())


def figures_of_control(cases: Sequence[Case]) -> dict[str, Any]:
    """Return verdicts by plant, the excess of clean models, and what the control flags of each benchmark."""
    judged = [(case, verdicts_of(case)[PRODUCT]) for case in cases]
    excess = [excess_of(case).value for case in cases if case.plant == "clean"]
    by_benchmark = {case.benchmark: str(flags(case, case.control).rate) for case in cases}
    return {"excess of clean models": spread(excess), "control flags": by_benchmark} | rates(judged)


def run_power(scale: None, seed: int, data: Data) -> Result:
    """The power that `assay audit --plant` states, beside what was detected on models of known truth."""
    texts: Texts = pickle.loads((data["models"] / "texts.pkl").read_bytes())  # noqa: S301  our own file
    parent = data["models"] / "models" / "builtin-small"
    return Result([planted_power(parent, name, texts) for name in texts.benchmarks])


def planted_power(model: Path, name: str, texts: Texts) -> dict[str, Any]:
    """Return verdict, flagged share and smallest share called contaminated of each dose, for one benchmark."""
    audit = assay.audit(
        str(model),
        texts.benchmarks[name],
        unseen=[replace(sample, id=str(i)) for i, sample in enumerate(texts.unseen[name])],
        scores=SCORE,
        settings=assay.AuditSettings(control=default_control(), plant=tuple(SMALL_DOSES)),
        progress=False,
    )
    calibration = audit.summary(SCORE).calibration
    assert calibration is not None
    assert calibration.planted is not None
    planted = calibration.planted
    return {
        "benchmark": name,
        "tasks": len(audit.samples),
        "unseen": calibration.unseen,
        "clean model": str(audit.decision.verdict),
        "rate": planted.rate,
        "barred": str(planted.barred),
        "doses": {
            entry.dose: {
                "texts": entry.flagged.samples,
                "flagged": str(entry.flagged.rate),
                "gain": entry.gain,
                "detectable": entry.detectable,
            }
            for entry in planted.doses
        },
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
        name="control/control_sizes",
        run=run_sizes,
        scales={"full": None},
        needs=MODELS,
        stored="control/control_sizes",
    ),
    Experiment(
        name="control/planted_power",
        run=run_power,
        scales={"full": None},
        needs=MODELS,
        stored="control/planted_power",
    ),
)
