"""Settings of `assay trace` that write files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from assay.cli.options import further_file
from assay.provenance.settings import LicenceSettings
from assay.settings import Setting


@dataclass(frozen=True, slots=True)
class GateSettings(LicenceSettings):
    """Licences that fail the run, and findings that do not."""

    baseline: Annotated[
        Path | None,
        Setting("Findings accepted before, which do not fail.", metavar="FILE", common=True),
    ] = None
    write_baseline: Annotated[
        Path | None,
        further_file(
            "Accept all denied findings of this run from now on.",
            panel=LicenceSettings.PANEL,
            hidden=True,
            added=True,
        ),
    ] = None
