"""The record of one run: what is needed to repeat it."""

import platform
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assay import __version__
from assay.datasets import Dataset
from assay.models import gguf_of
from assay.scores import ModelRole
from assay.scoring import Plan

PACKAGES = ("torch", "transformers", "tokenizers", "gguf", "numpy", "scipy", "scikit-learn")


class Stopwatch:
    """The time since a call began."""

    def __init__(self) -> None:
        self.began = datetime.now(UTC)
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return round(time.perf_counter() - self._start, 3)


def manifest(plan: Plan, dataset: Dataset, watch: Stopwatch, settings: Mapping[str, object]) -> dict[str, object]:
    """Return command, versions, digests, settings and times of one run."""
    return {
        "command": [Path(sys.argv[0]).stem.removeprefix("__main__") or "assay", *sys.argv[1:]],
        "assay": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: installed for name in PACKAGES if (installed := _version(name))},
        "models": {
            role: {"name": name, "digest": digest} | _file_facts(plan, role)
            for role, (name, digest) in plan.digests.items()
        },
        "data": {
            "name": dataset.name,
            "source": dataset.source,
            "digest": dataset.digest,
            "samples": len(dataset.samples),
        },
        "scores": [request.name for request in plan.requests],
        "settings": dict(settings),
        "began": watch.began.isoformat(timespec="seconds"),
        "seconds": watch.seconds,
    }


def _file_facts(plan: Plan, role: ModelRole) -> dict[str, str]:
    """Return name, digest and quantisation of the file that a model comes from; nothing for any other model."""
    file = gguf_of(plan.models.get(role, plan.generator))
    return {} if file is None else file.facts()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
