"""Settings that the commands on copies share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.settings import Setting, Settings

LEAST_CONFIDENCE = 0.95
"""Confidence of a match that is shown, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Thresholds(Settings):
    """Thresholds of the matches that are kept.

    A copy needs no confidence. A confidence that was not measured reaches no threshold above 0.
    """

    PANEL: ClassVar[str] = "Search"
    min_similarity: Annotated[
        float, Setting("Least share of the code that a match contains.", least=0, most=1, common=True)
    ] = 0.0
    min_confidence: Annotated[
        float, Setting("Least confidence of a match that is no copy; 0: all.", least=0, most=1, common=True)
    ] = LEAST_CONFIDENCE


@dataclass(frozen=True, slots=True)
class MatchSettings(Thresholds):
    """How matches are searched for, and which are kept."""

    PANEL: ClassVar[str] = "Search"
    top: Annotated[int, Setting("Largest number of sources for each file.", metavar="N", least=1, common=True)] = 5
    template: Annotated[
        tuple[Path, ...],
        Setting("Code to ignore in every text; repeat the option for several.", metavar="FILE"),
    ] = ()
    method: Annotated[
        Literal["union", "hst", "winnowing", "vector"],
        Setting("Candidates by fingerprints, by vector, or by both."),
    ] = "union"
    exact: Annotated[bool, Setting("Compare the vectors of all documents, also where the index has a graph.")] = False
    by: Annotated[
        Literal["function", "file"],
        Setting("function: each function, the lines outside of functions and the whole file. file: the whole alone."),
    ] = "function"


@dataclass(frozen=True, slots=True)
class LicenceSettings(Settings):
    """Licences that fail the run."""

    PANEL: ClassVar[str] = "Licence gate"
    fail_on_licence: Annotated[
        tuple[str, ...],
        Setting(
            "Exit with 1 if a source has this licence: GPL-*, copyleft … (3: it is unknown). Repeatable.",
            metavar="SPDX",
            common=True,
            options=("--fail-on-licence", "--fail-on-license"),
        ),
    ] = ()
    allow_licence: Annotated[
        tuple[str, ...],
        Setting(
            "Licence that passes in any case; without --fail-on-licence, only these pass.",
            metavar="SPDX",
            common=True,
            options=("--allow-licence", "--allow-license"),
        ),
    ] = ()
    own: Annotated[
        tuple[str, ...],
        Setting("Source, repository, package URL or author that is ours: its code is no finding.", metavar="NAME"),
    ] = ()
