"""The texts of an experiment of DECo: data sets with the author of each text, or a small set that is always there.

Without data, people's code is functions of Python's standard library, and generators are the bench's model at two
temperatures: it continues the first lines of each function.
"""

import importlib
import inspect
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, repeat
from operator import itemgetter
from pathlib import Path

from assay.authorship import without_comments
from assay.code import functions_in
from assay.datasets import Dataset
from assay.errors import DataError
from assay.languages import LANGUAGES, language_named
from assay.models import StatisticsCache, cached_generator, open_model
from assay.scoring import generator_digest
from assay.types import Sample
from assay_lab.classifiers.settings import Protocol
from assay_lab.columns import label_column, without
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.named_data import named_dataset
from assay_lab.experiments.papers import paper
from assay_lab.experiments.scales import Count, Counts, Several, sizes_of
from assay_lab.rewrites.building import DataSetName
from assay_lab.rewrites.writing import MANIFEST

HUMAN = "human"
MODULES = ("argparse", "calendar", "configparser", "fractions", "shlex", "statistics", "textwrap", "difflib")
TEMPERATURES = (0.4, 1.0)
PROMPT_LINES = 3
STORE = "continuations.sqlite"
"""What the model wrote, in the folder of the bench: all experiments of DECo read the same texts."""
PAPER = paper("deco")
STRATUM = "stratum"
LABELS = ("generator", "model", "label")
TEXTS = ("code", "text", "solution")


@dataclass(frozen=True, slots=True)
class ScaleSizes:
    """Size of an experiment.

    Attributes:
        tasks: most tasks of a language and data set; of a data set without tasks, most texts of an author.
        authors: most generators of a data set, those with most texts.
        copies: perturbed copies of a text; None for the default of each detector.
        functions: that generators rewrite for Table 1, where no data set is given.
        tokens: that a generator writes behind the first lines of a function, where no data set is given.
        epochs, rates, batches, seeds: of the encoders that are fine-tuned; as `assay lab authorship fine-tune`.
        roles: what a model does beside the surrogate → its name, in place of the paper's.
    """

    tasks: Count | None
    authors: Count | None
    copies: Several | None
    functions: Count = 80
    tokens: Count = 120
    epochs: Count = 10
    rates: tuple[float, ...] = Protocol().rates
    batches: Counts = Protocol().batches
    seeds: Count = 5
    roles: Mapping[str, str] = field(default_factory=dict)


SCALES: Mapping[str, ScaleSizes] = {
    "smoke": ScaleSizes(8, 2, 2, functions=10, tokens=40),
    "full": ScaleSizes(40, 4, 4),
    "paper": ScaleSizes(None, None, None),
}

OF_TEXTS = ("tasks", "authors", "tokens")
"""Sizes that every experiment on texts reads; `functions` is that of Table 1."""


def heading(language: str) -> str:
    """Return the title of a language; the name itself of an unknown one."""
    return LANGUAGES[language].title if language in LANGUAGES else language


def stratum_of(sample: Sample) -> str:
    """Return the title of a text's language, behind the name of its data set where there are several."""
    return str(sample.metadata.get(STRATUM) or heading(str(sample.language)))


def sizes_at(bench: Bench) -> ScaleSizes:
    """Return the size of an experiment.

    Raises:
        DataError: as `sizes_of`.
    """
    return sizes_of(bench, "deco", SCALES)


