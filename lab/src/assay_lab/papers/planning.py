"""The plan of a run: models, data, sizes on disk, passes, memory and hours, from settings alone; nothing is fetched."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from operator import attrgetter, methodcaller
from pathlib import Path

from safetensors import safe_open

from assay.datasets import read_rows
from assay.errors import ModelError
from assay.models import builtin_folder, builtin_name, is_gguf, read_gguf
from assay.reports import Column, Missing, Report, Row, Table
from assay_lab.columns import attributes
from assay_lab.experiments.bench import PAPER_SCALE, Bench
from assay_lab.experiments.papers import FAMILIES, paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.bugs.averages import most_texts, sets_given
from assay_lab.papers.deco.classifiers import encoders_of
from assay_lab.papers.deco.collections import sizes_at
from assay_lab.papers.hst.judge import KINDS, SMALL_JUDGE
from assay_lab.papers.hst.trial import SIZES
from assay_lab.papers.kds.trials import settings_of
from assay_lab.testbed import ALL

TOKENS = 300
"""Tokens of a text, where none is read yet."""
ACCELERATOR, CORE = 1e14, 2e10
"""Operations a second that a data-centre GPU in 16 bits and one core of a CPU reach in practice."""
BYTES_OF = {"scored": 2.4, "lora": 3.0, "full": 18.0}
"""Bytes of memory a parameter: 16 bits and activations; with adapters; weights, gradients and AdamW's sums."""
BYTES_ON_DISK = 2
LANGUAGES_OF_DECO = 4
MOST_FILTERED = int(max(map(max, paper("srdetection").tables["table-5"].values.values())))
"""Members where all that pass the filter are taken: what it left the paper, at most."""
TASKS = {"apps": 10_000, "humaneval": 164, "mbpp": 974, "bigcodebench": 1140}
"""Benchmark → its tasks."""
USUAL_TASKS = 1000
"""Tasks of any other."""
UNKNOWN = Missing("not known before it is read")


@dataclass(frozen=True, slots=True)
class Work:
    """What every model of a run does.

    Attributes:
        passes: texts that it reads, each time counted.
        trained: texts that it is trained on, each epoch counted.
        memory: key of `BYTES_OF`.
    """

    passes: float
    trained: float = 0.0
    memory: str = "scored"


def testbed_work(bench: Bench) -> Work:
    """Return the work of the runs of the testbed, for each model."""
    each = bench.configurations[0]
    judged = MOST_FILTERED if each.data.members == ALL else int(each.data.members)
    members = judged + each.data.calibration_members
    texts = members + judged + each.data.calibration_nonmembers + each.data.unseen
    checkpoints = 1 + len(each.training.checkpoints)
    return Work(
        # every checkpoint, the untrained model among them, reads each text and each of its variants
        passes=len(bench.seeds) * texts * checkpoints * (1 + each.judging.variants),
        trained=len(bench.seeds) * members * each.training.epochs * (1 + each.mix.ratio),
        memory=each.training.method,
    )


def audit_work(experiment: Reproduction, bench: Bench) -> Work:
    """Return the work of audits without training: each task and its variants are read once."""
    tasks = sum(starmap(tasks_of, experiment.data_of(bench).items()))
    return Work(passes=float(tasks * (1 + bench.configurations[0].judging.variants)))


def tasks_of(name: str, place: Path) -> int:
    """Return the tasks of a benchmark: the rows of a file of the user's, else what the benchmark has."""
    if place.is_file() and ".jsonl" in place.suffixes:
        # by the reader of the run itself, so that a plan refuses what the run would
        return sum(1 for _ in read_rows(place, lambda _: None))
    return TASKS.get(name, USUAL_TASKS)


def kds_work(bench: Bench) -> Work:
    """Return the work of the trials: each set is read before and after a fine-tuning on it."""
    sizes = settings_of(bench)
    texts = sizes.n * len(sizes.shares) * sizes.subsets * max(1, len(bench.data))

    return Work(passes=4.0 * texts, trained=float(texts), memory="lora")


def deco_work(bench: Bench) -> Work:
    """Return the work of the surrogate: a pass for each text and each of its perturbed copies."""
    sizes = sizes_at(bench)
    texts = (sizes.tasks or 500) * ((sizes.authors or 4) + 1) * (LANGUAGES_OF_DECO if bench.data else 1)
    return Work(passes=texts * (1.0 + 4 * (sizes.copies or 10)))


def bugs_work(bench: Bench) -> Work:
    """Return the work of the averages: one pass of each text."""
    return Work(passes=float((most_texts(bench) or 500) * max(1, sets_given(bench))))


def hst_work(bench: Bench) -> Work:
    """Return the work of the encoder, which reads each function of the largest space."""
    return Work(passes=float(2 * max(sizes_of(bench, "hst", SIZES).spaces)))


WORK: Mapping[str, Callable[[Bench], Work]] = {
    "srdetection": testbed_work,
    "kds": kds_work,
    "deco": deco_work,
    "bugs": bugs_work,
    "hst": hst_work,
}


