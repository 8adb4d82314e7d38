"""The texts of an experiment of DECo: data sets with the author of each text, or a small set that is always there.

Without data, people's code is functions of Python's standard library, and generators are the bench's model at two
temperatures: it continues the first lines of each function.
"""

import importlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from assay.authorship import without_comments
from assay.code import functions_in
from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.languages import LANGUAGES, language_named
from assay.models import StatisticsCache, cached_generator, open_model
from assay.scoring import generator_digest
from assay.types import Sample
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.papers import paper

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
    """

    tasks: int | None
    authors: int | None
    copies: int | None


SCALES: Mapping[str, ScaleSizes] = {
    "smoke": ScaleSizes(8, 2, 2),
    "small": ScaleSizes(40, 4, 4),
    "paper": ScaleSizes(None, None, None),
}


def heading(language: str) -> str:
    """Return the title of a language; the name itself of an unknown one."""
    return LANGUAGES[language].title if language in LANGUAGES else language


def stratum_of(sample: Sample) -> str:
    """Return the title of a text's language, behind the name of its data set where there are several."""
    return str(sample.metadata.get(STRATUM) or heading(str(sample.language)))


def sizes_at(bench: Bench) -> ScaleSizes:
    """Return the size of an experiment.

    Raises:
        DataError: the scale has no size here.
    """
    return SCALES.get(bench.scale, SCALES["small"])


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
        order = {str(title): place for place, title in enumerate(PAPER.tables["table-2"].columns)}
        places = {stratum_of(sample): order.get(heading(str(sample.language)), len(order)) for sample in self.samples}
        return tuple(sorted(places, key=lambda name: (places[name], name)))

    @cached_property
    def authors(self) -> tuple[str, ...]:
        """People first, then the generators by name."""
        labels = {str(sample.label) for sample in self.samples}
        return (*([HUMAN] if HUMAN in labels else []), *sorted(labels - {HUMAN}))

    def of(self, stratum: str, author: str | None = None) -> list[Sample]:
        """Return the texts of a stratum, or those of one author in it."""
        return [s for s in self.samples if stratum_of(s) == stratum and author in (None, s.label)]

    def tasks(self, stratum: str) -> list[dict[str, Sample]]:
        """Return author → text of each task of a stratum that at least two authors solved."""
        tasks: dict[str, dict[str, Sample]] = {}
        for sample in self.of(stratum):
            if sample.group is not None:
                tasks.setdefault(sample.group, {}).setdefault(str(sample.label), sample)
        return [task for task in tasks.values() if len(task) > 1]

    def comparable(self) -> "AuthorTexts":
        """Return equally many texts of every author of a stratum: of the tasks that all solved, where there are any."""
        kept: list[Sample] = []
        for stratum in self.strata:
            authors = dict.fromkeys(str(sample.label) for sample in self.of(stratum))
            common = [task for task in self.tasks(stratum) if len(task) == len(authors)]
            if common:
                kept += [sample for task in common for sample in task.values()]
            else:
                least = min(len(self.of(stratum, author)) for author in authors)
                kept += [sample for author in authors for sample in self.of(stratum, author)[:least]]
        return AuthorTexts(tuple(kept), self.notes)

    def bare(self) -> "AuthorTexts":
        """Return the texts without comments, those that nothing else is left of removed."""
        bare = [replace(s, text=without_comments(s.text, s.language)) for s in self.samples]
        return AuthorTexts(tuple(sample for sample in bare if sample.text.strip()), self.notes)


def collection(bench: Bench) -> AuthorTexts:
    """Return the texts of a bench: those of `bench.data`, else functions of the standard library and a model's own.

    Raises:
        DataError: a data set cannot be read or has no authors, or the scale of the paper was given without data.
    """
    settings = sizes_at(bench)
    if bench.data:
        sets = {name: _limited(list(_read(name, path)), settings) for name, path in bench.data.items()}
        for name, samples in sets.items():
            if _authors(samples) < 2:  # noqa: PLR2004  nothing to tell apart
                raise DataError(f"{name}: {len(samples)} texts of one author, expected at least 2 authors")
        notes = [f"{name}: {len(samples):,} texts of {_authors(samples)} authors." for name, samples in sets.items()]
        if len(sets) > 1:
            sets = {name: [_with_stratum(sample, name) for sample in samples] for name, samples in sets.items()}
        return AuthorTexts(tuple(sample for samples in sets.values() for sample in samples), tuple(notes))
    if bench.scale == "paper":
        raise DataError("the scale paper needs code of people and of generators: expected --data NAME=PATH")
    return _always_there(bench, settings)


