"""Settings of `assay serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from assay.settings import Setting, Settings


@dataclass(frozen=True, slots=True)
class ServiceAddress(Settings):
    """Where a service listens."""

    PANEL: ClassVar[str] = "Output"
    host: Annotated[
        str, Setting("Address; 0.0.0.0 accepts other machines.", metavar="ADDRESS", common=True, decides=False)
    ] = "127.0.0.1"
    port: Annotated[int, Setting("Port; 0 for any free port.", least=0, most=65535, common=True, decides=False)] = 8000

    runs: Annotated[
        Path | None, Setting("Folder of finished audits that agents may read.", metavar="DIR", decides=False)
    ] = None
    mcp: Annotated[
        bool,
        Setting("Speak the Model Context Protocol on standard input and output, not HTTP.", common=True, decides=False),
    ] = False

    @property
    def is_local(self) -> bool:
        """Return whether only this machine reaches it."""
        return self.host in {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class ServiceLimits(Settings):
    """Limits of one service.

    Each worker opens the index for itself. A call beyond those that may wait is rejected with status 503.
    """

    PANEL: ClassVar[str] = "Limits"
    body_bytes: Annotated[int, Setting("Largest request in bytes.", least=1, options=("--max-bytes",))] = 256 * 1024
    seconds: Annotated[
        float, Setting("Most seconds for a request to arrive, and for its answer.", least=0.01, options=("--timeout",))
    ] = 10.0
    workers: Annotated[int | None, Setting("Traces at a time (the cores of this machine).", least=1)] = None
    waiting: Annotated[int, Setting("Traces that may wait beside them.", least=0)] = 64
