"""Requests and answers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from assay.provenance import Origin, SearchMethod

MOST_MATCHES = 100
LEAST_CONFIDENCE = 0.95
"""Confidence that a source needs unless a request says otherwise, as on the command line."""

LONGEST_NAME = 64
"""Characters of the name of a language."""


class TraceRequest(BaseModel):
    """Code whose sources are requested."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, description="Source code: a fragment, a function or a file.")
    # the limit also makes pydantic refuse invalid Unicode, which no answer could repeat
    language: str | None = Field(
        None, max_length=LONGEST_NAME, description="Its language; without it, the language of the best matches."
    )
    method: SearchMethod | None = Field(None, description="A method that the index can serve; by default the best.")
    top: int = Field(10, ge=1, le=MOST_MATCHES, strict=True, description="Largest number of sources.")
    min_confidence: float = Field(
        LEAST_CONFIDENCE, ge=0, le=1, strict=True, description="Least confidence of a source; 0 for all."
    )


class Refusal(BaseModel):
    """An answer without a result."""

    detail: str = Field(description="One line: what was received, and what was expected.")


class PlaceAnswer(BaseModel):
    """A file of the corpus with the code of a finding."""

    document_id: int = Field(description="Number of the document with the code, for `/api/documents`.")
    name: str | None = Field(description="Name of the function; null for a whole file.")
    lines: list[str] = Field(description="Matched lines of the file, as 4-10.")
    source: str
    path: str
    repository: str | None
    commit: str | None
    licence: str
    author: str | None
    url: str | None
    first_line: int
    content: str | None = Field(description="SHA-1 of the file as git has it for a blob; null where it is not known.")
    swhid: str | None = Field(description="Identifier of the matched lines of the file, as Software Heritage has them.")


class FindingAnswer(BaseModel):
    """One source, and how much of which part of the code it has."""

    headline: str = Field(description="Licence, matched lines, part of the code and source, in one line.")
    lines: list[str] = Field(description="Matched lines of the code, as 4-10.")
    first_line: int
    part: Literal["file", "function", "remainder"]
    name: str | None = Field(description="Name of the function; null for the file or the code outside of functions.")
    is_copy: bool = Field(description="True for enough common lines; false for a weaker match.")
    by: str = Field(description="characters: the same code; tokens: under other names; vector: similar code only.")
    matched_lines: int
    different_lines: int
    part_lines: int
    longest_run: int
    containment: float
    similarity: float
    confidence: float | None
    cosine: float | None
    licences: list[str]
    conflict: list[str] = Field(description="Licences of all sources of these lines, if there are several.")
    places: list[PlaceAnswer]


class TraceAnswer(BaseModel):
    """The verdict, the sources, and the basis of the answer."""

    verdict: str = Field(description="The answer in one sentence.")
    findings: list[FindingAnswer]
    further: int = Field(description="Sources that `top` left out.")
    too_short: str | None = Field(description="Reason why the code cannot be judged; null where it can.")
    explanation: str
    method: str
    language: str | None


class DocumentAnswer(BaseModel):
    """One document of the index with all its origins."""

    id: int
    text: str
    language: str | None
    kind: Literal["file", "function"]
    name: str | None
    first_line: int
    origins: list[Origin]


class InfoAnswer(BaseModel):
    """Description of the index."""

    documents: int
    origins: int
    profile: str
    encoder: str | None
    languages: list[str]
    methods: list[str]
    version: str
