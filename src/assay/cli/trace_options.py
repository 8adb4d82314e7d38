"""Settings of `assay trace`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.cli.options import further_file
from assay.provenance.settings import SURE, LicenceSettings
from assay.settings import Setting, Settings

GATE = LicenceSettings.PANEL


@dataclass(frozen=True, slots=True)
class MatchSettings(Settings):
    """How matches are searched for, and which are kept."""

    PANEL: ClassVar[str] = "Search"
    top: Annotated[int, Setting("Largest number of sources for each file.", metavar="N", least=1, common=True)] = 5
    min_similarity: Annotated[
        float, Setting("Least share of the code that a match contains.", least=0, most=1, common=True)
    ] = 0.0
    template: Annotated[
        tuple[Path, ...],
        Setting("Code to ignore in every text; repeat the option for several.", metavar="FILE"),
    ] = ()
    min_confidence: Annotated[
        float, Setting("Least confidence, copies aside; 0 shows all matches.", least=0, most=1, common=True)
    ] = SURE
    method: Annotated[
        Literal["union", "hst", "winnowing", "vector"],
        Setting("Candidates by fingerprints, by vector, or by both."),
    ] = "union"
    by: Annotated[
        Literal["function", "file"],
        Setting("function: each function, the lines outside of functions and the whole file. file: the whole alone."),
    ] = "function"


@dataclass(frozen=True, slots=True)
class GateSettings(LicenceSettings):
    """Licences that fail the run, and findings that do not."""

    baseline: Annotated[
        Path | None,
        Setting("Findings accepted before, which do not fail.", metavar="FILE", common=True),
    ] = None
    write_baseline: Annotated[
        Path | None,
        further_file("Accept all denied findings of this run from now on.", GATE, hidden=True, added=True),
    ] = None
