"""Requests and answers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from assay.corpora import Origin
from assay.provenance import SearchMethod, Thresholds
from assay.provenance.findings.schema import FindingFields
from assay.settings import declared

MOST_MATCHES = 100
_, CONFIDENCE_SETTING = declared(Thresholds)
"""The threshold as the command line has it."""

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
        CONFIDENCE_SETTING.default,
        ge=CONFIDENCE_SETTING.setting.least,
        le=CONFIDENCE_SETTING.setting.most,
        strict=True,
        description=CONFIDENCE_SETTING.setting.help,
    )


class LicenceRequest(BaseModel):
    """A file whose licence is requested."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, description="The file, or its head.")


class LicenceAnswer(BaseModel):
    """The licence that a file states."""

    licence: str = Field(description="SPDX expression; unknown where nothing is stated, or nothing that is known.")
    families: list[str] = Field(description="Families that leave no choice but one of them: copyleft, permissive …")


class DetectRequest(BaseModel):
    """Code, or a patch with its message, in which declarations are looked for."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, description="A file; or a patch of `git format-patch`, with its message.")


class SignalAnswer(BaseModel):
    """One declaration that code was generated."""

    kind: str
    text: str
    line: int | None = Field(description="Null for the message of a commit.")


class DetectAnswer(BaseModel):
    """Declarations, and what they say."""

    statement: str
    signals: list[SignalAnswer]


class AuditRequest(BaseModel):
    """A finished audit."""

    model_config = ConfigDict(extra="forbid")

    run: str = Field(min_length=1, max_length=255, description="Name of its folder.")


class AuditAnswer(BaseModel):
    """Report of an audit."""

    statement: str | None = Field(description="The answer in one sentence.")
    report: str = Field(description="All of it, in Markdown.")


class Refusal(BaseModel):
    """An answer without a result."""

    detail: str = Field(description="One line: what was received, and what was expected.")


class TraceAnswer(BaseModel):
    """The verdict, the sources, and the basis of the answer."""

    verdict: str = Field(description="The answer in one sentence.")
    findings: list[FindingFields]
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
