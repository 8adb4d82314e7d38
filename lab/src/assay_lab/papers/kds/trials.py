"""Trials of the kernel divergence paper: sets of a known share of members, each measured once with every method."""

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product, starmap
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from assay.datasets import benchmark, is_benchmark
from assay.errors import DataError
from assay.evaluation import KernelSettings, kernel_divergence, unit
from assay.files import write_json
from assay.leakage import MeasuredModel, TuningOptions
from assay.models import combined, open_local
from assay.scores import DatasetInputs, FineTuning, dataset_requests
from assay.types import MEMBER, NONMEMBER, Float32Array, Sample
from assay_lab.columns import attributes, having, text_column, without
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.named_data import named_dataset
from assay_lab.experiments.papers import paper
from assay_lab.experiments.scales import Count, Several, Share, sizes_of
from assay_lab.reliability.planted_pools import CONVERGED, PlantedPool, pools

RATE = "rate"
UNIT_DOT = "kds of unit embeddings:kernel=dot"
"""The paper's kernel of its ablation; the score `kds:kernel=dot` has the embeddings as they are."""
ONE_TUNING = tuple(dict.fromkeys(m for m in paper("kds").methods.values() if "batch" not in m and "epochs" not in m))
"""Methods of all tables that need the one fine-tuning of the paper, or none."""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Size of the trials of a scale.

    Attributes:
        n: texts of a set.
        shares: true λ of the sets.
        subsets: independent sets for each λ.
        n_of: data set → texts of a set of it, where that differs.
    """

    n: Several
    shares: Annotated[tuple[Share, ...], Field(min_length=1)]
    subsets: Count
    n_of: Mapping[str, Several] = field(default_factory=dict)


SCALES: Mapping[str, TrialSettings] = {
    "smoke": TrialSettings(12, (0.0, 0.5, 1.0), 1),
    "full": TrialSettings(40, (0.0, 0.25, 0.5, 0.75, 1.0), 5),
    "paper": TrialSettings(
        n=700,
        shares=tuple(round(0.05 * step, 2) for step in range(21)),
        subsets=5,
        n_of={"bookmia": 4000, "arxivtection": 500},
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class TrialSource:
    """A model, and texts that it was trained on or not.

    Attributes:
        name: of the source, a column of the tables.
        model: name or folder.
        members: trained on.
        others: of the same kind, not trained on.
        reference: of the same kind, in no set: the learning rate of the model is found on them; may be empty.
        data: name of the data set; empty for planted texts.
    """

    name: str
    model: str
    members: tuple[Sample, ...]
    others: tuple[Sample, ...]
    reference: tuple[Sample, ...] = ()
    data: str = ""

    def texts_of_a_set(self, settings: TrialSettings) -> int:
        """Return how many texts a set of this source has."""
        return settings.n_of.get(self.data, settings.n)


@dataclass(frozen=True, slots=True)
class Trial:
    """The values of every method on one set.

    Attributes:
        source: name of the source.
        share: true λ.
        subset: number of the set.
        values: method → value; NaN where there is none.
        seconds: method → seconds.
    """

    source: str
    share: float
    subset: int
    values: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


def names_of(measured: Iterable[Trial]) -> list[str]:
    """Return the names of the sources of trials, each once."""
    return list(dict.fromkeys(attributes(measured, "source")))


def file_name(source: str) -> str:
    """Return the name of a source as a part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", source)


def settings_of(bench: Bench) -> TrialSettings:
    """Return the size of the trials; as `sizes_of`."""
    return sizes_of(bench, "kds", SCALES)


def sources(bench: Bench) -> tuple[TrialSource, ...]:
    """Return the sources of a bench: each of its models on each of `bench.data`, or planted models without data.

    Raises:
        DataError: a data set has no labels, or the scale of the paper was given without data.
    """
    if bench.data:
        models = list(dict.fromkeys(attributes(bench.configurations, "model")))
        return tuple(chain.from_iterable(starmap(partial(labelled, models=models), bench.data.items())))
    if bench.scale == "paper":
        raise DataError("the scale paper needs data with labels: expected --data arxivtection=PATH or another")
    # the planted models are of `builtin:small`
    of_small = replace(bench, models=())
    chosen = pools(of_small, bench.seeds[0], context=False)
    return tuple(planted_source(plant, chosen[plant]) for plant in (CONVERGED, "constant rate"))


def planted_source(plant: str, pool: PlantedPool) -> TrialSource:
    """Return a source from a pool of texts of known truth."""
    return TrialSource(
        name=plant,
        model=pool.model,
        members=pool.of_role("member"),
        others=pool.of_role("clean"),
        reference=pool.of_role("unseen"),
    )


