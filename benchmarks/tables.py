"""The tables of docs/benchmarks.md, made from results/*.json.

python benchmarks/tables.py            write them into the page
python benchmarks/tables.py --check    exit with 1 where the page says something else
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from decision_tables import (
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
from index_tables import encoder, encoder_speed, fingerprints, index, index_build, points, scale, service, vectors
from provenance_tables import (
    confidence,
    confidence_languages,
    confidence_of_copies,
    licence_gate,
    licence_plants,
    licences,
    pairs,
    provenance_peers,
    provenance_peers_cost,
)
from scoring_tables import (
    classifier_reading,
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
from table_cells import File

FOLDER = Path(__file__).parent


PAGE = FOLDER.parent / "docs" / "benchmarks.md"


MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


UNMEASURED = "Not measured yet.\n"


def machine(files: Mapping[str, File]) -> str:
    """On what it was measured; scripts may have run on different machines."""
    described = set()
    for file in files.values():
        if "machine" not in file:  # a report that a command wrote, without the frame of `measuring.write`
            continue
        on = file["machine"]
        described.add(
            f"- {on.get('gpu', on['processor'])}, {on['cores']} cores, {on['torch_threads']} torch threads, "
            f"{on['device']}; Python {on['python']}, torch {on['torch']}, transformers {on['transformers']}; "
            f"{file['measured']}\n"
        )
    return "".join(sorted(described)) or UNMEASURED


TABLES: Mapping[str, tuple[str, Callable[[File], str]]] = {
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
    "classifier-reading": ("classifier_reading", classifier_reading),
    "confidence": ("confidence", confidence),
    "confidence-languages": ("confidence_languages", confidence_languages),
    "confidence-languages-windows": ("confidence_languages_windows", confidence_languages),
    "confidence-of-copies": ("confidence_languages", confidence_of_copies),
    "index": ("index", index),
    "scale": ("scale", scale),
    "licences": ("licences", licences),
    "licence-gate": ("licence_gate", licence_gate),
    "licence-plants": ("licence_gate", licence_plants),
    "pairs": ("pairs", pairs),
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
    "encoder": ("encoder", encoder),
    "encoder-speed": ("encoder", encoder_speed),
    "variants-languages": ("variants_languages", variants),
    "test-cases": ("test_cases", test_cases),
    "variant-kinds": ("variant_kinds", variant_kinds),
}
"""Name of a table in the page → file it is made from, and how."""


def rendered(page: str, folder: Path) -> str:
    """The page with every marked table as the files in `folder` have it, those of a GPU below those of the CPU."""
    files = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}

    def of(name: str) -> str:
        if name == "machine":
            return machine(files)
        stem, make = TABLES[name]
        parts = [make(files[stem])] if stem in files else [UNMEASURED]
        if f"{stem}-cuda" in files:
            parts.append(f"\nOn a GPU:\n\n{make(files[f'{stem}-cuda'])}")
        return "".join(parts)

    return MARKED.sub(lambda mark: f"{mark[1]}\n{of(mark[2])}\n{mark[3]}", page)


def main() -> int:
    """Write or check the page."""
    before = PAGE.read_text("utf-8")
    after = rendered(before, FOLDER / "results")
    if "--check" in sys.argv[1:]:
        if before != after:
            print("docs/benchmarks.md is not what benchmarks/tables.py makes of benchmarks/results", file=sys.stderr)
        return int(before != after)
    PAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
