"""Requests and answers."""

from typing import Literal

from pydantic import BaseModel, Field

from assay.provenance import Origin, SearchMethod
from assay.types import Match

MOST_MATCHES = 100
LONGEST_NAME = 64
"""Characters of the name of a language."""


class TraceRequest(BaseModel):
    """Code whose sources are requested."""

    code: str = Field(min_length=1, description="Source code: a fragment, a function or a file.")
    # the limit also makes pydantic refuse invalid Unicode, which no answer could repeat
    language: str | None = Field(
        None, max_length=LONGEST_NAME, description="Its language; without it, the language of the best matches."
    )
    method: SearchMethod | None = Field(None, description="A method that the index can serve; by default the best.")
    top: int = Field(10, ge=1, le=MOST_MATCHES, description="Largest number of sources.")


class Refusal(BaseModel):
    """An answer without a result."""

    detail: str = Field(description="One line: what was received, and what was expected.")


class TraceAnswer(BaseModel):
    """Ranked sources, and the basis of the answer."""

    matches: list[Match]
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