def judge_work(bench: Bench) -> Work:
    """Return the most that the judge reads: unlabelled answers by window, and labelled pairs of five kinds."""
    size = sizes_of(bench, "hst", SIZES)
    return Work(passes=float(size.most * (len(size.windows) + len(KINDS))))


def tracker_work(bench: Bench) -> Work:
    """Return the work of training a SourceTracker: each step embeds fragments and functions twice."""
    size = sizes_of(bench, "hst", SIZES)
    pairs = float(size.steps * size.batch)
    return Work(passes=2 * pairs, trained=2 * pairs, memory="full")


def trained_encoders(bench: Bench) -> tuple[str, ...]:
    """Return the encoders that an experiment of DECo fine-tunes."""
    return tuple(encoders_of(bench).values())


def classifier_work(bench: Bench) -> Work:
    """Return the work of fine-tuning an encoder: each rate and batch once, then each seed."""
    sizes = sizes_at(bench)
    texts = (sizes.tasks or 500) * ((sizes.authors or 4) + 1) * LANGUAGES_OF_DECO
    runs = len(sizes.rates) * len(sizes.batches) + sizes.seeds
    return Work(passes=float(texts), trained=float(texts * sizes.epochs * runs), memory="full")


def role_of(family: str, role: str, bench: Bench, *, default: str) -> tuple[str, ...]:
    """Return the model of a role: the user's, at the scale of the paper that of the paper, else the default."""
    return bench.models[:1] or (paper(family).roles[role] if bench.scale == PAPER_SCALE else default,)


def no_work(bench: Bench) -> Work:  # noqa: ARG001  as the others
    """Return the work of a table that runs no model."""
    return Work(passes=0.0)


def no_model(bench: Bench) -> tuple[str, ...]:  # noqa: ARG001  as the others
    """Return no model."""
    return ()


def main_models(bench: Bench) -> tuple[str, ...]:
    """Return the models of the configurations of a bench, each once."""
    return tuple(dict.fromkeys(attributes(bench.configurations, "model")))


CLASSIFIED = (trained_encoders, classifier_work)
OTHERS: Mapping[str, tuple[Callable[[Bench], tuple[str, ...]], Callable[[Bench], Work]]] = {
    "bugs/table-2": (main_models, no_work),
    "hst/judge": (partial(role_of, "hst", "judge", default=SMALL_JUDGE), judge_work),
    "hst/source-tracker": (partial(role_of, "hst", "unixcoder", default="builtin:small"), tracker_work),
    **dict.fromkeys(map("deco/{}".format, ("table-3", "table-5", "table-6", "table-9")), CLASSIFIED),
    **dict.fromkeys(("deco/figure-20", "deco/figure-23"), CLASSIFIED),
    **dict.fromkeys(("kds/table-9", "bugs/table-1", "bugs/table-3"), (no_model, no_work)),
}
"""Experiment → its models and their work, where these are not the main models of its paper."""


def planned_work(experiments: Sequence[Reproduction], bench: Bench) -> dict[str, Work]:
    """Return model → its work; experiments of one paper share their passes, audits do not."""
    works: dict[str, Work] = {}
    for experiment in experiments:
        own = experiment.bench_of(bench)
        if experiment.audits and bench.scale == PAPER_SCALE:
            added = audit_work(experiment, own)
            for model in bench.models or experiment.audits:
                works[model] = Work(passes=works.get(model, Work(0.0)).passes + added.passes)
            continue
        models_of, work_of = OTHERS.get(experiment.full_name, (main_models, WORK.get(experiment.paper, testbed_work)))
        work = work_of(own)
        for model in models_of(own):
            # experiments of one paper read the stored scores of each other: the largest counts, not the sum
            works[model] = max(works.get(model, work), work, key=attrgetter("passes"))
    return works


def billions_of(family: str, model: str) -> float | None:
    """Return the parameters of a model in billions, by its weights, its record or its name; None if unknown."""
    place = Path(model)
    if name := builtin_name(model):
        try:
            place = builtin_folder(name)
        except ModelError:  # an encoder that ships with assay
            return None
    if place.exists():
        return weights_at(place) / 1e9
    for title, hub_id in paper(family).hub_models.items():
        if hub_id == model and title in paper(family).sizes:
            return paper(family).sizes[title]
    sizes = re.findall(r"(\d+(?:\.\d+)?)\s*([bm])\b", model.replace("_", "-"), re.IGNORECASE)
    if not sizes:
        return None
    # the last one: a version such as 2.5 may stand before the size
    number, unit = sizes[-1]
    return float(number) / (1 if unit in "bB" else 1e3)


def weights_at(place: Path) -> float:
    """Return the number of weights of a model on disk, by the heads of its files; else by their bytes."""
    if is_gguf(str(place)):
        return read_gguf(place).weights
    count = 0
    for path in place.glob("*.safetensors"):
        with safe_open(path, "numpy") as file:
            count += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118  no mapping
    return count or bytes_at(place) / BYTES_ON_DISK