@dataclass(frozen=True, eq=False)
class AuthorTexts:
    """The texts of one experiment.

    Attributes:
        samples: label = "human" or a generator, group = task; of all data sets.
        notes: where they come from.
    """

    samples: tuple[Sample, ...]
    notes: tuple[str, ...]

    @cached_property
    def strata(self) -> tuple[str, ...]:
        """Languages, as the paper orders them, then the others; by data set where there are several.

        Texts of two strata are never compared: their tasks differ.
        """
        titles = list(map(str, PAPER.tables["table-2"].columns))
        places = {}
        for sample in self.samples:
            title = heading(str(sample.language))
            places[stratum_of(sample)] = titles.index(title) if title in titles else len(titles)
        return tuple(sorted(places, key=lambda name: (places[name], name)))

    @cached_property
    def authors(self) -> tuple[str, ...]:
        """People first, then the generators by name."""
        labels = set(map(str, label_column(self.samples)))
        return tuple(sorted(labels, key=lambda label: (label != HUMAN, label)))

    def of(self, stratum: str, author: str | None = None) -> list[Sample]:
        """Return the texts of a stratum, or those of one author in it."""
        return [s for s in self.samples if stratum_of(s) == stratum and author in (None, s.label)]

    def labels(self, stratum: str) -> set[str | None]:
        """Return the authors of a stratum."""
        return set(label_column(self.of(stratum)))

    def tasks(self, stratum: str) -> list[dict[str, Sample]]:
        """Return author → text of each task of a stratum that at least two authors solved."""
        tasks: defaultdict[str, dict[str, Sample]] = defaultdict(dict)
        for sample in self.of(stratum):
            if sample.group is not None:
                tasks[sample.group].setdefault(str(sample.label), sample)
        return [task for task in tasks.values() if len(task) > 1]

    def comparable(self) -> "AuthorTexts":
        """Return equally many texts of every author of a stratum: of the tasks that all solved, where there are any."""
        kept: list[Sample] = []
        for stratum in self.strata:
            by_author: defaultdict[str, list[Sample]] = defaultdict(list)
            for sample in self.of(stratum):
                by_author[str(sample.label)].append(sample)
            # density falls with the amount of text (see `linguistics`), so every author gets as much of the same
            common = [task for task in self.tasks(stratum) if len(task) == len(by_author)]
            for task in common:
                kept += task.values()
            if not common:
                least = min(map(len, by_author.values()))
                kept += chain.from_iterable(samples[:least] for samples in by_author.values())
        return AuthorTexts(tuple(kept), self.notes)

    def bare(self) -> "AuthorTexts":
        """Return the texts without comments, those that nothing else is left of removed."""
        bare = [replace(sample, text=without_comments(sample.text, sample.language)) for sample in self.samples]
        return AuthorTexts(tuple(sample for sample in bare if sample.text.strip()), self.notes)


def collection(bench: Bench, data_set: DataSetName = "multi") -> AuthorTexts:
    """Return the texts of a bench: those of `bench.data`, else functions of the standard library and a model's own.

    Args:
        bench: with the data.
        data_set: of a folder of `assay lab build-authorship`.

    Raises:
        DataError: a data set cannot be read or has no authors, or the scale of the paper was given without data.
    """
    settings = sizes_at(bench)
    if not bench.data and bench.scale == "paper":
        raise DataError("the scale paper needs code of people and of generators: expected --data NAME=PATH")
    if not bench.data:
        return _always_there(bench, settings)
    texts: list[Sample] = []
    notes = []
    for name, path in bench.data.items():
        samples = _limited(list(_read(name, path, data_set)), settings)
        authors = set(label_column(samples))
        if len(authors) < 2:  # noqa: PLR2004  nothing to tell apart
            raise DataError(f"{name}: {len(samples)} texts of one author, expected at least 2 authors")
        notes.append(f"{name}: {len(samples):,} texts of {len(authors)} authors.")
        if len(bench.data) > 1:
            samples = list(map(_with_stratum, samples, repeat(name)))
        texts += samples
    return AuthorTexts(tuple(texts), tuple(notes))


def _with_stratum(sample: Sample, name: str) -> Sample:
    return replace(sample, metadata={STRATUM: f"{name}, {heading(str(sample.language))}"})


def _read(name: str, path: Path, data_set: DataSetName) -> Iterator[Sample]:
    """Yield the samples of a data set: a folder of `assay lab build-authorship` or of solutions, or a table.

    Raises:
        DataError: it cannot be read, or names no authors.
    """
    if (path / MANIFEST).is_file():
        for part in sorted((path / data_set).glob("*.jsonl")):
            yield from _read(name, part, data_set)
        return
    if path.is_dir():
        yield from _solutions(name, path)
        return
    for sample in _labelled_table(name, path).samples:
        columns = map(sample.metadata.get, TEXTS)
        language = sample.language or sample.metadata.get("language")
        is_human = str(sample.label).casefold() == HUMAN
        yield Sample(
            id=f"{name}/{sample.id}",
            text=str(next(filter(None, columns), sample.text)),
            language=language_named(str(language)) if language else None,
            label=HUMAN if is_human else str(sample.label),
            group=None if sample.group is None else f"{name}/{sample.group}",
        )


