"""Residuals of benchmarks of other forms: placebos of the verdict, and how often its rule finds a leak.

A form is a set of texts of one kind: benchmarks, solutions that a model wrote, programs, classes and whole modules of
packages. Each is compared with functions of other packages, in its form where that is possible. A model that saw
neither gives a placebo. Copies of the models are trained on functions of packages alone (placebos with the parent as
second model), and on a part of some forms beside such functions (leaks of known truth).

With the seed and the packages of the shipped placebos the rows choose; with others they confirm.
`data["placebos"]`, a file, gets the summary in the form in which the package ships it.
"""

import ast
import gzip
import json
import math
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, filterfalse, repeat
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq

import assay
from assay.datasets import Dataset
from assay.errors import DataError
from assay.evaluation import FormResidual
from assay.files import write_json
from assay.leakage import SAME_FORM_SIGNIFICANCE, Compared, FormTest, MeasuredModel, form_test
from assay.models import ModelSettings, StatisticsCache, open_local
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array, Sample
from assay_lab.columns import (
    among,
    at_places,
    attributes,
    group_column,
    having,
    id_column,
    keyed,
    outside,
    own_group_column,
    text_column,
    without,
)
from assay_lab.control.plant_tasks import tasks
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data
from assay_lab.mappings import enumerated, map_values

SCORE = "mid_pit"
SHORTEST, LONGEST = 150, 2000
"""Characters of a text."""
PER_PACKAGE, PER_PACKAGE_OF_FORM = 4, 8
PACKAGES_OF_FORMS = 3
"""Every third package gives the classes, modules and training texts; the others give the unseen text."""
AFTER, RELEASED = "2025-02-07", "2025-08-01"
LEAST_OF_KIND = 0.8
RATES = {"builtin": 5e-4, "other": 5e-5}
SECONDS = {"builtin:small": "builtin:control", "builtin:control": "builtin:small"}
PLANTS: Mapping[str, tuple[float, int, int]] = {
    "packages alone": (0.0, 1, 0),
    "a fifth, twice": (0.2, 2, 3),
    "half, once": (0.5, 1, 3),
}
"""Plant → share of the tasks that is trained on, how often, and in how many forms."""
IN_EVERY_CORPUS = ("contest programs", "leetcode")
"""Forms that a real model has certainly seen: public solutions of contests."""
FROM_BENCHMARKS = ("humaneval", "mbpp", "bigcodebench")


def python_text(name: str) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a reader of a field of entries in Python; None for another language."""

    def read(entry: Mapping[str, Any]) -> str | None:
        if not str(entry["language"]).startswith("python"):
            return None
        return str(entry[name])

    return read


def human_text(entry: Mapping[str, Any]) -> str | None:
    """Return the text of an entry that a person wrote; None for another one."""
    return str(entry["text"]) if entry["label"] == "human" else None


JSON_FORMS: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], str | None]]] = {
    "classeval": ("classeval", "classeval.jsonl.gz", human_text),
    "o1 programs": ("livecodebench", "o1.jsonl.gz", python_text("text")),
    "quixbugs": ("quixbugs", "pairs.jsonl.gz", python_text("fixed")),
    "leetcode": ("debugbench", "pairs.jsonl.gz", python_text("fixed")),
    "gpt functions": (
        "llm-generations-ldb",
        "mbpp/gpt-3.5-turbo-0613/seed.jsonl",
        lambda entry: str(entry["solution"]),
    ),
}
"""Form → name of its data, its file there, and how the text of an entry is read."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a run.

    Attributes:
        tasks: of a form, at most.
        packages: of unseen text, for a form.
        forms: at most.
        beside: functions of packages that a copy is trained on, beside the leak.
        seen: of the packages, at most.
    """

    tasks: int
    packages: int
    forms: int
    beside: int
    seen: int


@dataclass(frozen=True, slots=True)
class Form:
    """Texts of one form and the unseen text that they are compared with."""

    name: str
    own: tuple[Sample, ...]
    unseen: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison of known truth.

    Attributes:
        model, second: names.
        form: name.
        share, times: of the tasks that was trained on, and how often; 0 for a form that was not.
        test: its residual beside the shipped placebos.
        by_same_form: p-value of the tasks, trained on or not, against other tasks that were not; NaN without a leak.
        siblings: the same of tasks that were not trained on.
    """

    model: str
    second: str
    form: str
    share: float
    times: int
    test: FormTest
    by_same_form: float = math.nan
    siblings: float = math.nan


