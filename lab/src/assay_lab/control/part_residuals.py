"""Residuals of parts of tasks: would the solution given its prompt decide where whole texts cannot?

The forms, models and plants are those of `control/placebos`. Each text is divided into its prompt (all that stands
before the first statement of its function or class, docstring included) and its solution; the tokens of a part come
from the pass over the whole text. A *kind* of residual says what is compared and what is known of it:

- whole: the rule as it is;
- solution, prompt: of the part, after the score of the second model on the same part;
- both: the smaller of the two, so that both parts have to agree;
- solution, two controls: after a second control of another family too, a compressor that knows the standard library;
- solution after prompt: after the prompt's own scores too, under both models.

The public forms choose the limits of each kind. Fresh sets confirm them, tasks in the form of a benchmark that were
never published, and a further model where one is given. Sets that stand against each other show how far two authors of
one form are apart. What was made and scored is kept in the folder `work`.
"""

import ast
import inspect
import math
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, permutations
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy.special import stdtrit

from assay.codec import decode, encode
from assay.errors import DataError
from assay.evaluation import FormResidual, RegressedSide, form_residual
from assay.files import parse_json, write_json
from assay.leakage import FormTest, MeasuredModel, in_turn
from assay.models import ModelSettings, StatisticsCache, TransformersModel, open_local
from assay.scores import SampleInputs, View, request
from assay.scoring import restricted
from assay.types import Float64Array, Sample
from assay_lab.columns import at_places, group_column, having, keyed, own_group_column, text_column
from assay_lab.control.placebos import (
    LEAST_OF_KIND,
    PLANTS,
    SCORE,
    SECONDS,
    Case,
    Form,
    Size,
    answer_of,
    drawn,
    forms,
    packages_of,
    planted_tasks,
    summary,
    train,
    training_functions,
)
from assay_lab.control.plant_tasks import tasks
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data

PRIMERS: tuple[ModuleType, ...] = (ast, inspect)
"""Modules whose text a compressor knows before it reads a solution."""
WINDOW = 1 << 15
"""Bytes that the compressor looks back."""
NEVER_PUBLISHED = {"humaneval": ("humaneval_fresh.jsonl", "humaneval_fresh2.jsonl"), "mbpp": ("mbpp_fresh.jsonl",)}
"""Benchmark → files of tasks in its form that were never published."""
FRESH, AGAINST = "fresh ", " against "
"""Marks of the names of fresh sets, and of sets that stand against each other."""
FEWEST_PARTED = 20
FEWEST_SUPPORTED = 6
"""Clean cases of a kind, with texts like their unseen text, from which on they alone choose its limits."""


@dataclass(frozen=True, slots=True)
class Parted:
    """What one model makes of texts: part → float64 [n], NaN where a text has no such part."""

    whole: Float64Array
    prompt: Float64Array
    solution: Float64Array


