"""Is copyleft found where a source file names it, and is it never read as permissive?

CASES is a table of files with the licences that ScanCode's authors expect of them, on purpose a hard set. Each is read
as a file of a folder whose LICENSE is MIT: a source file as the index reads it, another text as a licence file. The
files are halved by a digest of their name; the rules were written with half `a` alone in sight. `found`: the answer
names a GNU licence; `unknown`: it is not known, so a gate ends with 3; `as_permissive`: the answer passes a gate
against copyleft, and the truth does not; `as_copyleft`: the other way about. `right` and `wrong` count all files with
an answer: equivalent to the truth, or not.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from license_expression import ExpressionError, get_license_index, get_spdx_licensing

from assay.languages import language_of
from assay.licences import UNKNOWN_LICENCE, licence_of_file, licence_of_text, read_rules
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result

OF_FOLDER = "MIT"
GNU = re.compile(r"\b(?:[AL]?GPL|GFDL)-\d")
COMMENT = re.compile(r"\s*(?:/\*|//|#(?! )|# \w|--|;;|\(\*|<!--|dnl)")
LICENSING = get_spdx_licensing()


def run(scale: None, seed: int, data: Data) -> Result:
    """Is copyleft found in the heads of files, and never read as permissive?"""
    lines = gzip.decompress((data["cases"] / "files.jsonl.gz").read_bytes()).splitlines()
    cases = list(map(json.loads, lines))
    rows = [figures(cases, half, kind) for half, kind in product(("a", "b"), ("source", "text"))]
    return Result(rows, [f"{len(cases)} files; half b was first read when the rules were written."])


def half_of(name: str) -> str:
    """Return the half of a file, by a digest of its name."""
    return "a" if hashlib.sha256(f"split {name}".encode()).digest()[0] % 2 == 0 else "b"


def is_source(case: Mapping[str, str]) -> bool:
    """Return True for a source file: by its suffix, or because it begins with a comment."""
    suffix = PurePosixPath(case["id"]).suffix
    return (suffix != ".txt" and language_of(case["id"]) is not None) or bool(COMMENT.match(case["text"]))


def figures(cases: Sequence[Mapping[str, Any]], half: str, kind: str) -> dict[str, object]:
    """Return the counts over the files of one half and kind."""
    rules = read_rules(["copyleft"])
    names = ("files", "gnu", "found", "gnu_unknown", "copyleft", "denied", "as_permissive", "as_copyleft")
    counts = dict.fromkeys((*names, "right", "wrong"), 0)
    for case in cases:
        texts = {"id": str(case["id"]), "text": str(case["text"])}
        if half_of(texts["id"]) != half or is_source(texts) != (kind == "source"):
            continue
        truth = truth_of(case["license_expressions"])
        if kind == "source":
            stated = licence_of_file(None, texts["text"], OF_FOLDER)
        else:
            stated = licence_of_text(texts["text"].encode()) or UNKNOWN_LICENCE
        is_gnu, is_copyleft = bool(GNU.search(truth)), rules.deny(truth)
        is_unknown, is_denied = stated == UNKNOWN_LICENCE, rules.deny(stated)
        counts["files"] += 1
        counts["gnu"] += is_gnu
        counts["found"] += is_gnu and bool(GNU.search(stated))
        counts["gnu_unknown"] += is_gnu and is_unknown
        counts["copyleft"] += is_copyleft
        counts["denied"] += is_copyleft and is_denied
        counts["as_permissive"] += is_copyleft and not is_denied and not is_unknown
        counts["as_copyleft"] += is_denied and not is_copyleft
        own = licence_of_file(None, texts["text"], None) if kind == "source" else stated
        if own != UNKNOWN_LICENCE:
            counts[("wrong", "right")[is_same(own, truth)]] += 1
    row: dict[str, object] = {"half": half, "kind": kind, **counts, "found_share": None, "interval": []}
    if counts["gnu"]:
        share = wilson(counts["found"], counts["gnu"])
        row |= {"found_share": share.value, "interval": [share.low, share.high]}
    return row


def truth_of(expressions: Iterable[str]) -> str:
    """Return the expected licences of a file as one SPDX expression."""
    parts = dict.fromkeys(map(spdx_of, expressions))
    return " AND ".join(map("({})".format, parts))


def spdx_of(expression: str) -> str:
    """Return an expression of ScanCode's keys in SPDX identifiers."""
    # operators are in capitals, keys are not
    return re.sub(r"[\w.+-]+", lambda match: match[0] if match[0].isupper() else key(match[0]), expression)


def key(name: str) -> str:
    """Return the SPDX identifier of one of ScanCode's keys."""
    return keys().get(name) or f"LicenseRef-scancode-{name}"


@cache
def keys() -> Mapping[str, str]:
    """SPDX identifiers by ScanCode's key."""
    return dict(map(itemgetter("license_key", "spdx_license_key"), get_license_index()))


def is_same(stated: str, truth: str) -> bool:
    """Return True if two expressions are equivalent."""
    try:
        return bool(LICENSING.is_equivalent(LICENSING.parse(stated), LICENSING.parse(truth)))
    except ExpressionError:
        return stated == truth


EXPERIMENTS = (
    Experiment(
        name="provenance/licence_heads",
        run=run,
        scales={"smoke": None, "full": None},
        columns=(
            "half",
            "kind",
            "gnu",
            "found",
            "gnu_unknown",
            "copyleft",
            "as_permissive",
            "as_copyleft",
            "right",
            "wrong",
        ),
        needs={
            "cases": "a folder with files.jsonl.gz: rows of `id`, `text` and `license_expressions` (ScanCode's keys), "
            "of the folder tests/licensedcode/data of github.com/aboutcode-org/scancode-toolkit"
        },
        stored="provenance/licence_heads",
    ),
)