def run(size: Size, seed: int, data: Data) -> Result:
    """Residuals of benchmarks of other forms under models of known truth."""
    usable = list(forms(data, size, seed))
    if len(usable) < 2:
        raise DataError(f"{len(usable)} forms have enough texts; expected at least 2: more packages are needed")
    cases = list(cases_of(usable, size, seed=seed, data=data))
    if "placebos" in data:
        write_json(data["placebos"], {"made_by": "assay lab run control/placebos --scale full", **summaries(cases)})
    return Result(list(map(row_of, cases)), notes_of(cases))


# Texts


def forms(data: Data, size: Size, seed: int) -> Iterator[Form]:
    """Yield the forms with their unseen text."""
    of_forms, others = packages_of(data, size, seed)
    sources = {**public_forms(data), **package_forms(of_forms)}
    for name, texts in list(sources.items())[: size.forms]:
        distinct = list(keyed(filter(is_usual, texts), "text").values())
        chosen = drawn(seed, distinct, min(size.tasks, len(distinct)))
        unseen = unseen_for(name, chosen, others, size=size, seed=seed)
        if len(chosen) >= min(30, size.tasks) and unseen:
            yield Form(name, tuple(chosen), unseen)


def is_usual(sample: Sample) -> bool:
    """Return True for a text of ordinary length."""
    return SHORTEST <= len(sample.text) <= LONGEST


def packages_of(data: Data, size: Size, seed: int) -> tuple[list[Path], list[Path]]:
    """Return the packages of the forms and of the training, and those of the unseen text."""
    wheels = sorted(data["packages"].glob("*.whl"))[: size.seen]
    of_forms = wheels[seed % PACKAGES_OF_FORMS :: PACKAGES_OF_FORMS]
    return of_forms, without(wheels, of_forms)


def unseen_for(
    name: str, own: Sequence[Sample], wheels: Sequence[Path], *, size: Size, seed: int
) -> tuple[Sample, ...]:
    """Return functions of packages in the form of a set of texts; as they stand where that is not possible."""
    settings: dict[str, Any] = {"after": AFTER, "released": RELEASED, "most": None, "seed": seed}
    like = Dataset.of(name, tuple(own), source=name)
    try:
        built = assay.build_unseen(wheels, like=like, **settings).samples
    except DataError:  # fewer than half of its texts hold a function
        built = assay.build_unseen(wheels, **settings).samples
    usual = list(filter(is_usual, built))
    every = sorted(set(map(str, group_column(usual))))
    packages = drawn(seed, every, min(size.packages, len(every)))
    in_order = at_most(drawn(seed, usual, len(usual)), PER_PACKAGE)
    return tuple(among(in_order, "group", packages))


def at_most(samples: Iterable[Sample], count: int) -> Iterator[Sample]:
    """Yield so many samples of each group, the first ones."""
    counts: Counter[str | None] = Counter()
    for sample in samples:
        counts[sample.group] += 1
        if counts[sample.group] <= count:
            yield sample


def public_forms(data: Data) -> dict[str, list[Sample]]:
    """Return the forms that the given data have."""
    texts = {name: tasks(name, data[name]) for name in FROM_BENCHMARKS if name in data}
    for name, (folder, file, text_of) in JSON_FORMS.items():
        if folder in data:
            texts[name] = list(json_form(name, data[folder] / file, text_of))
    if "semeval2026-task13" in data:
        programs: defaultdict[str, list[Sample]] = defaultdict(list)
        for entry in pq.read_table(data["semeval2026-task13"] / "task_a_trial.parquet").to_pylist():
            if entry["language"] == "Python":
                name = "contest programs" if entry["generator"] == "Human" else "generated programs"
                programs[name].append(Sample(f"{name}/{len(programs[name])}", entry["code"], language="python"))
        texts |= programs
    return texts


