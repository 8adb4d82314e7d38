"""Scores of known-unseen text in a file: measured once, used by many audits, shared without the text.

The file also holds what a blind baseline may see of the texts (`BlindFeatures`), so that an audit can check whether
they are like the benchmark.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.codec import decode, encode
from assay.errors import DataError
from assay.evaluation import BlindFeatures, group_codes
from assay.files import write_json
from assay.guard import json_file
from assay.scoring import Plan, Progress, score_samples
from assay.types import Sample, texts_of

FORMAT = "assay calibration 2"
OLD_FORMAT = "assay calibration 1"
"""Without groups and blind features, so that nothing can show whether its texts are like a benchmark."""
VARIANTS = "variants"


@dataclass(frozen=True, slots=True, eq=False)
class UnseenScores:
    """Scores of known-unseen text under one model.

    Attributes:
        source: the text, in words.
        model: the model's name, and `digests` those of the model in every role that the scores need.
        values: score name → float64 [unseen texts]; NaN where unscorable.
        groups: number of each text's group; None where the texts have none.
        features: what a blind baseline may see of the texts; None in a file of before these were kept.
    """

    source: str
    model: str
    digests: Mapping[str, str]
    values: Mapping[str, NDArray[np.float64]]
    groups: tuple[int, ...] | None = None
    features: BlindFeatures | None = None

    @property
    def texts(self) -> int:
        """Number of unseen texts that were scored."""
        return max((len(column) for column in self.values.values()), default=0)

    @property
    def group_keys(self) -> list[Hashable]:
        """The group of each text; a text without one is its own."""
        # the names of groups may say what the texts are, so the file has numbers
        codes = range(self.texts) if self.groups is None else self.groups
        return [("unseen", code) for code in codes]

    @classmethod
    def measure(cls, samples: tuple[Sample, ...], plan: Plan, *, source: str, progress: Progress | None = None) -> Self:
        """Score known-unseen text."""
        table = score_samples(samples, plan, progress=progress)
        groups, codes = [sample.group for sample in samples], None
        if any(groups):
            codes = tuple(group_codes(groups, len(groups)).tolist())
        return cls(
            source=source,
            model=plan.name,
            digests=digests(plan),
            values=table.values,
            groups=codes,
            features=BlindFeatures.of(texts_of(samples)),
        )

    def check(self, plan: Plan, path: Path) -> None:
        """Check that these scores are of the plan's models, and cover its scores.

        Raises:
            DataError: they are not, or do not.
        """
        # a score over variants depends on the program that makes them as much as on the model
        rewriter = self.digests.get(VARIANTS, "")
        if plan.variants and rewriter != digests(plan).get(VARIANTS, ""):
            raise DataError(
                f"{path} compares rewritings by {rewriter or 'an engine of an earlier version'}, expected "
                f"{plan.rewriter.name}"
            )
        # by digest: another reference, or other options, give other values under the same name
        for role, (name, digest) in plan.digests.items():
            if self.digests.get(role) != digest:
                raise DataError(
                    f"{path} calibrates {self.model} ({self.digests.get(role, 'no model')[:12]} as {role}), "
                    f"expected {name} ({digest[:12]}) opened with the same options"
                )
        missing = [request.name for request in plan.requests if request.name not in self.values]
        if missing:
            raise DataError(f"{path} has no {', '.join(missing)}; it calibrates {', '.join(self.values)}")

    def save(self, path: Path) -> None:
        """Write the file.

        Raises:
            DataError: it cannot be written.
        """
        content = {"format": FORMAT} | encode(self)
        # the name in the format is older than the attribute
        content["blind_features"] = content.pop("features")
        write_json(path, content)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote.

        Raises:
            DataError: it is not such a file, or of another format.
        """
        try:
            content = json_file(path)
            if content["format"] not in (FORMAT, OLD_FORMAT):
                raise DataError(f"{path}: format {content['format']!r}, expected {FORMAT!r}")
            values = {name: np.array(column, np.float64) for name, column in content["values"].items()}
            groups, features = content.get("groups"), content.get("blind_features")
            if features is not None:
                features = decode(BlindFeatures, features)
            loaded = cls(
                source=decode(str, content["source"]),
                model=decode(str, content["model"]),
                digests=decode(dict[str, str], content["digests"]),
                values=values,
                groups=groups and tuple(map(int, groups)),
                features=features,
            )
            # columns of different lengths would pair scores with other texts
            columns = (*values.values(), loaded.groups, loaded.features)
            lengths = {len(column) for column in columns if column is not None}
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(f"{path} is not a calibration file: expected one that `assay calibrate` wrote") from error
        if len(lengths) > 1 or any(column.ndim != 1 for column in values.values()):
            raise DataError(f"{path} is not a calibration file: its columns differ in length")
        return loaded


def digests(plan: Plan) -> dict[str, str]:
    """Return role → model digest for the roles that the plan runs, and the rewriter where it is used."""
    by_role: dict[str, str] = {role: digest for role, (_, digest) in plan.digests.items()}
    if plan.variants:
        by_role[VARIANTS] = plan.rewriter.name
    return by_role