def _with_stratum(sample: Sample, name: str) -> Sample:
    return replace(sample, metadata={STRATUM: f"{name}, {heading(str(sample.language))}"})


def _authors(samples: Iterable[Sample]) -> int:
    return len({sample.label for sample in samples})


def _read(name: str, path: Path) -> Iterator[Sample]:
    """Yield the samples of a data set: a folder of one file of solutions a generator, or a table.

    Raises:
        DataError: it cannot be read, or names no authors.
    """
    if path.is_dir():
        yield from _solutions(name, path)
        return
    dataset = None
    for label in LABELS:
        try:
            dataset = read_dataset(str(path), DataSelection(text=None, label=label, labels="as-is"))
            break
        except DataError:
            continue
    if dataset is None:
        raise DataError(f"{path}: no column of authors, expected one of {', '.join(LABELS)}")
    for sample in dataset.samples:
        text = next((str(sample.metadata[key]) for key in TEXTS if sample.metadata.get(key)), sample.text)
        language = sample.language or sample.metadata.get("language")
        yield Sample(
            f"{name}/{sample.id}",
            text,
            language_named(str(language)) if language else None,
            HUMAN if str(sample.label).casefold() == HUMAN else str(sample.label),
            None if sample.group is None else f"{name}/{sample.group}",
        )


def _solutions(name: str, folder: Path) -> Iterator[Sample]:
    """Yield solutions of files `GENERATOR/*.jsonl` with prompt, canonical_solution (of people) and solution."""
    people: set[str] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if not {"task_id", "solution", "canonical_solution"} <= set(row):
                raise DataError(f"{path}: a line without task_id, solution and canonical_solution")
            task = f"{name}/{row['task_id']}"
            yield Sample(f"{task}/{path.parent.name}", row["solution"], "python", path.parent.name, task)
            if task not in people:
                people.add(task)
                whole = "def " in row["canonical_solution"].lstrip()[:4]  # else it is the body below the prompt
                human = row["canonical_solution"] if whole else row["prompt"] + row["canonical_solution"]
                yield Sample(f"{task}/{HUMAN}", human, "python", HUMAN, task)


def _limited(samples: Sequence[Sample], settings: ScaleSizes) -> list[Sample]:
    """Return the texts of the first tasks of each language, and of the generators with most texts."""
    if settings.tasks is None:
        return list(samples)
    counts: dict[str, int] = {}
    for sample in samples:
        counts[str(sample.label)] = counts.get(str(sample.label), 0) + 1
    generators = sorted((label for label in counts if label != HUMAN), key=lambda label: -counts[label])
    kept_authors = {HUMAN, *generators[: settings.authors]}
    kept: list[Sample] = []
    tasks: dict[tuple[str | None, ...], set[str]] = {}
    for sample in samples:
        if sample.label not in kept_authors:
            continue
        key = (sample.language,) if sample.group is not None else (sample.language, sample.label)
        chosen = tasks.setdefault(key, set())
        task = sample.group if sample.group is not None else sample.id
        if task in chosen or len(chosen) < settings.tasks:
            chosen.add(task)
            kept.append(sample)
    return kept


def _always_there(bench: Bench, settings: ScaleSizes) -> AuthorTexts:
    """Return functions of the standard library, and what the model of the bench writes behind their first lines."""
    functions = [
        (f"{name}.{function.name}", function.text)
        for name in MODULES
        for function in functions_in(inspect.getsource(importlib.import_module(name)), "python")
        if 8 <= function.text.count("\n") <= 40 and "." not in function.name  # noqa: PLR2004  one screen
    ][: settings.tasks]
    name = bench.configurations[0].model
    model = open_model(name)
    heads = ["\n".join(text.splitlines()[:PROMPT_LINES]) + "\n" for _, text in functions]
    samples = [Sample(f"{task}/{HUMAN}", text, "python", HUMAN, task) for task, text in functions]
    with StatisticsCache(bench.out / STORE) as store:
        generator = cached_generator(model, store, digest=generator_digest(model))
        for temperature in TEMPERATURES[: settings.authors]:
            author = f"{name} at {temperature:g}"
            bodies = generator.generate(heads, max_new_tokens=120, temperature=temperature, seed=bench.seeds[0])
            samples += [
                Sample(f"{task}/{author}", head + str(body), "python", author, task)
                for (task, _), head, body in zip(functions, heads, bodies, strict=True)
            ]
    note = (
        f"{len(functions)} functions of Python's standard library, and continuations of their first {PROMPT_LINES} "
        f"lines by {name} at several temperatures. The paper's generators rewrite whole files."
    )
    return AuthorTexts(tuple(samples), (note,))
