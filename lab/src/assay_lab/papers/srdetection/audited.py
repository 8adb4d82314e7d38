"""Figure 2 and Table 9 as the paper has them: public models × benchmarks, audited without training.

Each model is audited on all benchmarks before the next one is opened, and every share is kept: a run that was killed
goes on where it was, and a model that cannot be opened is named and left out.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.errors import DataError, ModelError
from assay.evaluation import Estimate
from assay.files import write_json
from assay.models import CachedScorer, StatisticsCache, cached_generator, combined, open_local
from assay.scores import ModelRole, requests
from assay.scoring import plan, score_samples
from assay.types import Float64Array, LogProbScorer, Sample
from assay_lab.columns import group_column, id_column, text_column
from assay_lab.experiments.bench import AUDITED, Bench, label_of
from assay_lab.experiments.finding import Finding, HeatMap, Value, ValueRow
from assay_lab.experiments.named_data import named_dataset
from assay_lab.experiments.papers import PrintedTable, paper
from assay_lab.mappings import enumerated, map_values
from assay_lab.papers.printed import paper_headings, printed_values, value_table
from assay_lab.papers.srdetection.detectors import rule_share
from assay_lab.testbed import STATISTICS, opened_rewriter, rewriting_notes

PAPER = paper("srdetection")
PROSE = {"apps", "mbpp"}
"""Benchmarks whose tasks are prose: of these the solution is the text, as in the paper's testbed."""
TITLES = {"apps": "APPS", "humaneval": "HumanEval", "mbpp": "MBPP", "bigcodebench": "BigCodeBench"}
"""Benchmark → its name in the paper."""
BENCHMARKS = tuple(TITLES)
Sets = Mapping[str, Sequence[Sample]]


def code_of(bench: Bench) -> dict[str, list[Sample]]:
    """Return the texts of each benchmark of a bench."""
    # of a rehearsal; else all
    limit = bench.sizes.get("srdetection", {}).get("texts")
    sets = {}
    for name, place in bench.data.items():
        part = "solution" if {name, str(place)} & PROSE else None
        texts = named_dataset(name, place, part=part, limit=limit).samples
        # some problems of APPS have no solution
        sets[name] = list(filter(attrgetter("text"), texts))
    return sets


def audit_finding(bench: Bench, name: str, title: str, *, score: str, printed: PrintedTable | None) -> Finding:
    """Return the share of each benchmark that SrDetection's rule calls leaked under each model.

    Args:
        bench: with the benchmarks, and models in place of the paper's.
        name: of the experiment.
        title: one line.
        score: whose value above 0 calls a text leaked.
        printed: the paper's table; its models are audited, and its values stand beside ours. None for all models.

    Raises:
        DataError: no model could be audited.
    """
    named = {label: model for label, model in PAPER.audited.items() if printed is None or label in printed.values}
    models = dict(zip(map(label_of, bench.models), bench.models, strict=True)) or named
    sets = code_of(bench)
    columns = list(map(TITLES.get, sets, sets))
    rows, left_out = [], []
    shares: dict[tuple[str, str], float] = {}
    for label, model in models.items():
        try:
            own = shares_of(bench, model, sets, score=score)
        except ModelError as reason:
            # which is to show that every model runs
            if bench.is_rehearsal:
                raise
            left_out.append(f"{label} was not audited: {reason}")
            continue
        theirs: list[Value] = []
        if printed:
            theirs = list(printed_values(printed, label)) if label in printed.values else [None] * len(printed.columns)
        rows.append(ValueRow(label, (*own.values(), *theirs)))
        values = [share.value if share else np.nan for share in own.values()]
        shares |= zip(product([label], columns), values, strict=True)
    if not rows:
        raise DataError(f"{name}: no model could be audited; {left_out[0]}")
    heads = [*columns, *(paper_headings(map(str, printed.columns)) if printed else ())]
    variants = bench.configurations[0].judging.variants
    return Finding(
        name=name,
        title=title,
        tables=(value_table("flagged", "Share called leaked", head="model", columns=heads, rows=rows, unit="percent"),),
        notes=(
            f"Texts: {enumerated(map_values(len, sets))}; of APPS and MBPP the solutions. {variants} variants each.",
            f"If names meant nothing, the rule would call {1 / (variants + 1):.0%} leaked. No model is trained.",
            "The paper's Figure 2 is a picture of 15 models; beyond the six of its Table 9 the list is ours.",
            *rewriting_notes(bench.out / AUDITED),
            *left_out,
        ),
        seeds=(),
        # the middle of the colours is what chance calls leaked: one of the text and its variants is the easiest
        heat_maps=(HeatMap("flagged", "Share called leaked", shares, middle=1 / (variants + 1)),),
    )


def shares_of(bench: Bench, model: str, sets: Sets, *, score: str) -> dict[str, Estimate | None]:
    """Return benchmark → the share called leaked under a model; values that are on disk are read.

    Raises:
        ModelError: the model cannot be opened or run.
    """
    judging = bench.configurations[0].judging
    folder, paths = bench.out / AUDITED, {}
    for name, samples in sets.items():
        texts = list(zip(id_column(samples), text_column(samples), strict=True))
        # variants of another engine, or other names, give other values
        engine = [judging.engine, *judging.changes, judging.names, judging.rename, judging.variants]
        paths[name] = folder / f"{combined([model, score, texts, engine])[:16]}.json"
    if missing := [name for name, path in paths.items() if not path.exists()]:
        opened = open_local(model, device=judging.device, dtype=judging.dtype)
        folder.mkdir(parents=True, exist_ok=True)
        with StatisticsCache(folder / STATISTICS) as cache, opened_rewriter(folder, judging, opened) as rewriter:
            generator = cached_generator(opened, cache, digest=opened.generation_digest)
            scorers: Mapping[ModelRole, LogProbScorer] = {"target": CachedScorer(opened, cache)}
            work = plan(requests(score), scorers, generator=generator, rewriter=rewriter)
            for name in missing:
                bench.watchers.begin(f"{label_of(model)} on {name}")
                values = score_samples(sets[name], work, progress=bench.watchers.scoring).values[score]
                stored = [None if np.isnan(value) else value for value in values.tolist()]
                write_json(paths[name], {"model": label_of(model), "benchmark": name, "score": score, "values": stored})
        # the statistics of a benchmark fill gigabytes
        (folder / STATISTICS).unlink(missing_ok=True)
    groups = map_values(group_column, sets)
    return {name: rule_share(stored_values(path), groups[name], judging.ties) for name, path in paths.items()}


def stored_values(path: Path) -> Float64Array:
    """Return the values of a file of `shares_of`."""
    values = json.loads(path.read_text("utf-8"))["values"]
    return np.array([np.nan if value is None else value for value in values])
