"""Audits that look like real ones: functions of the standard library under a model whose memory we make up."""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType, ModuleType

import numpy as np
import pytest

from assay.evaluation import (
    BlindBaseline,
    FlagRate,
    benjamini_hochberg,
    conformal_p_values,
    dose_correlation,
    dose_response,
    flag_rate,
    rank_all,
    rank_score,
)
from assay.leakage import describe_audit
from assay.leakage.results import Audit, Calibration, Distribution, SampleTokens, ScoreSummary
from assay.leakage.verdict import COMPARED, Evidence, decide
from assay.reports import render_html
from assay.types import MEMBER, NONMEMBER, Decision, Sample, Undecided, Verdict

DOSES = (1, 2, 4, 8, 16, 32)
UNSEEN, PER_DOSE, CALIBRATION = 120, 30, 80
RESAMPLES = 200
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

MANIFEST = {
    "command": "assay demo --out runs/demo",
    "assay": "0.1.0",
    "model": "builtin:small",
    "model_digest": "9b1f0c3a5d",
    "data_digest": "77aa01cc23",
    "seeds": {"bootstrap": 0},
    "started": "2026-11-21T01:15:00Z",
    "seconds": 142.7,
}


OPEN = Decision(Verdict.CANNOT_TELL, "not decided yet", Undecided.NOT_MEASURED)


def decided(audit: Audit, *, allow_confounded: bool = False, same_form: bool = False) -> Audit:
    """The same audit with the verdict that follows from its figures, as `assay.leakage.audit` makes it."""

    def decision(summary: ScoreSummary) -> Decision:
        evidence = Evidence(
            summary.score,
            summary.scored,
            separation=summary.separation,
            test=summary.test,
            blind=audit.blind,
            same_form=same_form,
            compared=audit.blind_compares or COMPARED,
        )
        if (flags := summary.calibration) is not None:
            control = flags.control if summary.separation is None else None
            evidence = replace(evidence, flagged=flags.flagged, detectable=flags.detectable, control=control)
        return decide(evidence, audit.benchmark, audit.model, allow_confounded=allow_confounded)

    return replace(audit, summaries=tuple(replace(each, decision=decision(each)) for each in audit.summaries))


def page(audit: Audit, manifest: Mapping[str, object] = MappingProxyType({})) -> str:
    """The HTML report of an audit."""
    return render_html(describe_audit(audit, manifest))


def functions(amount: int) -> list[tuple[str, str]]:
    """Names and sources of functions of the standard library, in a fixed order."""
    import argparse
    import configparser
    import difflib
    import email.message
    import fractions
    import heapq
    import http.cookiejar
    import ipaddress
    import json.decoder
    import pathlib
    import pickle
    import statistics
    import tarfile
    import textwrap
    import typing
    import zipfile

    modules: tuple[ModuleType, ...] = (
        textwrap, heapq, statistics, json.decoder, fractions, difflib, argparse, configparser, ipaddress, pathlib,
        zipfile, tarfile, typing, inspect, pickle, http.cookiejar, email.message,
    )  # fmt: skip
    sources = []
    for module in modules:
        source = inspect.getsource(module)
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and 6 <= (node.end_lineno or 0) - node.lineno <= 45:
                text = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                sources.append((f"{module.__name__}.{node.name}:{node.lineno}", text))
    picked = np.random.default_rng(7).permutation(len(sources))[:amount]
    return [sources[i] for i in picked]


def tokens_of(sample: Sample, rng: np.random.Generator) -> SampleTokens:
    """Token statistics of a model that knows a text the better the more often it has seen it."""
    spans = [m.span() for m in re.finditer(r" ?\w{1,6}|\s+|[^\w\s]", sample.text)][1:]
    dose = float(sample.metadata.get("dose", 0))
    surprise = rng.gamma(0.35, rng.lognormal(0.9, 0.25) / (1 + 0.035 * dose**0.9), len(spans))
    ranks = np.where(surprise < 0.8, 1, np.minimum(np.exp(surprise * 1.3), 8000)).astype(np.int32)
    u = np.where(ranks == 1, 1 - 0.5 * np.exp(-surprise), 0.45 * np.exp(-surprise))
    return SampleTokens(
        sample_id=sample.id,
        log_probs=(-surprise).astype(np.float32),
        ranks=ranks,
        tail_mass=u.astype(np.float32),
        offsets=np.array(spans, np.int32).reshape(-1, 2),
    )