def json_form(name: str, path: Path, text_of: Callable[[Mapping[str, Any]], str | None]) -> Iterator[Sample]:
    """Yield the texts of a file of JSON lines; an entry without a group is one of its own."""
    for at, entry in enumerate(json_lines(path)):
        if text := text_of(entry):
            yield Sample(f"{name}/{at}", text, group=entry.get("group", str(at)))


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines, compressed or not."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return list(map(json.loads, content.splitlines()))


T = TypeVar("T")


def drawn(seed: int, items: Sequence[T], count: int) -> list[T]:
    """Return so many items in random order."""
    return list(map(items.__getitem__, np.random.default_rng(seed).permutation(len(items))[:count]))


def package_forms(wheels: Sequence[Path]) -> dict[str, list[Sample]]:
    """Return classes and whole modules of packages, at most `PER_PACKAGE_OF_FORM` of each package."""
    classes: list[Sample] = []
    modules: list[Sample] = []
    for wheel, text, tree in parsed(wheels):
        modules.append(Sample(f"module/{len(modules)}", text, language="python", group=wheel))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                source = f"{ast.get_source_segment(text, node)}\n"
                classes.append(Sample(f"class/{len(classes)}", source, language="python", group=wheel))
    texts = {"classes": classes, "modules": modules}
    return {name: list(at_most(filter(is_usual, samples), PER_PACKAGE_OF_FORM)) for name, samples in texts.items()}


def parsed(wheels: Sequence[Path]) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield wheel, text and tree of every module that Python can read."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    text = archive.read(name).decode("utf-8", "replace")
                    try:
                        yield wheel.name, text, ast.parse(text)
                    except (SyntaxError, ValueError):  # of another version of Python
                        continue


# Models


def cases_of(usable: Sequence[Form], size: Size, *, seed: int, data: Data) -> Iterator[Case]:
    """Yield every comparison: each model as it is, and its plants, beside a second model and beside the parent."""
    others = list(training_functions(packages_of(data, size, seed)[0]))
    bases = list(SECONDS)
    if "model" in data:
        bases.append(str(data["model"]))
    for base in bases:
        second = SECONDS.get(base, "builtin:control")
        own = [form for form in usable if base in SECONDS or form.name not in IN_EVERY_CORPUS]
        for form in own:
            yield case_of(form, (base, second), data, leak=(0.0, 0), parent=False)
        for number, (plant, (share, times, count)) in enumerate(PLANTS.items()):
            chosen = drawn(seed + number, own, min(count, len(own)))
            # what is planted follows from the name, so a copy that is there is not trained again
            folder = data[WORK] / f"{Path(base).stem.replace(':', '-')}-{seed}-{number}"
            planted = map_values(partial(planted_tasks, share=share, seed=seed), keyed(chosen, "name"))
            if not folder.is_dir():
                leaked = text_column(chain.from_iterable(planted.values()))
                beside = drawn(seed, others, size.beside)
                train(folder, base, leaked * times + beside, seed=seed)
            for form in own if plant == "packages alone" else chosen:
                for other in (second, base):
                    leak = (share, times if share else 0)
                    case = case_of(form, (str(folder), other), data, leak=leak, parent=other == base)
                    if share:
                        case = with_same_form(case, form, planted[form.name], model=str(folder), data=data)
                    yield case


def training_functions(wheels: Sequence[Path]) -> Iterator[str]:
    """Yield the functions of packages that models are trained on beside a leak."""
    for _, text, tree in parsed(wheels):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                function = f"{ast.get_source_segment(text, node)}\n"
                if 200 <= len(function) <= 1200:
                    yield function


def planted_tasks(form: Form, share: float, seed: int) -> list[Sample]:
    """Return the tasks of a form that are trained on."""
    return drawn(seed, form.own, round(share * len(form.own)))


