"""Scores of known-unseen text, kept in a file: calibrate once, audit often, share without sharing the text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.scoring import Deterministic, Plan, Progress, score_samples
from assay.types import Sample

FORMAT = "assay calibration 1"
VARIANTS = "variants"


@dataclass(frozen=True, slots=True, eq=False)
class UnseenScores:
    """What known-unseen text scores under one model.

    Attributes:
        source: what the text was, in words.
        model: the model's name, and `digests` those of the model in every role that the scores need.
        values: score name → float64 [unseen texts]; NaN where unscorable.
    """

    source: str
    model: str
    digests: Mapping[str, str]
    values: Mapping[str, NDArray[np.float64]]

    @classmethod
    def measure(cls, samples: tuple[Sample, ...], plan: Plan, *, source: str, progress: Progress | None = None) -> Self:
        """Score known-unseen text."""
        table = score_samples(samples, plan, progress=progress)
        return cls(source, plan.name, digests(plan), table.values)

    def check(self, plan: Plan, path: Path) -> None:
        """These scores must be of the plan's models, and cover its scores.

        Raises:
            DataError: when they do not.
        """
        rewriter = self.digests.get(VARIANTS, "")
        if plan.variants and rewriter != digests(plan).get(VARIANTS, ""):
            raise DataError(
                f"{path} compares rewritings by {rewriter or 'the deterministic engine'}, expected {plan.rewriter.name}"
            )
        for role, (name, digest) in plan.digests.items():
            if self.digests.get(role) != digest:
                raise DataError(
                    f"{path} calibrates {self.model} ({self.digests.get(role, 'no model')[:12]} as {role}), "
                    f"expected {name} ({digest[:12]}) opened with the same options"
                )
        missing = [one.name for one in plan.requests if one.name not in self.values]
        if missing:
            raise DataError(f"{path} has no {', '.join(missing)}; it calibrates {', '.join(self.values)}")

    def save(self, path: Path) -> None:
        """Write the file.

        Raises:
            DataError: it cannot be written.
        """
        values = {name: [None if np.isnan(v) else v for v in column.tolist()] for name, column in self.values.items()}
        content = {
            "format": FORMAT,
            "source": self.source,
            "model": self.model,
            "digests": dict(self.digests),
            "values": values,
        }
        try:
            path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        except OSError as error:
            raise DataError(f"{path}: cannot be written ({error.strerror})") from error

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote.

        Raises:
            DataError: it is none.
        """
        try:
            found = json.loads(path.read_text("utf-8"))
            values = {name: np.array(column, np.float64) for name, column in found["values"].items()}
            if found["format"] != FORMAT:
                raise DataError(f"{path}: format {found['format']!r}, expected {FORMAT!r}")
            return cls(found["source"], found["model"], found["digests"], values)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} is no calibration file: expected one that `assay calibrate` wrote") from error


def digests(plan: Plan) -> dict[str, str]:
    """Role → model digest, for the roles that the plan runs; and who made rewritings, where a model did."""
    found: dict[str, str] = {role: digest for role, (_, digest) in plan.digests.items()}
    return found | ({VARIANTS: plan.rewriter.name} if plan.variants and plan.rewriter != Deterministic() else {})
