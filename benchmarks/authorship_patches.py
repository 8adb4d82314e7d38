"""Authorship: human patches of before 2020 that `assay detect --patch` flags, after calibration on still older code.

python benchmarks/authorship_patches.py --repository DIR … [--commits N] [--most N] [--declared DIR …] [--out FILE]

Each repository is calibrated on itself before 2017, three times: on the added lines of older commits, on functions,
and on whole files (`--by patch`, `function` and `file`). Then the added lines of N commits from 2017 to 2019, drawn at
random, are judged given the file around them. People wrote all of them, so every flag is a false positive; the nominal
rate is 5 %. `--most` bounds the pieces of a language and length class in a reference.

Repositories that the output file has already, and that are not named again, stay in it.

`--declared` are repositories with commits of today: the share of commits since 2024 that declare a generator, by kind
of signal. These are facts about commit messages, no judgements of style.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from assay.api import DetectorChoice, calibrate_authorship
from assay.authorship import CodeUnit, Commit, Detection, Reference, ReferenceUnit, added_units, codes_of, in_commits
from assay.authorship.detecting import NOMINAL, detect
from assay.authorship.reference import SHORTEST
from assay.authorship.units import adds_lines
from assay.errors import DataError
from assay.evaluation import flag_rate
from assay.files import write_json
from assay.provenance import git_output, patches_before

EARLY, LATE = date(2017, 1, 1), date(2020, 1, 1)
SINCE = date(2024, 1, 1)
UNITS: tuple[ReferenceUnit, ...] = ("patch", "function", "file")
OUT = Path(__file__).parent / "results" / "authorship" / "patches.json"


def main() -> int:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, action="append", default=[])
    parser.add_argument("--declared", type=Path, action="append", default=[])
    parser.add_argument("--commits", type=int, default=150)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    figures: dict[str, Any] = {"patches": {}, "declared": {}}
    figures |= json.loads(options.out.read_text()) if options.out.exists() else {}
    figures |= {"commits": options.commits, "most": options.most}
    for repository in options.declared:
        figures["declared"][_name(repository)] = row = declared(repository)
        print(_name(repository), json.dumps(row), flush=True)
    for repository in options.repository:
        figures["patches"][_name(repository)] = rows = measured(repository, options.commits, options.most)
        print(_name(repository), json.dumps(rows), flush=True)
        figures["all"] = {unit: summed(figures["patches"], unit) for unit in UNITS}
        write_json(options.out, figures)
    write_json(options.out, figures)
    print(json.dumps(figures.get("all")))
    return 0


def measured(repository: Path, commits: int, most: int) -> dict[str, dict[str, Any]]:
    """Return the rates of one repository by the unit of its reference."""
    units, owners = later_units(repository, commits)
    codes = codes_of(units)
    scored = DetectorChoice().open().score(units, None)
    rows: dict[str, dict[str, Any]] = {"pieces": {"units": len(units), "commits": len(set(owners))}}
    for unit in UNITS:
        try:
            detection = detect(units, codes, scored, (), reference_of(repository, unit, most))
        except DataError as error:
            rows[unit] = {"none": str(error)}
            continue
        answers = _answers(detection, owners)
        languages = sorted({language for *_, language in answers})
        rows[unit] = {
            **_rate([(p_value, owner) for p_value, owner, _ in answers]),
            "reference": len(detection.reference or ()),
            "realised in the reference": detection.realised.rate.value if detection.realised else None,
            "abstained": dict(detection.abstentions),
            "languages": {
                name: _rate([(p_value, owner) for p_value, owner, language in answers if language == name])
                for name in languages
            },
        }
        print(_name(repository), unit, json.dumps(rows[unit]), flush=True)
    return rows


def reference_of(repository: Path, unit: ReferenceUnit, most: int) -> Reference:
    """Return the code of a repository before 2017."""
    with tempfile.TemporaryDirectory() as folder:
        past = Path(folder) / "past.json"
        return calibrate_authorship([str(repository)], past, before=EARLY, choice=DetectorChoice(), by=unit, most=most)[
            0
        ]


def later_units(repository: Path, commits: int) -> tuple[list[CodeUnit], list[str]]:
    """Return the added lines of later commits by file, those that are long enough, and their commits."""
    units, owners = list[CodeUnit](), list[str]()
    for past in patches_before(repository, LATE, after=EARLY, most=commits):
        own = [unit for unit in added_units(past.patch, [past.file]) if unit.language] if adds_lines(past.patch) else []
        long = [unit for unit, code in zip(own, codes_of(own), strict=True) if len(code.tokens) >= SHORTEST]
        units += long
        owners += [past.commit] * len(long)
    return units, owners


def declared(repository: Path) -> dict[str, Any]:
    """Return the commits since 2024 and those that declare a generator, by kind of signal."""
    shape = "--format=%H%x00%an%x00%ae%x00%B%x00"
    log = git_output(repository, "log", "--no-merges", f"--since={SINCE.isoformat()}T00:00:00Z", shape, "HEAD")
    fields = [field.strip() for field in log.split("\0")[:-1]]
    commits = [Commit(*row) for row in zip(fields[::4], fields[1::4], fields[2::4], fields[3::4], strict=True)]
    kinds = Counter(signal.kind for signal in in_commits(commits))
    return {"commits": len(commits), "declaring": sum(kinds.values()), "kinds": dict(kinds)}


def summed(repositories: Mapping[str, Mapping[str, Any]], unit: ReferenceUnit) -> dict[str, Any]:
    """Return the flagged and judged pieces of all repositories."""
    rows = [rates[unit] for rates in repositories.values() if rates[unit].get("judged")]
    flagged, judged = sum(row["flagged"] for row in rows), sum(row["judged"] for row in rows)
    return {"flagged": flagged, "judged": judged, "share": flagged / judged if judged else None}


def _answers(detection: Detection, owners: Sequence[str]) -> list[tuple[float, str, str]]:
    """Return bound, commit and language of each piece with an answer."""
    return [
        (float(row.judgement.bound), owner, str(row.unit.language))
        for row, owner in zip(detection.results, owners, strict=True)
        if row.judgement is not None and row.judgement.bound is not None
    ]


def _rate(answers: Sequence[tuple[float, str]]) -> dict[str, Any]:
    """Return the share of bounds of at most 5 %, with an interval over commits."""
    if not answers:
        return {"flagged": 0, "judged": 0}
    bounds, groups = zip(*answers, strict=True)
    rate = flag_rate(np.array(bounds), NOMINAL, groups=list(groups))
    values = {"flagged": rate.flagged, "judged": rate.samples, "share": rate.rate.value}
    if np.isnan(rate.rate.low):  # too few commits for an interval
        return values
    return {**values, "low": rate.rate.low, "high": rate.rate.high}


def _name(repository: Path) -> str:
    return repository.name


if __name__ == "__main__":
    sys.exit(main())