def train(folder: Path, base: str, texts: list[str], *, seed: int) -> None:
    """Train a copy of a model once on texts in random order."""
    model = open_local(base, ModelSettings(dtype="float32"))
    rate = RATES["builtin" if base in SECONDS else "other"]
    mixed = drawn(seed, texts, len(texts))
    rows = member_rows(model.checkpoint.tokenizer, mixed, context=min(512, model.context))
    settings = TrainingSettings(method="full", rate=rate, batch=4, epochs=1, micro=1)
    tuned = tune(model.checkpoint.model, rows, settings, seed=seed)
    tuned.save_pretrained(folder)
    model.checkpoint.tokenizer.save_pretrained(folder)


def case_of(form: Form, names: tuple[str, str], data: Data, *, leak: tuple[float, int], parent: bool) -> Case:
    """Return one comparison of the audited model, the first of the names, by the second model."""
    model, second = names
    audited = scored(model, form.own, data), scored(model, form.unseen, data)
    of_second = {SCORE: scored(second, form.own, data)}, {SCORE: scored(second, form.unseen, data)}
    own = list(zip(repeat("own"), own_group_column(form.own)))
    test = form_test(
        audited,
        of_second,
        texts=(form.own, form.unseen),
        groups=(own, group_column(form.unseen)),
        model=second,
        parent=parent,
    )
    assert test is not None
    share, times = leak
    return Case(model=Path(model).name, second=Path(second).name, form=form.name, share=share, times=times, test=test)


def with_same_form(case: Case, form: Form, planted: Sequence[Sample], *, model: str, data: Data) -> Case:
    """Return a case with the tests against tasks of the form that were kept private: a half of those not trained on."""
    leaked = set(id_column(planted))
    others = drawn(len(leaked), outside(form.own, "id", leaked), len(form.own))
    private, siblings = others[::2], others[1::2]

    def p_value(judged: Sequence[Sample]) -> float:
        return Compared(
            values=scored(model, judged, data),
            unseen=scored(model, private, data),
            groups=own_group_column(judged),
            unseen_groups=own_group_column(private),
            same_form=True,
        ).p_value()

    return replace(case, by_same_form=p_value([*planted, *siblings]), siblings=p_value(siblings))


def scored(model: str, samples: Sequence[Sample], data: Data) -> Float64Array:
    """Return the score of texts; token statistics are kept, so that a text is read once by each model."""
    with StatisticsCache(data[WORK] / "statistics.sqlite") as cache:
        return MeasuredModel(open_local(model, ModelSettings(dtype="float32")), samples, cache=cache).scores(
            SCORE, samples
        )


# Figures


def row_of(case: Case) -> dict[str, object]:
    """Return the row of one case."""
    residual: FormResidual = case.test.residual
    return {
        "model": case.model,
        "second": case.second,
        "parent": case.test.is_parent,
        "form": case.form,
        "share": case.share,
        "times": case.times,
        "residual": residual.estimate.value,
        "low": residual.estimate.low,
        "high": residual.estimate.high,
        "error": residual.error,
        "supported": residual.supported,
        "answer": answer_of(case.test),
        "p_by_same_form": case.by_same_form,
        "p_of_siblings": case.siblings,
    }


def answer_of(test: FormTest) -> str:
    """Return the verdict of the rule, without what stands in its way beside the residual."""
    residual = test.residual
    if not residual.estimate.has_interval or residual.supported < LEAST_OF_KIND:
        return "cannot tell"
    if test.is_familiar and residual.nearest > 0:
        return "familiar"
    if not test.is_familiar and test.rules_out and residual.estimate.high >= test.floor:
        return "no evidence"
    return "cannot tell"


def summaries(cases: Sequence[Case]) -> dict[str, dict[str, object]]:
    """Return the placebos in the form in which the package ships them."""
    by_control = list(filterfalse(attrgetter("test.is_parent"), cases))
    by_parent = list(filter(attrgetter("test.is_parent"), cases))
    return {"control": summary(by_control), "parent": summary(by_parent)}