def bytes_at(place: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    if place.is_file():
        return place.stat().st_size
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def plan_report(name: str, experiments: Sequence[Reproduction], bench: Bench) -> Report:
    """Return what a run needs, from its settings and from names alone.

    Args:
        name: of the experiment or the paper.
        experiments: that would run; all of one paper.
        bench: with the models and data of the user.
    """
    family = experiments[0].paper
    works = planned_work(experiments, bench)
    rows = [Row((model, *costs_of(family, model, work))) for model, work in works.items()]
    columns = (
        Column("model", "name"),
        Column("parameters (billions)"),
        Column("on disk (GB)"),
        Column("memory (GB)"),
        Column("passes"),
        Column("trained texts"),
        Column("hours, GPU"),
        Column("hours, this machine"),
    )
    places = planned_data(experiments, bench)
    data = [Row((label, str(place), on_disk(place))) for label, place in places.items()]
    notes = (
        (
            f"Passes: texts that a model reads, of {TOKENS} tokens each. An estimate: real texts are "
            "shorter or longer, and experiments of one paper share their passes."
        ),
        (
            f"Hours: 2 operations a parameter and token, 6 in training; GPU {ACCELERATOR:.0e} a second, this "
            f"machine {os.cpu_count()} cores of {CORE:.0e}."
        ),
        "Memory: the model in 16 bits with activations; with adapters or all weights where it is trained.",
        "Nothing was fetched. A data set of the hub is streamed up to its limit where it has one.",
    )
    data_columns = (Column("data", "name"), Column("place"), Column("on disk (GB)"))
    tables = (
        *([Table(name="models", title="Models", columns=columns, rows=tuple(rows))] if rows else []),
        *([Table(name="data", title="Data", columns=data_columns, rows=tuple(data))] if data else []),
    )
    what = f"{len(experiments)} experiments" if len(experiments) > 1 else "one experiment"
    statement = f"{name}, scale {Path(bench.scale).name}: {what}, seeds {', '.join(map(str, bench.seeds))}."
    if not rows:
        statement += " It runs no model."
    values = [dict(zip(attributes(columns, "title"), map(plain, row.cells), strict=True)) for row in rows]
    return Report(title=f"Plan of {name}", statement=statement, tables=tables, notes=notes, data={"models": values})


def planned_data(experiments: Sequence[Reproduction], bench: Bench) -> dict[str, str | Path]:
    """Return name → place of the data of a run: the user's, those of the hub, and those of the testbed."""
    places: dict[str, str | Path] = {}
    for experiment in experiments:
        own = experiment.data_of(bench)
        if not own and bench.scale == PAPER_SCALE:
            places |= dict.fromkeys(experiment.needs or experiment.paper_data, "to be named with --data")
        places |= own
    if experiments[0].paper not in FAMILIES:
        for each in chain.from_iterable(attributes(testbed_benches(experiments, bench), "configurations")):
            places[f"members of {each.name}"] = each.data.path or each.data.source
            if each.mix.ratio:
                limit = f", first {each.mix.limit:,} texts" if each.mix.limit else ""
                places[f"general text of {each.name}"] = f"{each.mix.path or each.mix.corpus}{limit}"
    return places


def testbed_benches(experiments: Sequence[Reproduction], bench: Bench) -> list[Bench]:
    """Return the benches of the experiments that train models."""
    trained = [each for each in experiments if not (each.audits and bench.scale == PAPER_SCALE)]
    return list(map(methodcaller("bench_of", bench), trained))


def on_disk(place: str | Path) -> str | Missing:
    """Return the gigabytes of data on disk; unknown for what is still to be fetched."""
    path = Path(place)
    return f"{bytes_at(path) / 1e9:.3g}" if path.exists() else UNKNOWN


def costs_of(family: str, model: str, work: Work) -> tuple[str | Missing, ...]:
    """Return the cells of a model behind its name."""
    billions = billions_of(family, model)
    counts = (f"{work.passes:,.0f}", f"{work.trained:,.0f}")
    if billions is None:
        return (UNKNOWN, UNKNOWN, UNKNOWN, *counts, UNKNOWN, UNKNOWN)
    # a pass forward takes two operations a weight and token, one backward twice as many
    operations = billions * 1e9 * TOKENS * (2 * work.passes + 6 * work.trained)
    hours = [f"{operations / speed / 3600:.3g}" for speed in (ACCELERATOR, CORE * (os.cpu_count() or 1))]
    place = Path(model)
    disk = bytes_at(place) / 1e9 if place.exists() else BYTES_ON_DISK * billions
    return (*map("{:.3g}".format, (billions, disk, BYTES_OF[work.memory] * billions)), *counts, *hours)


def plain(cell: object) -> str | None:
    """Return a cell as JSON holds it: None for what is not known."""
    return None if isinstance(cell, Missing) else str(cell)
