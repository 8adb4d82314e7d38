"""The marked tables of the pages in docs/results, made from the files in lab/results."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import methodcaller
from pathlib import Path

from assay_lab.pages.decision_tables import (
    calibration,
    detector_ideas,
    dose_power,
    flagged_share,
    interval_figures,
    interval_methods,
    length_shift,
    set_null,
    set_power,
    strict_min,
)
from assay_lab.pages.index_tables import (
    encoder,
    encoder_speed,
    fingerprints,
    graph,
    index,
    index_build,
    points,
    scale,
    service,
    vectors,
)
from assay_lab.pages.provenance_tables import (
    agent_readings,
    confidence,
    confidence_languages,
    confidence_of_copies,
    licence_cases,
    licence_gate,
    licence_gate_clean,
    licence_gate_languages,
    licence_heads,
    licence_plants,
    licences,
    pairs,
    pasted_language,
    provenance_peers,
    provenance_peers_cost,
    unread,
)
from assay_lab.pages.release_tables import (
    release_black_box,
    release_cost,
    release_difficulty,
    release_harm,
    release_harnesses,
    release_null,
    release_power,
    release_pretrained,
    release_statistic,
    release_statistic_pretrained,
    release_twins,
)
from assay_lab.pages.scan_tables import (
    scan_beside_datatrove,
    scan_cost,
    scan_false_rows,
    scan_recall,
    scan_recall_benchmarks,
    scan_speed,
)
from assay_lab.pages.scoring_tables import (
    dataset,
    generation,
    growth,
    memory,
    ngram,
    one_pass,
    peers,
    programs,
    quantisation,
    srdetection,
    test_cases,
    variant_kinds,
    variants,
)
from assay_lab.pages.table_cells import File
from assay_lab.pages.verdict_tables import (
    early_verdicts,
    kds_correlations,
    kds_options,
    score_kinds,
    verdict_allowances,
    verdict_familiar_share,
    verdict_goals,
    verdict_languages,
    verdict_methods,
    verdict_redecided,
    verdict_same_projects,
    verdict_sizes,
    verdict_tuned,
)

MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


UNMEASURED = "Not measured yet.\n"


def machine(files: Mapping[str, File]) -> str:
    """On what it was measured; scripts may have run on different machines."""
    described = set()
    for file in files.values():
        # a report that a command wrote, without the frame of an experiment
        if "machine" not in file:
            continue
        on = file["machine"]
        described.add(
            f"- {on.get('gpu', on['processor'])}, {on['cores']} cores, {on['torch_threads']} torch threads, "
            f"{on['device']}; Python {on['python']}, torch {on['torch']}, transformers {on['transformers']}; "
            f"{file['measured']}\n"
        )
    return "".join(sorted(described)) or UNMEASURED


TABLES: Mapping[str, tuple[str, Callable[..., str]]] = {
    "one-pass": ("one_pass", one_pass),
    "srdetection": ("srdetection", srdetection),
    "peers": ("peers", peers),
    "programs": ("peers", programs),
    "ngram": ("ngram", ngram),
    "generation": ("generation", generation),
    "memory": ("memory", memory),
    "growth": ("growth", growth),
    "calibration": ("calibration", calibration),
    "quantisation": ("quantisation", quantisation),
    "fingerprints": ("fingerprints", fingerprints),
    "confidence": ("confidence", confidence),
    "confidence-languages": ("confidence_languages", confidence_languages),
    "confidence-languages-windows": ("confidence_languages_windows", confidence_languages),
    "confidence-python": ("confidence_python", confidence_languages),
    "confidence-of-copies": ("confidence_languages", confidence_of_copies),
    "index": ("index", index),
    "scale": ("scale", scale),
    "licences": ("licences", licences),
    "licence-cases": ("provenance/licence_cases", licence_cases),
    "licence-heads": ("provenance/licence_heads", licence_heads),
    "licence-gate": ("licence_gate", licence_gate),
    "licence-plants": ("licence_gate", licence_plants),
    "licence-gate-languages": ("licence_gate_languages", licence_gate_languages),
    "licence-gate-clean": ("licence_gate_languages", licence_gate_clean),
    "unread": ("unread", unread),
    "agent-readings": ("agent_readings", agent_readings),
    "scan-recall": ("scan/recall", scan_recall),
    "scan-recall-benchmarks": ("scan/recall", scan_recall_benchmarks),
    "scan-false-rows": ("scan/false_rows", scan_false_rows),
    "scan-speed": ("scan/speed", scan_speed),
    "scan-beside-datatrove": ("scan/speed", scan_beside_datatrove),
    "scan-cost": ("scan/speed", scan_cost),
    "pairs": ("pairs", pairs),
    "pasted-language": ("pasted_language", pasted_language),
    "provenance-peers": ("provenance_peers", provenance_peers),
    "provenance-peers-cost": ("provenance_peers", provenance_peers_cost),
    "service": ("service", service),
    "dataset": ("dataset", dataset),
    "dose-power": ("set_power", dose_power),
    "strict-min": ("set_power", strict_min),
    "detector-ideas": ("detector_ideas", detector_ideas),
    "set-null": ("detector_ideas", set_null),
    "set-power": ("detector_ideas", set_power),
    "interval-methods": ("interval_coverage", interval_methods),
    "interval-figures": ("interval_coverage", interval_figures),
    "flagged-share": ("flagged_share", flagged_share),
    "length-shift": ("length_shift", length_shift),
    "variants": ("variants", variants),
    "index_build": ("index_build", index_build),
    "points": ("points", points),
    "vectors": ("vectors", vectors),
    "graph": ("graph", graph),
    "encoder": ("encoder", encoder),
    "encoder-speed": ("encoder", encoder_speed),
    "variants-languages": ("variants_languages", variants),
    "test-cases": ("test_cases", test_cases),
    "variant-kinds": ("variant_kinds", variant_kinds),
    "verdict-goals": ("dataset/reliability-packages", verdict_goals),
    "verdict-methods": ("dataset/reliability-packages", verdict_methods),
    "verdict-tuned": ("dataset/reliability-packages", verdict_tuned),
    "verdict-allowances": ("dataset/reliability-packages", verdict_allowances),
    "verdict-same-projects": ("dataset/reliability-packages", verdict_same_projects),
    "verdict-familiar-share": ("dataset/reliability-packages", verdict_familiar_share),
    "verdict-sizes": ("dataset/reliability-packages", verdict_sizes),
    "verdict-languages": ("dataset/reliability-javascript+dataset/reliability-java", verdict_languages),
    "early-verdicts": ("early_verdicts", early_verdicts),
    "verdict-redecided": ("dataset/redecided", verdict_redecided),
    "score-kinds": ("dataset/kinds", score_kinds),
    "kds-correlations": ("dataset/kds-table-1+dataset/kds-table-1-arxivtection", kds_correlations),
    "release-null": ("release/null", release_null),
    "release-statistic": ("release/statistic", release_statistic),
    "release-statistic-pretrained": ("release/statistic_pretrained", release_statistic_pretrained),
    "release-power": ("release/power", release_power),
    "release-power-synonyms": ("release/power_synonyms", release_power),
    "release-pretrained": ("release/pretrained", release_pretrained),
    "release-twins": ("release/twins", release_twins),
    "release-difficulty": ("release/difficulty", release_difficulty),
    "release-black-box": ("release/black_box", release_black_box),
    "release-harm": ("release/harm", release_harm),
    "release-cost": ("release/cost", release_cost),
    "release-harnesses": ("release/harnesses", release_harnesses),
    "kds-options": ("dataset/kds-table-2+dataset/kds-table-3", kds_options),
}
"""Name of a table in a page → the files it is made from, with `+` between them, and how."""


def rendered(page: str, folder: Path) -> str:
    """The page with every marked table as the files in `folder` have it, those of a GPU below those of the CPU."""

    # several tables of a page are made of one file
    @cache
    def files(stems: str) -> tuple[File, ...] | None:
        paths = [folder / f"{stem}.json" for stem in stems.split("+")]
        return tuple(map(read, paths)) if all(map(methodcaller("exists"), paths)) else None

    def of(name: str) -> str:
        if name == "machine":
            return machine({path.stem: read(path) for path in sorted(folder.glob("*.json"))})
        stems, make = TABLES[name]
        of_cpu, of_gpu = files(stems), files(f"{stems}-cuda")
        parts = [UNMEASURED if of_cpu is None else make(*of_cpu)]
        if of_gpu is not None:
            parts.append(f"\nOn a GPU:\n\n{make(*of_gpu)}")
        return "".join(parts)

    return MARKED.sub(lambda mark: f"{mark[1]}\n{of(mark[2])}\n{mark[3]}", page)


def read(path: Path) -> File:
    """The content of a result file."""
    content: File = json.loads(path.read_text("utf-8"))
    return content
