"""Settings of `assay check`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from assay.settings import Setting, Settings

SURE = 0.95
"""Least confidence of a match that is shown unless another is asked for."""


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
            "Licence that passes all the same; alone: the only ones that pass.",
            metavar="SPDX",
            common=True,
            options=("--allow-licence", "--allow-license"),
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class CheckSettings(LicenceSettings):
    """Rules on a change. The base commit has them, in the table [check] of a file."""

    PANEL: ClassVar[str] = "Rules"
    index: Annotated[
        str | None, Setting("Index of the sources that copies are looked for in.", metavar="DIR|URL", common=True)
    ] = None
    min_confidence: Annotated[float, Setting("Least confidence of a match.", least=0, most=1)] = SURE
    fail_on_writer: Annotated[
        tuple[str, ...],
        Setting("Exit with 1 if a changed line is: agent, contradicting, unrecorded. Repeatable.", common=True),
    ] = ()
    baseline: Annotated[
        str | None, Setting("File of accepted findings, in the base commit too.", metavar="FILE", common=True)
    ] = None
