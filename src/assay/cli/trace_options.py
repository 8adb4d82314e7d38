"""Settings of `assay trace`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.cli.options import further_file
from assay.settings import Setting, Settings

GATE = "Licence gate"
SURE = 0.95


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
class GateSettings(Settings):
    """Licences that fail the run, and findings that do not."""

    PANEL: ClassVar[str] = GATE
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
            "Licence that passes all the same; alone: the only ones that pass.",
            metavar="SPDX",
            common=True,
            options=("--allow-licence", "--allow-license"),
        ),
    ] = ()
    diff: Annotated[
        str | None,
        Setting(
            "Judge only lines that this unified diff adds, in FILE or all its files.",
            metavar="FILE|-",
            common=True,
        ),
    ] = None
    baseline: Annotated[
        Path | None,
        Setting("Findings accepted before, which do not fail.", metavar="FILE", common=True),
    ] = None
    write_baseline: Annotated[
        Path | None, further_file("Accept all denied findings of this run from now on.", GATE, hidden=True)
    ] = None