@dataclass(frozen=True, slots=True)
class Scored:
    """Texts of one side under the audited and the second model.

    Attributes:
        samples: the texts.
        audited, second: their scores.
        compressed: bytes a character of each solution after its prompt.
    """

    samples: Sequence[Sample]
    audited: Parted
    second: Parted
    compressed: Float64Array

    def lengths(self, part: str) -> Float64Array:
        """Return the logarithm of the characters of a part, which is known of a text without a model."""
        sizes = [len(sample.text) for sample in self.samples]
        if part != "whole":
            ends = [solution_start(sample.text) or 0 for sample in self.samples]
            sizes = ends if part == "prompt" else np.subtract(sizes, ends).tolist()
        return np.log1p(sizes)

    def of_part(self, part: str, *further: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the scores of a part, and what is known of it: float64 [n] and [n, k]."""
        known = np.column_stack([getattr(self.second, part), self.lengths(part), *further])
        return getattr(self.audited, part), known


KINDS: Mapping[str, Callable[[Scored], tuple[Float64Array, Float64Array]]] = {
    "whole": lambda side: side.of_part("whole"),
    "prompt": lambda side: side.of_part("prompt"),
    "solution": lambda side: side.of_part("solution"),
    "solution, two controls": lambda side: side.of_part("solution", side.compressed),
    "solution after prompt": lambda side: side.of_part("solution", side.audited.prompt, side.second.prompt),
}
"""Kind of residual → what is compared, and what is known of it."""
BOTH = {"both": ("solution", "prompt"), "both, two controls": ("solution, two controls", "prompt")}
"""Kind → those of which the smaller counts."""


def run(size: Size, seed: int, data: Data) -> Result:
    """Residuals of the solution given its prompt, beside those of whole texts."""
    usable = list(filter(is_parted, forms_kept(data, size, seed)))
    if len(usable) < 2:
        raise DataError(
            f"{len(usable)} forms have prompts and solutions; expected at least 2: more packages are needed"
        )
    cases = by_kind(cases_of(usable, size, seed=seed, data=data))
    rows = []
    for kind, of_kind in cases.items():
        chosen = [case for case in of_kind if FRESH not in case.form]
        limits = limits_of(chosen)
        judged = [judge(case, limits) for case in of_kind]
        rows.append({"kind": kind, **limits, **shares(judged), "cases": list(map(row_of, judged))})
    note = f"{len(cases['whole'])} cases of {len(usable)} forms and the fresh sets; scored by {SCORE}."
    return Result(rows, [note])


def forms_kept(data: Data, size: Size, seed: int) -> list[Form]:
    """Return the forms, from a file beside the statistics where they were made before."""
    kept = data[WORK] / f"forms-{seed}-{size.tasks}-{size.packages}-{size.forms}-{size.seen}.json"
    if not kept.is_file():
        write_json(kept, encode(list(forms(data, size, seed))))
    return list(map(partial(decode, Form), parse_json(kept.read_text("utf-8"))))


# Parts


@cache
def solution_start(text: str) -> int | None:
    """Return where the solution of a text begins, in characters; None where nothing stands before it."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    first = next(iter(statements), None)
    # a program with its statement
    if isinstance(first, ast.Expr) and len(statements) > 1:
        return start_of(text, statements[1])
    owner = next((node for node in statements if isinstance(node, ast.FunctionDef | ast.ClassDef)), None)
    if owner is None:
        return None
    body = owner.body[ast.get_docstring(owner, clean=False) is not None :]
    return start_of(text, body[0]) if body else None


def start_of(text: str, node: ast.stmt) -> int:
    """Return where the line of a statement begins, in characters."""
    return sum(map(len, text.splitlines(keepends=True)[: node.lineno - 1]))


def is_parted(form: Form) -> bool:
    """Return True for a form whose texts mostly have a prompt."""
    return all(
        sum(map(bool, map(solution_start, text_column(side)))) >= max(FEWEST_PARTED // 2, len(side) // 2)
        for side in (form.own, form.unseen)
    )


@cache
def part_scores(model: str, texts: tuple[str, ...], folder: Path) -> Parted:
    """Return the scores of the parts of texts; token statistics are kept, so that a text is read once by each model."""
    asked = request(SCORE)
    columns = {part: np.full(len(texts), math.nan) for part in Parted.__slots__}
    with StatisticsCache(folder / "statistics.sqlite") as kept:
        measured = MeasuredModel(opened(model), (), cache=kept)
        for place, statistics in enumerate(measured.statistics(texts)):
            end = solution_start(texts[place]) or 0
            begins = statistics.offsets[:, 0]
            parts = {"whole": begins >= 0, "prompt": begins < end, "solution": (begins >= end) & (end > 0)}
            for part, inside in parts.items():
                if inside.any():
                    views = {View(): restricted(statistics, inside)}
                    columns[part][place] = asked(SampleInputs(texts[place], views, None))
    return Parted(**columns)


@cache
def opened(model: str) -> TransformersModel:
    """Return an opened model."""
    return open_local(model, ModelSettings(dtype="float32"))


@cache
def compressed(text: str) -> float:
    """Return the bytes a character that the solution of a text adds to its prompt; NaN without a prompt."""
    end = solution_start(text)
    if not end:
        return math.nan
    # the end of the primer is the nearest part of the window, and the only one that fits into it
    primer = "".join(map(inspect.getsource, PRIMERS)).encode()[-WINDOW:]

    def size(part: str) -> int:
        writer = zlib.compressobj(9, zdict=primer)
        return len(writer.compress(part.encode()) + writer.flush())

    return (size(text) - size(text[:end])) / (len(text) - end)


# Models


def cases_of(usable: Sequence[Form], size: Size, *, seed: int, data: Data) -> Iterator[tuple[str, Case]]:
    """Yield the comparisons of every kind: each model as it is, and its plants, beside the second model."""
    others = list(training_functions(packages_of(data, size, seed)[0]))
    fresh = list(fresh_forms(data, usable))
    for base, second in SECONDS.items():
        for form in (*usable, *fresh):
            yield from kinds_of(form, (base, second), data, leak=(0.0, 0))
    # a real model may have seen the public forms
    if "model" in data:
        for form in map(small, clean_for_all(fresh)):
            yield from kinds_of(form, (str(data["model"]), "builtin:control"), data, leak=(0.0, 0))
    share, times, _ = PLANTS[PLANT]
    for base, second in SECONDS.items():
        folder = data[WORK] / f"{base.replace(':', '-')}-{seed}-{size.tasks}"
        if not folder.is_dir():
            leaked = text_column(chain.from_iterable(planted_tasks(form, share, seed) for form in usable))
            train(folder, base, leaked * times + drawn(seed, others, size.beside), seed=seed)
        for form in usable:
            yield from kinds_of(form, (str(folder), second), data, leak=(share, times))


PLANT = "a fifth, twice"
SMALL = 30
"""Texts of a side under a model that takes a second for each."""


def small(form: Form) -> Form:
    """Return a few texts of a form, and of as many groups of unseen text as there are."""
    others = in_turn(group_column(form.unseen), seed=0)[:SMALL]
    return replace(form, own=form.own[:SMALL], unseen=tuple(at_places(form.unseen, others)))


def clean_for_all(usable: Sequence[Form]) -> list[Form]:
    """Return the forms that no model can have seen: fresh tasks."""
    newer = [form for form in usable if form.name.startswith(FRESH)]
    return [form for form in newer if not form.name.endswith(tuple(NEVER_PUBLISHED)) or AGAINST not in form.name]


def fresh_forms(data: Data, usable: Sequence[Form]) -> Iterator[Form]:
    """Yield the fresh sets, each against packages in its form, and against every other set of its form."""
    by_name = keyed(usable, "name")
    for name, files in NEVER_PUBLISHED.items():
        if "fresh" not in data or name not in by_name:
            continue
        form = by_name[name]
        sets = {name: form.own}
        for letter, file in zip("AB", files, strict=False):
            sets[f"{FRESH}{letter} of {name}"] = tuple(tasks(name, data["fresh"] / file))
        for own, texts in sets.items():
            if own != name:
                yield Form(own, texts, form.unseen)
        for own, other in permutations(sets, 2):
            alone = tuple(replace(sample, group=sample.id) for sample in sets[other])
            yield Form(f"{own}{AGAINST}{other}", sets[own], alone)


def scored_parts(samples: Sequence[Sample], names: tuple[str, str], work: Path) -> Scored:
    """Return the parts of texts with their scores by both models, and by a compressor."""
    texts = text_column(samples)
    audited, second = (part_scores(name, tuple(texts), work) for name in names)
    return Scored(samples, audited, second, compressed=np.array(list(map(compressed, texts))))


def kinds_of(form: Form, names: tuple[str, str], data: Data, *, leak: tuple[float, int]) -> Iterator[tuple[str, Case]]:
    """Yield every kind of residual of a form under the audited model, the first of the names, by the second model."""
    own, unseen = (scored_parts(samples, names, data[WORK]) for samples in (form.own, form.unseen))
    groups: tuple[Sequence[Hashable], ...] = (own_group_column(form.own), group_column(form.unseen))
    residuals: dict[str, FormResidual] = {}
    for kind, regressed in KINDS.items():
        sides = (RegressedSide(*regressed(side), of_side) for side, of_side in zip((own, unseen), groups, strict=True))
        residuals[kind] = form_residual(*sides)
    for kind, parts in BOTH.items():
        # both parts have to agree: the smaller residual decides
        residuals[kind] = min((residuals[part] for part in parts), key=attrgetter("estimate.value"))
    model, second = (Path(name).name for name in names)
    for kind, residual in residuals.items():
        test = FormTest(residual, second, is_parent=False, margin=0, floor=0, hidden=0, effect=1, placebos=0)
        yield kind, Case(model, second, form=form.name, share=leak[0], times=leak[1], test=test)


def by_kind(cases: Iterator[tuple[str, Case]]) -> dict[str, list[Case]]:
    """Return the cases with an interval, by kind."""
    result: dict[str, list[Case]] = {}
    for kind, case in cases:
        if case.test.residual.estimate.has_interval:
            result.setdefault(kind, []).append(case)
    return result


# Figures


def limits_of(cases: Sequence[Case]) -> dict[str, float]:
    """Return the limits that the clean cases set, and the effect of the leak, as the shipped placebos do."""
    clean = having(cases, share=0.0)
    if sum(case.test.residual.supported >= LEAST_OF_KIND for case in clean) < FEWEST_SUPPORTED:
        # hardly any solution is of the kind of the unseen ones: then all of them choose
        cases = [replace(case, test=replace(case.test, residual=counted_as_alike(case))) for case in cases]
    shown = {name: value for name, value in summary(cases).items() if name != "residuals"}
    limits = {name: math.nan if value is None else float(str(value)) for name, value in shown.items()}
    # the bound on a further draw from so many (one-sided, 95 %): Student's quantile, with its 1 + 1/n
    factor = float(stdtrit(limits["freedom"], 0.95)) * math.sqrt(1 + 1 / limits["count"])
    limits["factor"] = factor
    return {
        **limits,
        "margin": limits["median"] + factor * limits["above"],
        "floor": limits["median"] - factor * limits["below"],
    }


def counted_as_alike(case: Case) -> FormResidual:
    """Return the residual of a case as one whose texts are all of the kind of the unseen text."""
    return replace(case.test.residual, supported=1.0)


def judge(case: Case, limits: Mapping[str, float]) -> Case:
    """Return a case beside the limits."""
    residual = case.test.residual
    # the spread between clean forms and the error of this one are independent
    spread = math.hypot(limits["below"], residual.error)
    return replace(
        case,
        test=replace(
            case.test,
            margin=limits["margin"],
            floor=limits["floor"],
            hidden=residual.estimate.value - limits["median"] + limits["factor"] * spread,
            effect=limits["effect"],
            placebos=int(limits["count"]),
        ),
    )


def shares(cases: Sequence[Case]) -> dict[str, object]:
    """Return how often each answer is given, by what leaked; and how far sets of one form are apart."""
    counted: dict[str, object] = {}
    clean = having(cases, share=0.0)
    for name, chosen in (
        ("clean", [case for case in clean if FRESH not in case.form]),
        ("fresh", [case for case in clean if FRESH in case.form and AGAINST not in case.form]),
        (PLANT, having(cases, share=0.2)),
    ):
        answers = list(map(answer_of, map(attrgetter("test"), chosen)))
        counted[name] = {answer: answers.count(answer) for answer in ("familiar", "no evidence", "cannot tell")} | {
            "above the margin": sum(case.test.residual.estimate.value > case.test.margin for case in chosen)
        }
    against = [case.test.residual.estimate.value for case in clean if AGAINST in case.form]
    if against:
        counted["sets of one form apart"] = float(np.sqrt(np.mean(np.square(against))))
    return counted


def row_of(case: Case) -> dict[str, object]:
    """Return the row of one case."""
    residual = case.test.residual
    return {
        "model": case.model,
        "form": case.form,
        "share": case.share,
        "times": case.times,
        "residual": residual.estimate.value,
        "error": residual.error,
        "supported": residual.supported,
        "answer": answer_of(case.test),
    }


EXPERIMENTS = (
    Experiment(
        name="control/part_residuals",
        run=run,
        scales={
            "smoke": Size(tasks=20, packages=22, forms=2, beside=10, seen=60),
            "full": Size(tasks=20, packages=22, forms=2, beside=10, seen=80),
            "wide": Size(tasks=40, packages=30, forms=4, beside=100, seen=1000),
        },
        columns=("kind", "median", "margin", "effect", "clean", "fresh", PLANT),
        needs={
            "packages": "a folder of wheels that are newer than the models, as lab/lists/later_packages.txt names them",
            **benchmark_data("humaneval", "mbpp"),
        },
        takes={
            **benchmark_data("bigcodebench"),
            "classeval": "folder with classeval.jsonl.gz: text, label and group",
            "fresh": "folder of tasks in the forms of HumanEval and MBPP that were never published",
            "model": "a further model, as a folder or a GGUF file",
        },
    ),
)