def labelled(name: str, path: Path, models: Sequence[str]) -> list[TrialSource]:
    """Return a source for each model from a data set with labels: a benchmark, or a table with the column `label`.

    Of WikiMIA all lengths are one set, as in the paper.
    """
    subsets = benchmark(name).subsets if is_benchmark(name) else ()
    samples: list[Sample] = []
    for subset in subsets or (None,):
        samples += named_dataset(name, path, label="label", subset=subset).samples
    members = tuple(having(samples, label=MEMBER))
    others = tuple(having(samples, label=NONMEMBER))
    if not members or not others:
        raise DataError(f"{name}: {len(members)} members and {len(others)} non-members; expected labels of both")
    sources = []
    for model in models:
        title = name if len(models) == 1 else f"{name}, {Path(model).name}"
        sources.append(TrialSource(name=title, model=model, members=members, others=others, data=name))
    return sources


def trial_set(source: TrialSource, settings: TrialSettings, share: float, subset: int) -> tuple[Sample, ...]:
    """Return one set: members first, then others, drawn anew for each λ and subset.

    Raises:
        DataError: the source has too few texts.
    """
    size = source.texts_of_a_set(settings)
    seen = round(share * size)
    if seen > len(source.members) or size - seen > len(source.others):
        raise DataError(
            f"{source.name}: {len(source.members)} members and {len(source.others)} others for sets of {size} "
            f"with λ = {share:g}; expected more of them"
        )
    # a set depends on its subset and share alone, so that every method sees the same texts
    random = np.random.default_rng([subset, round(1000 * share)])
    first = random.permutation(len(source.members))[:seen]
    second = random.permutation(len(source.others))[: size - seen]
    return (*map(source.members.__getitem__, first), *map(source.others.__getitem__, second))


def trials(bench: Bench, methods: Sequence[str]) -> tuple[Trial, ...]:
    """Return all trials with the values of these methods; what was measured before is read."""
    settings = settings_of(bench)
    return tuple(
        measured_trial(bench, source, share, subset=subset, methods=methods)
        for source, subset, share in product(sources(bench), range(settings.subsets), settings.shares)
    )


def measured_trial(bench: Bench, source: TrialSource, share: float, subset: int, *, methods: Sequence[str]) -> Trial:
    """Return one trial; values of methods that are not on disk yet are measured and kept there."""
    settings = settings_of(bench)
    samples = trial_set(source, settings, share, subset=subset)
    key = combined([source.model, text_column(samples), bench.seeds[0]])[:16]
    path = bench.out / "kds-trials" / f"{file_name(source.name)}-{share:g}-{subset}-{key}.json"
    stored = json.loads(path.read_text("utf-8")) if path.exists() else {"values": {}, "seconds": {}}
    if not stored["values"].keys() >= set(methods):
        # what shares a fine-tuning is measured with it
        missing = without(dict.fromkeys([*methods, *ONE_TUNING]), stored["values"])
        bench.watchers.begin(f"{source.name}, λ {share:g}, subset {subset}")
        model = measured_model(bench, source, samples)
        if UNIT_DOT in missing:
            stored["values"][UNIT_DOT] = unit_dot(model)
        for request in dataset_requests(",".join(without(missing, (UNIT_DOT,)))):
            start = time.perf_counter()
            result = request(DatasetInputs(model.samples, (), model, seed=bench.seeds[0]))
            stored["values"][request.name] = None if np.isnan(result.value) else result.value
            stored["seconds"][request.name] = round(time.perf_counter() - start, 4)
            for name, value in result.details.items():
                stored["values"].setdefault(name, value)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, stored)
    values = {name: np.nan if value is None else float(value) for name, value in stored["values"].items()}
    return Trial(source=source.name, share=share, subset=subset, values=values, seconds=stored["seconds"])


def unit_dot(model: MeasuredModel) -> float:
    """Return the divergence with the dot product of normalised embeddings, as the paper defines its embeddings."""
    before = model.embeddings(model.samples)
    after = model.embeddings(model.samples, tuning=FineTuning())
    return kernel_divergence(unit(before), unit(after), KernelSettings("dot"))


def measured_model(bench: Bench, source: TrialSource, samples: Sequence[Sample]) -> MeasuredModel:
    """Return the model of a source for one set, with the learning rate of the model."""
    tuning = TuningOptions(rate=rate_of(bench, source), seed=bench.seeds[0])
    return MeasuredModel(open_local(source.model), samples, tuning=tuning)


def rate_of(bench: Bench, source: TrialSource) -> float | None:
    """Return the learning rate of a model, found once on texts that are in no set; None for that of the paper."""
    if not source.reference:
        return None
    path = bench.out / "kds-trials" / f"{file_name(source.name)}-rate.json"
    if not path.exists():
        settings = settings_of(bench)
        size = trial_set(source, settings, settings.shares[0], subset=0)
        rate = MeasuredModel(open_local(source.model), size, source.reference).rate
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {RATE: rate})
    return float(json.loads(path.read_text("utf-8"))[RATE])


def embeddings_of(
    bench: Bench, source: TrialSource, samples: Sequence[Sample], layer: int = -1
) -> tuple[Float32Array, Float32Array]:
    """Return the embeddings of a set before and after fine-tuning on it."""
    model = measured_model(bench, source, samples)
    before = model.embeddings(model.samples, layer=layer)
    return before, model.embeddings(model.samples, layer=layer, tuning=FineTuning())
