"""Findings in the JSON of `assay trace --json` and of the service.

The published schema of the command is `docs/schemas/trace-VERSION.json`. A new field needs a higher last number of
`TRACE_VERSION`, and a field that changes its meaning or is removed a higher first number.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class PlaceData(BaseModel):
    """A file of the corpus with the code of a finding."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    document_id: int
    """Number of the document in the index."""
    name: str | None
    """Dotted name of the function; null for a whole file."""
    lines: list[str]
    """Matched lines of the file, as 4-10."""
    source: str
    """Corpus that the index was built of."""
    path: str
    repository: str | None
    commit: str | None
    licence: str
    """SPDX expression, or unknown."""
    author: str | None
    url: str | None
    first_line: int
    content: str | None
    """SHA-1 of the file as git has it for a blob; null where it is not known."""
    purl: str | None
    """Package URL of the package that the file belongs to; null where it is not known."""
    declared: str | None
    """Licence that the package or folder around the file states; another one than `licence` is a conflict."""
    swhid: str | None
    """Identifier of the matched lines, as Software Heritage has them."""


class FindingFields(BaseModel):
    """One source of code, and how much of which part of the code it has."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    headline: str
    """Licence, matched lines, part of the file and source, in one line."""
    lines: list[str]
    """Matched lines of the traced file, as 4-10; empty for a match by vector alone."""
    first_line: int
    part: Literal["file", "function", "remainder"]
    name: str | None
    """Name of the function; null for the file or its remainder."""
    is_copy: bool
    """True for enough common lines; false for a weaker match."""
    by: Literal["characters", "tokens", "vector"]
    """characters: the same code; tokens: under other names; vector: similar code only."""
    matched_lines: int
    different_lines: int
    part_lines: int
    longest_run: int
    containment: float
    similarity: float
    confidence: float | None
    """Null where it was not calibrated."""
    cosine: float | None
    licences: list[str]
    conflict: list[str]
    """Licences of all sources of these lines, if there are several."""
    licence_reader: str | None
    """Name and version of what read the licences, as recorded in the index; null of an older index."""
    places: list[PlaceData]
    """Where the corpus has this code, best first; at least one."""
