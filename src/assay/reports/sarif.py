"""SARIF 2.1.0, the format that code hosts accept (OASIS standard, 27 March 2020): what every log of ours has."""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from assay._version import __version__
from assay.escaping import sarif_message

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(rules: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one run of results; the rule of each is named by its id, and its place among the rules is added."""
    places = dict(zip(map(itemgetter("id"), rules), range(len(rules)), strict=True))
    driver = {"name": "assay", "version": __version__, "rules": list(rules)}
    numbered = [{**result, "ruleIndex": places[result["ruleId"]]} for result in results]
    # columns of ours count characters, not units of UTF-16, which a reader is not to guess
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": numbered}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def joined_logs(*logs: Mapping[str, Any]) -> dict[str, Any]:
    """Return several runs as one, with the rules and the results of all."""
    rules, results = [], []
    for run in chain.from_iterable(map(itemgetter("runs"), logs)):
        rules += run["tool"]["driver"]["rules"]
        results += run["results"]
    return sarif_log(rules, results)


def sarif_result(
    rule: str, text: str, level: str = "note", *, locations: Sequence[Mapping[str, Any]] = (), **further: object
) -> dict[str, Any]:
    """Return one result; names in its text are escaped, since a viewer reads Markdown there."""
    result: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": sarif_message(text)}}
    if locations:
        result["locations"] = list(locations)
    return result | further


def file_location(path: str, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    """Return lines of a file of this machine, its path in the bytes of its name."""
    # a name that is not UTF-8 keeps its bytes
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(path.encode("utf-8", "surrogateescape"))}}
    if first is not None:
        place["region"] = {"startLine": first}
        if last is not None:
            place["region"]["endLine"] = max(first, last)
    return {"physicalLocation": place}
