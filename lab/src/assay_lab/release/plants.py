"""Copies of tasks, their values under a model, and models that were trained on the published ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import getitem, itemgetter
from pathlib import Path

import numpy as np

from assay import load
from assay.datasets import DataSelection, ids_of, language_of_row, layout_of, read_rows, scored_text, with_cells
from assay.ground_truth import demo_functions
from assay.models import TransformersModel, open_local
from assay.release import NameSources, by_cluster, clusters_of, drafted, evidence, residuals, standardised_within
from assay.scores import mid_pit
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array, Int64Array
from assay_lab.columns import at_places, text_column
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data
from assay_lab.measuring import with_ends

SMALL = "builtin:small"
CONTROL = "builtin:control"
NAMINGS = {"dictionary": NameSources(unrelated=True), "synonyms": NameSources()}
"""Kind of variant → names of its copies."""
RATE = 5e-4
STATISTICS = {"evidence": evidence, "mean": lambda d: d}
"""Candidates for the sum over tasks: title → value of each copy, from the standardised values."""
SMOKE_TASKS, SMOKE_COPIES, SHORT = 12, 6, 500
"""Functions of a smoke run, copies that each has, and characters that it has at most."""


@dataclass(frozen=True, slots=True)
class CopySet:
    """Tasks with their copies.

    Attributes:
        originals: text of each task.
        texts: of the copies of each task.
        clusters: of each task.
    """

    originals: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    clusters: tuple[str, ...]

    @property
    def copies(self) -> int:
        """Copies of each task."""
        return len(self.texts[0])

    def lot(self, generator: np.random.Generator) -> Int64Array:
        """Draw the published copy of each task, one number for a cluster."""
        numbers = {name: int(generator.integers(self.copies)) for name in dict.fromkeys(self.clusters)}
        return np.array(at_places(numbers, self.clusters), np.int64)

    def published(self, lot: Int64Array) -> list[str]:
        """Return the text of the published copy of each task."""
        return list(map(getitem, self.texts, lot))


def task_rows(data: Data, most: int | None = None) -> list[dict[str, object]]:
    """Return the rows of HumanEval, at most so many; without it, functions that ship with the built-in model."""
    if "humaneval" not in data:
        samples = demo_functions().samples
        short = (sample for sample in samples if len(sample.text) < SHORT)
        rows: Iterator[dict[str, object]] = ({"id": sample.id, "text": sample.text} for sample in short)
        # one function in seven has enough close synonyms
        return list(islice(filter(_has_copies, rows), SMOKE_TASKS))
    file = next(iter(sorted(data["humaneval"].rglob("*.jsonl.gz"))))
    return list(read_rows(file, lambda _: None))[:most]


def javascript_rows(data: Data, most: int | None = None) -> list[dict[str, object]]:
    """Return HumanEval-X in JavaScript; nothing without its data."""
    if "humaneval-x" not in data:
        return []
    files = sorted(data["humaneval-x"].rglob("humaneval_js.jsonl.gz"))
    return list(read_rows(files[0], lambda _: None))[:most] if files else []


def copy_set(rows: Sequence[dict[str, object]], copies: int, *, kind: str = "synonyms", seed: int = 0) -> CopySet:
    """Return distinct verified copies of each task that has enough."""
    columns = DataSelection()
    layout = layout_of(rows, columns, "tasks")
    ids = ids_of(rows, layout, columns, source="tasks")
    kept, names, languages, originals, texts = [], [], [], [], []
    for row, name in zip(rows, ids, strict=True):
        language = language_of_row(row, name, columns)
        draft = drafted(
            row, layout, language, seed=hash_of(seed, name), most=copies, least=copies, naming=NAMINGS[kind]
        )
        if isinstance(draft, str) or len(draft.copies) < copies:
            continue
        own = []
        for numbers in draft.copies:
            cell = draft.content.with_names(list(map(getitem, draft.words, numbers)))
            own.append(scored_text(with_cells(row, cell), layout))
        kept.append(row)
        names.append(name)
        languages.append(language)
        originals.append(scored_text(row, layout))
        texts.append(tuple(own))
    clusters = clusters_of(names, rows=kept, texts=originals, languages=languages, group=None)
    return CopySet(tuple(originals), tuple(texts), tuple(clusters))


def _has_copies(row: Mapping[str, object]) -> bool:
    return bool(copy_set([dict(row)], SMOKE_COPIES).texts)


def hash_of(seed: int, name: str) -> int:
    """Return a seed of one task."""
    # seeded by the name and not by the place, so that with fewer rows a task keeps its copies
    return int(np.random.default_rng([seed, *name.encode()]).integers(2**62))


def copy_values(model: TransformersModel, texts: Sequence[Sequence[str]]) -> tuple[Float64Array, Float64Array]:
    """Return the log-likelihood and `mid_pit` of each copy, float64 [tasks, copies]."""
    flat = list(chain.from_iterable(texts))
    whole, ranks = np.zeros(len(flat)), np.zeros(len(flat))
    for batch in model.completed(flat):
        for index, statistics in batch:
            whole[index] = statistics.log_probs.sum(dtype=np.float64)
            ranks[index] = mid_pit.function(statistics)
    shape = (len(texts), len(texts[0]))
    return whole.reshape(shape), ranks.reshape(shape)


def published_of(values: Float64Array, lot: Int64Array) -> Float64Array:
    """Return the value of the published copy of each task, of values [tasks, copies]."""
    return np.take_along_axis(values, lot[:, None], axis=1)[:, 0]


def first_of(clusters: Sequence[Int64Array]) -> Int64Array:
    """Return the first task of each cluster; the tasks of one have the same lot."""
    return np.array(list(map(itemgetter(0), clusters)), np.int64)


def evidence_table(
    values: Float64Array, clusters: Sequence[str], covariates: Sequence[Float64Array] = ()
) -> tuple[Float64Array, list[Int64Array]]:
    """Return the table of evidence that the test draws again, and the tasks of each of its rows."""
    return by_cluster(evidence(standardised_within(residuals(values, covariates))), clusters)


def trained_on(
    texts: Sequence[str],
    others: Sequence[str],
    *,
    seed: int,
    model: TransformersModel | None = None,
    rate: float = RATE,
) -> TransformersModel:
    """Return `builtin:small`, or a model, after one epoch on texts beside others."""
    model = model or open_local(SMALL, device="cpu")
    rows = member_rows(model.checkpoint.tokenizer, [*texts, *others], context=model.context)
    settings = TrainingSettings(method="full", rate=rate, batch=4, epochs=1, checkpoints=(1,), device="cpu")
    tune(model.checkpoint.model, rows, settings, seed=seed)
    return model


def other_functions(data: Data) -> list[str]:
    """Return functions that are in no release: MBPP, or the last of those that ship with the built-in model."""
    if "mbpp" in data:
        samples = load("mbpp", data=Path(data["mbpp"]) / "mbpp.jsonl", part="solution").samples
        return [sample.text.replace("\r\n", "\n") + "\n" for sample in samples]
    return text_column(demo_functions().samples[-40:])


def share_up_to(level: float, p_values: Sequence[float] | Float64Array) -> dict[str, float]:
    """Return the share of lots with p up to a level, with Wilson's 95 % interval."""
    return with_ends(wilson(int((np.asarray(p_values) <= level).sum()), len(p_values)))
