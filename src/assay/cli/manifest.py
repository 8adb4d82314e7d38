"""What a run has to remember to be repeated."""

import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version

from assay import __version__
from assay.datasets import Dataset
from assay.scoring import Plan

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn")


class Stopwatch:
    """Remembers when a command began."""

    def __init__(self) -> None:
        self.began = datetime.now(UTC)
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return round(time.perf_counter() - self._start, 3)


def manifest(plan: Plan, dataset: Dataset, watch: Stopwatch, **settings: object) -> dict[str, object]:
    """Command, versions, digests, settings and times of one run."""
    return {
        "command": ["assay", *sys.argv[1:]],
        "assay": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES},
        "models": {role: {"name": name, "digest": digest} for role, (name, digest) in plan.digests.items()},
        "data": {
            "name": dataset.name,
            "source": dataset.source,
            "digest": dataset.digest,
            "samples": len(dataset.samples),
        },
        "scores": [one.name for one in plan.requests],
        "settings": settings,
        "began": watch.began.isoformat(timespec="seconds"),
        "seconds": watch.seconds,
    }