def summary(cases: Sequence[Case]) -> dict[str, object]:
    """Return the placebos of one kind of second model."""
    clean = list(filterfalse(attrgetter("share"), cases))
    supported = [case for case in clean if case.test.residual.supported >= LEAST_OF_KIND]
    # the spread above and below the median differs, so each side has its own
    values = residuals_of(supported)
    median = float(np.median(values))
    distances = np.square(values - median)
    by_form: defaultdict[str, list[Case]] = defaultdict(list)
    for case in clean:
        by_form[case.form].append(case)
    typical = {form: float(np.median(residuals_of(of_form))) for form, of_form in by_form.items()}
    leaked = having(cases, share=0.2, times=2)
    leaks = residuals_of(leaked) - at_places(typical, attributes(leaked, "form"))
    names = set(attributes(supported, "form"))
    return {
        "count": len(supported),
        "forms": len(names),
        "models": len({case.model.split("-")[0] for case in supported}),
        "median": round(median, 3),
        "above": round(float(np.sqrt(distances[values > median].mean())), 3),
        "below": round(float(np.sqrt(distances[values < median].mean())), 3),
        "freedom": len(names) - 1,
        "effect": round(float(np.quantile(leaks, 0.25)), 3) if leaked else None,
        "error": round(float(np.median(attributes(supported, "test.residual.error"))), 3),
        "groups": int(np.median(list(map(itemgetter(1), attributes(supported, "test.residual.estimate.groups"))))),
        "residuals": list(map(row_of, clean)),
    }


def residuals_of(cases: Sequence[Case]) -> Float64Array:
    """Return the residual of each case, float64 [cases]."""
    return np.array(attributes(cases, "test.residual.estimate.value"), np.float64)


def notes_of(cases: Sequence[Case]) -> list[str]:
    """Return how often the rule was right, by truth and second model."""
    answers: dict[tuple[bool, float, int], Counter[str]] = {}
    for parent in (False, True):
        # both kinds of second model in the order of the leaks
        for case in cases:
            of_leak = answers.setdefault((parent, case.share, case.times), Counter())
            if case.test.is_parent == parent:
                of_leak[answer_of(case.test)] += 1
    notes = []
    for (parent, share, times), counts in answers.items():
        if counts:
            second = "Parent" if parent else "Control"
            leaked = f"{share:.0%} seen {times} times" if share else "clean"
            listed = enumerated(dict(counts.most_common()))
            notes.append(f"{second}, {leaked}: {counts.total()} cases: {listed}.")
    planted = list(filter(attrgetter("share"), filterfalse(attrgetter("test.is_parent"), cases)))
    for name, field in (
        ("tasks of which a part was trained on", "by_same_form"),
        ("tasks whose siblings were trained on", "siblings"),
    ):
        accused = sum(getattr(case, field) <= SAME_FORM_SIGNIFICANCE for case in planted)
        notes.append(f"Same form, {name}: {accused} of {len(planted)} contaminated.")
    return notes


EXPERIMENTS = (
    Experiment(
        name="control/placebos",
        run=run,
        scales={
            "smoke": Size(tasks=20, packages=22, forms=2, beside=10, seen=40),
            "full": Size(tasks=100, packages=35, forms=20, beside=100, seen=1000),
        },
        columns=("model", "second", "form", "share", "times", "residual", "low", "high", "supported", "answer"),
        needs={
            "packages": "a folder of wheels that are newer than the models, as lab/lists/later_packages.txt names them",
            **benchmark_data("humaneval", "mbpp"),
        },
        takes={
            **benchmark_data("bigcodebench"),
            "classeval": "folder with classeval.jsonl.gz: text, label and group",
            "livecodebench": "folder with o1.jsonl.gz, programs of a model: text, language and group",
            "quixbugs": "folder with pairs.jsonl.gz: fixed, language and group",
            "debugbench": "folder with pairs.jsonl.gz: fixed, language and group",
            "llm-generations-ldb": "folder of functions that models wrote, by benchmark and model",
            "semeval2026-task13": "folder with task_a_trial.parquet: code, generator and language",
            "model": "a further model, as a folder or a GGUF file",
            "placebos": "file that gets the summary",
        },
        stored="control/placebos",
    ),
)