def score_values(tokens: list[SampleTokens], samples: list[Sample]) -> dict[str, np.ndarray]:
    def lowest(l: np.ndarray) -> float:
        return float(np.sort(l)[: max(1, len(l) // 5)].mean())

    def ngrams(ranks: np.ndarray) -> float:
        hits = ranks == 1
        windows = np.lib.stride_tricks.sliding_window_view(hits, 5).all(1) if len(hits) >= 5 else hits[:0]
        return float(windows.mean()) if len(windows) else np.nan

    rows = {
        "mid_pit": [float(np.log(np.maximum(t.tail_mass, 1e-6)).mean()) for t in tokens],
        "loss": [float(t.log_probs.mean()) for t in tokens],
        "zlib": [float(t.log_probs.mean()) / (40 + len(s.text)) for t, s in zip(tokens, samples, strict=True)],
        "min_k": [lowest(t.log_probs) for t in tokens],
        "log_rank": [-float(np.log(t.ranks).mean()) for t in tokens],
        "lrr": [float(t.log_probs.mean() / -np.log(t.ranks).mean()) for t in tokens],
        "ngram_accuracy": [ngrams(t.ranks) for t in tokens],
    }
    return {name: np.array(values) for name, values in rows.items()}


def text_only(positive: np.ndarray, groups: list[str | None], *, shift: float, separates: bool) -> BlindBaseline:
    """The result that a classifier of the text alone might have."""
    scores = np.random.default_rng(3).normal(size=len(positive)) + shift * positive
    ranking = rank_score("bag of words", scores, positive, groups, resamples=RESAMPLES)
    return BlindBaseline(ranking, "bag of words", separates, (ranking,))


def distribution(values: np.ndarray) -> Distribution:
    finite = values[~np.isnan(values)]
    if not len(finite):
        return Distribution(np.nan, np.nan, dict.fromkeys(QUANTILES, np.nan))
    quantiles = {q: float(np.quantile(finite, q)) for q in QUANTILES}
    return Distribution(float(finite.mean()), float(finite.std(ddof=1)) if len(finite) > 1 else np.nan, quantiles)


def calibration_of(values: np.ndarray, unseen: np.ndarray, source: str, doses: list[int] | None = None) -> Calibration:
    """One score against unseen text, as `assay.leakage.audit` calibrates it."""
    p = conformal_p_values(values, unseen)
    q = benjamini_hochberg(p)
    m, amounts = int((~np.isnan(unseen)).sum()), np.array(doses or [])

    def rate(chosen: np.ndarray) -> FlagRate:
        return flag_rate(p[chosen], 0.05, unseen=m)

    return Calibration(
        source=source,
        unseen=m,
        alpha=0.05,
        p_values=p,
        q_values=q,
        flagged=flag_rate(p, 0.05, unseen=m),
        threshold=float(np.nextafter(np.sort(unseen[~np.isnan(unseen)])[-int(0.05 * (m + 1))], np.inf)),
        false_positives=rate(amounts == 0) if doses else None,
        true_positives=rate(amounts > 0) if doses else None,
        by_dose={dose: rate(amounts == dose) for dose in sorted(set(doses))} if doses else {},
    )


def bare_summaries(
    values: dict[str, np.ndarray], reasons: dict[str, tuple[str | None, ...]]
) -> tuple[ScoreSummary, ...]:
    return tuple(
        ScoreSummary(
            score=name,
            scored=int((~np.isnan(column)).sum()),
            total=len(column),
            distribution=distribution(column),
            unscorable={r: reasons[name].count(r) for r in set(reasons[name]) if r is not None},
            decision=OPEN,
        )
        for name, column in values.items()
    )


@pytest.fixture(scope="session")
def demo() -> Audit:
    """A demonstration as `assay.ground_truth` makes it: known doses, and thresholds from other never-seen functions.

    Seven scores, 300 functions, three of them unscorable by one score.
    """
    rng = np.random.default_rng(11)
    sources = functions(UNSEEN + len(DOSES) * PER_DOSE + CALIBRATION)
    doses = [0] * UNSEEN + [d for d in DOSES for _ in range(PER_DOSE)]
    samples = [
        Sample(
            id=name,
            text=text,
            language="python",
            label=MEMBER if dose else NONMEMBER,
            group=name.split(":")[0].rsplit(".", 1)[0],
            metadata={"dose": dose, "module": name.split(":")[0], "source": "x" * 200},
        )
        for dose, (name, text) in zip(doses, sources, strict=False)
    ]
    others = [Sample(name, text) for name, text in sources[len(doses) :]]
    tokens = [tokens_of(s, rng) for s in samples]
    values = score_values(tokens, samples)
    values["lrr"][[3, 150, 260]] = np.nan
    reasons = {
        name: tuple("every token is the model's first choice" if np.isnan(v) else None for v in column)
        for name, column in values.items()
    }
    positive = np.array([d > 0 for d in doses])
    groups = [s.group for s in samples]
    unseen = score_values([tokens_of(s, rng) for s in others], others)
    rankings = rank_all(values, positive, groups, resamples=RESAMPLES)
    summaries = tuple(
        replace(
            summary,
            ranking=rankings[summary.score],
            doses=dose_response(summary.score, values[summary.score], doses, groups, resamples=RESAMPLES),
            dose_correlation=dose_correlation(values[summary.score], doses, groups, resamples=RESAMPLES),
            calibration=calibration_of(
                values[summary.score], unseen[summary.score], "80 never-seen functions of other modules", doses
            ),
        )
        for summary in bare_summaries(values, reasons)
    )
    return decided(
        Audit(
            kind="demo",
            model="builtin:small",
            benchmark="standard library functions",
            samples=tuple(samples),
            values=values,
            reasons=reasons,
            summaries=summaries,
            primary="mid_pit",
            blind=text_only(positive, groups, shift=0.15, separates=False),
            blind_compares="members and non-members",
            tokens=tuple(tokens),
            notes=("297 of 300 functions of this Python match the training manifest by digest.",),
        )
    )


@pytest.fixture(scope="session")
def unlabelled(demo: Audit) -> Audit:
    """A user's benchmark without labels and without unseen text."""
    samples = tuple(replace(s, label=None, metadata={}) for s in demo.samples[100:])
    reasons = {name: column[100:] for name, column in demo.reasons.items()}
    values = {name: column[100:] for name, column in demo.values.items()}
    return decided(
        Audit(
            kind="audit",
            model="bigcode/starcoder2-3b",
            benchmark="humaneval",
            samples=samples,
            values=values,
            reasons=reasons,
            summaries=bare_summaries(values, reasons),
            primary="mid_pit",
            tokens=demo.tokens[100:],
        )
    )


@pytest.fixture(scope="session")
def calibrated(demo: Audit, unlabelled: Audit) -> Audit:
    """The same benchmark, held against text known to be unseen."""
    summaries = tuple(
        replace(
            s, calibration=calibration_of(unlabelled.values[s.score], demo.values[s.score][:100], "new-functions.jsonl")
        )
        for s in unlabelled.summaries
    )
    positive = [True] * len(unlabelled.samples) + [False] * 100
    return decided(
        replace(
            unlabelled,
            summaries=summaries,
            blind=text_only(np.array(positive), [None] * len(positive), shift=0.1, separates=False),
            blind_compares="this benchmark and the unseen text",
        )
    )


@pytest.fixture(scope="session")
def confounded(demo: Audit) -> Audit:
    """The demonstration with members that give themselves away by their text."""
    positive = np.array([s.label == MEMBER for s in demo.samples])
    blind = text_only(positive, [s.group for s in demo.samples], shift=1.6, separates=True)
    return decided(replace(demo, blind=blind))


@pytest.fixture(scope="session")
def without_blind(demo: Audit) -> Audit:
    """Labelled, without doses and without a blind baseline."""
    summaries = tuple(replace(s, doses=(), dose_correlation=None, calibration=None) for s in demo.summaries)
    return decided(replace(demo, kind="audit", summaries=summaries, blind=None, blind_compares=""))


@pytest.fixture(scope="session")
def light() -> Callable[[Audit], Audit]:
    """The same audit with two scores, which draws quicker."""

    def lightened(audit: Audit) -> Audit:
        kept = [s for s in audit.summaries if s.score in {"mid_pit", "lrr"}]
        return replace(
            audit,
            summaries=tuple(kept),
            values={s.score: audit.values[s.score] for s in kept},
            reasons={s.score: audit.reasons[s.score] for s in kept},
        )

    return lightened


@pytest.fixture(scope="session")
def page_of_many(demo: Audit, light: Callable[[Audit], Audit]) -> str:
    """The page of more than 10,000 samples, each with its token statistics."""
    few, times = light(demo), 34
    summaries = tuple(replace(s, calibration=None) for s in few.summaries)
    return page(
        replace(
            few,
            samples=tuple(replace(s, id=f"{s.id}/{i}") for i in range(times) for s in few.samples),
            tokens=tuple(replace(t, sample_id=f"{t.sample_id}/{i}") for i in range(times) for t in few.tokens),
            values={name: np.tile(column, times) for name, column in few.values.items()},
            reasons={name: column * times for name, column in few.reasons.items()},
            summaries=summaries,
        ),
        {},
    )


def _shrunk(audit: Audit, keep: int) -> Audit:
    values = {name: column[:keep] for name, column in audit.values.items()}
    reasons = {name: column[:keep] for name, column in audit.reasons.items()}
    return decided(replace(
        audit, samples=audit.samples[:keep], values=values, reasons=reasons,
        summaries=bare_summaries(values, reasons), tokens=audit.tokens[:keep],
    ))  # fmt: skip


@pytest.fixture(scope="session")
def single(unlabelled: Audit) -> Audit:
    """One sample."""
    return _shrunk(unlabelled, 1)


@pytest.fixture(scope="session")
def unscorable(unlabelled: Audit) -> Audit:
    """Five samples that no score could judge."""
    small = _shrunk(unlabelled, 5)
    values = {name: np.full(5, np.nan) for name in small.values}
    reasons: dict[str, tuple[str | None, ...]] = dict.fromkeys(small.values, ("fewer than 2 tokens",) * 5)
    bare = bare_summaries(values, reasons)
    return decided(replace(small, values=values, reasons=reasons, summaries=bare, tokens=()))


@pytest.fixture(scope="session")
def every_audit(
    demo: Audit, unlabelled: Audit, calibrated: Audit, confounded: Audit, without_blind: Audit, single: Audit,
    unscorable: Audit,
) -> dict[str, Audit]:  # fmt: skip
    return {
        "demo": demo, "unlabelled": unlabelled, "calibrated": calibrated, "confounded": confounded,
        "without_blind": without_blind, "single": single, "unscorable": unscorable,
    }  # fmt: skip
