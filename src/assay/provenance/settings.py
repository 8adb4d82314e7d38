"""Settings that the commands on copies share."""

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
