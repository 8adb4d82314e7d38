"""Settings of `assay check`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from assay.provenance.settings import LEAST_CONFIDENCE, LicenceSettings
from assay.settings import Setting


@dataclass(frozen=True, slots=True)
class CheckSettings(LicenceSettings):
    """Rules on a change. The base commit has them, in the table [check] of a file."""

    PANEL: ClassVar[str] = "Rules"
    index: Annotated[
        str | None, Setting("Index of the sources that copies are looked for in.", metavar="DIR|URL", common=True)
    ] = None
    min_confidence: Annotated[float, Setting("Least confidence of a match.", least=0, most=1)] = LEAST_CONFIDENCE
    fail_on_writer: Annotated[
        tuple[str, ...],
        Setting("Exit with 1 if records call a line agent, contradicting or unrecorded. Repeatable.", common=True),
    ] = ()
    baseline: Annotated[
        str | None, Setting("File of accepted findings, in the base commit too.", metavar="FILE", common=True)
    ] = None