def _labelled_table(name: str, path: Path) -> Dataset:
    """Return a table with the first column of authors that it has."""
    for label in LABELS:
        try:
            return named_dataset(name, path, label=label, labels="as-is")
        except DataError:
            continue
    raise DataError(f"{path}: no column of authors, expected one of {', '.join(LABELS)}")


def _solutions(name: str, folder: Path) -> Iterator[Sample]:
    """Yield solutions of files `GENERATOR/*.jsonl` with prompt, canonical_solution (of people) and solution."""
    people: set[str] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if not {"task_id", "solution", "canonical_solution"} <= set(row):
                raise DataError(f"{path}: a line without task_id, solution and canonical_solution")
            task = f"{name}/{row['task_id']}"
            yield _of_author(task, path.parent.name, row["solution"])
            if task not in people:
                people.add(task)
                human = row["canonical_solution"]
                # it is the body below the prompt
                if "def " not in human.lstrip()[:4]:
                    human = row["prompt"] + human
                yield _of_author(task, HUMAN, human)


def _of_author(task: str, author: str, text: str) -> Sample:
    """Return one author's Python for a task."""
    return Sample(id=f"{task}/{author}", text=text, language="python", label=author, group=task)


def _limited(samples: Sequence[Sample], settings: ScaleSizes) -> list[Sample]:
    """Return the texts of the first tasks of each language, and of the generators with most texts."""
    if settings.tasks is None:
        return list(samples)
    counts = Counter(map(str, without(label_column(samples), (HUMAN,))))
    generators = counts.most_common(settings.authors)
    kept_authors = {HUMAN, *map(itemgetter(0), generators)}
    kept: list[Sample] = []
    tasks: defaultdict[tuple[str | None, ...], set[str]] = defaultdict(set)
    for sample in samples:
        if sample.label not in kept_authors:
            continue
        key: tuple[str | None, ...] = (sample.language,)
        task = sample.group
        # without tasks the texts of each author count
        if task is None:
            key, task = (sample.language, sample.label), sample.id
        # further texts of a task that was taken are taken as well
        if task in tasks[key] or len(tasks[key]) < settings.tasks:
            tasks[key].add(task)
            kept.append(sample)
    return kept


def _always_there(bench: Bench, settings: ScaleSizes) -> AuthorTexts:
    """Return functions of the standard library, and what the model of the bench writes behind their first lines."""
    functions = list(islice(_library_functions(), settings.tasks))
    name = bench.configurations[0].model
    model = open_model(name)
    heads = ["\n".join(text.splitlines()[:PROMPT_LINES]) + "\n" for _, text in functions]
    samples = [_of_author(task, HUMAN, text) for task, text in functions]
    with StatisticsCache(bench.out / STORE) as store:
        generator = cached_generator(model, store, digest=generator_digest(model))
        for temperature in TEMPERATURES[: settings.authors]:
            author = f"{label_of(name)} at {temperature:g}"
            bodies = generator.generate(
                heads, max_new_tokens=settings.tokens, temperature=temperature, seed=bench.seeds[0]
            )
            for (task, _), head, body in zip(functions, heads, bodies, strict=True):
                samples.append(_of_author(task, author, head + str(body)))
    note = (
        f"{len(functions)} functions of Python's standard library, and continuations of their first {PROMPT_LINES} "
        f"lines by {label_of(name)} at several temperatures. The paper's generators rewrite whole files."
    )
    return AuthorTexts(tuple(samples), (note,))


def _library_functions() -> Iterator[tuple[str, str]]:
    """Yield name and text of functions of the standard library that fill no more than a screen."""
    for name in MODULES:
        for function in functions_in(inspect.getsource(importlib.import_module(name)), "python"):
            if 8 <= function.text.count("\n") <= 40 and "." not in function.name:  # noqa: PLR2004  one screen
                yield f"{name}.{function.name}", function.text
