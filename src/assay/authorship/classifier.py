"""A fitted classifier: heads on several kinds of evidence, and a weighted sum of their margins."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file
from scipy.special import expit

from assay.authorship.domain import Domain
from assay.authorship.evidence import HEADS, HIDDEN, EvidenceMatrices, Vectors, evidence_of
from assay.authorship.heads import LARGEST, EvidenceHead, read_arrays, restore
from assay.authorship.normalising import Code, code_of
from assay.authorship.open_set import CALIBRATION, Attribution, GeneratorModel
from assay.errors import DataError, ModelError, plain_reason
from assay.files import atomic_folder, parse_json, write_json, write_text
from assay.types import BooleanArray, Float64Array

FORMAT = 1
DESCRIPTION, ARRAYS, CARD = "classifier.json", "classifier.safetensors", "MODEL_CARD.md"
CLIP = 4.0
"""Standard deviations beyond which a head's margin counts no further."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedHead:
    """A head and its part in the sum.

    Attributes:
        head: fitted.
        centre: median of its margins in training; the lower one of two.
        spread: standard deviation of its margins in training.
        weight: of the standardised margin, at least 0.
    """

    head: EvidenceHead
    centre: float
    spread: float
    weight: float

    def __post_init__(self) -> None:
        """Check the spread.

        Raises:
            ValueError: it is not above 0.
        """
        if self.spread <= 0:
            raise ValueError(f"spread {self.spread}, expected a number above 0")

    def part(self, features: Any) -> Float64Array:  # noqa: ANN401  dense or sparse
        """Return the weighted standardised margins, float64 [n]."""
        return self.weight * standardised(self.head.margins(features), self.centre, self.spread)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Answers of a classifier for n texts.

    Attributes:
        margins: float64 [n], log-odds of "machine-written"; higher = machine-written.
        parts: kind of evidence → float64 [n], its share of the margin.
        outside: bool [n], True where the text is unlike every training text.
        attribution: the generator that a text is most like; None from a classifier that knows no generators.
    """

    margins: Float64Array
    parts: Mapping[str, Float64Array]
    outside: BooleanArray
    attribution: Attribution | None = None

    @property
    def probabilities(self) -> Float64Array:
        """Probability of "machine-written" where both classes are equally common, float64 [n]."""
        return np.asarray(expit(self.margins), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A binary classifier: machine-written or written by a person.

    Attributes:
        heads: by kind of evidence.
        bias: of the sum.
        domain: the texts that it was fitted on, in outline.
        record: how it was fitted: collections, counts, settings, measured quality.
        generators: names the generator that a text is most like; None where there is none.
    """

    heads: Mapping[str, WeightedHead]
    bias: float
    domain: Domain
    record: Mapping[str, Any]
    generators: GeneratorModel | None = None

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a log-odds."""
        digest = hashlib.sha256(repr((self.bias, sorted(self.heads))).encode())
        for kind, head in sorted(self.heads.items()):
            # the kind and the names go before the arrays: two arrays that change places must change the digest
            digest.update(repr((kind, head.centre, head.spread, head.weight)).encode())
            for name, array in sorted(head.head.arrays().items()):
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of evidence that it needs."""
        return tuple(self.heads)

    @property
    def hidden_model(self) -> str | None:
        """Name of the model whose hidden states it needs."""
        return self.record.get("hidden")

    def predict(self, codes: Sequence[Code], vectors: Vectors | None = None) -> Prediction:
        """Return the answers for texts.

        Raises:
            ModelError: `vectors` is not the model that the classifier was fitted with.
            DataError: the weights for its hidden states are of another number.
        """
        if HIDDEN in self.heads and vectors is not None and vectors.digest != self.record.get("hidden_digest"):
            raise ModelError(f"{vectors.name}: another model than {self.hidden_model}, which the classifier needs")
        evidence = evidence_of(codes, self.kinds, vectors)
        if HIDDEN in self.heads:
            own, shown = self.heads[HIDDEN].head.arrays()["weights"].shape, evidence.matrices[HIDDEN].shape[1]
            if own != (shown,):
                raise DataError(f"the classifier has weights {own} for hidden states, expected {shown} of them")
        prediction = self.judge(evidence)
        return replace(prediction, attribution=self.generators.attribute(codes)) if self.generators else prediction

    def judge(self, evidence: EvidenceMatrices) -> Prediction:
        """Return the answers for texts whose evidence is at hand."""
        # a sum of standardised margins: each kind of evidence says its share, which the report shows
        parts = {kind: head.part(evidence.matrices[kind]) for kind, head in self.heads.items()}
        margins = self.bias + np.sum(list(parts.values()), axis=0)
        return Prediction(np.asarray(margins, np.float64), parts, self.domain.outside(evidence))

    def save(self, folder: Path, card: str) -> None:
        """Write the classifier and its model card to a new folder.

        Raises:
            DataError: the folder exists, or cannot be written.
        """
        arrays = {
            f"{kind}/{name}": array for kind, head in self.heads.items() for name, array in head.head.arrays().items()
        }
        arrays |= {f"domain/{name}": array for name, array in self.domain.arrays().items()}
        if self.generators:
            arrays |= {f"generators/{name}": array for name, array in self.generators.arrays().items()}
        heads = {
            kind: {"centre": head.centre, "spread": head.spread, "weight": head.weight}
            for kind, head in self.heads.items()
        }
        with atomic_folder(folder) as unfinished:
            generators = self.generators.content() if self.generators else None
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, unfinished / ARRAYS)
            content = {"format": FORMAT, "bias": self.bias, "heads": heads, "record": dict(self.record)}
            content |= {"generators": generators}
            write_json(unfinished / DESCRIPTION, content)
            write_text(unfinished / CARD, card)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a classifier.

        Raises:
            DataError: the folder does not hold one, or one of another format.
        """
        if (folder / "config.json").exists():
            raise DataError(
                f"{folder}: a model without its calibration; expected a folder of `assay lab authorship train` or "
                "`assay lab authorship fine-tune`"
            )
        try:
            content = parse_json((folder / DESCRIPTION).read_text("utf-8"))
            arrays = read_arrays(folder / ARRAYS)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r:.40}, expected {FORMAT}; train it again")  # noqa: TRY301  one line for all
            heads = {
                kind: WeightedHead(
                    restore(HEADS[kind], _below(arrays, kind)),
                    *(_number(entry, name) for name in ("centre", "spread", "weight")),
                )
                for kind, entry in content["heads"].items()
            }
            generators = None
            if content.get("generators"):
                generators = GeneratorModel.restored(content["generators"], _below(arrays, "generators"))
            domain = Domain.restored(_below(arrays, "domain"))
            classifier = cls(heads, _number(content, "bias"), domain, content["record"], generators)
            classifier.try_out()
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SafetensorError) as error:
            raise DataError(
                f"{folder}: expected a classifier of `assay lab authorship train` or `assay lab authorship fine-tune` "
                f"({plain_reason(error)})"
            ) from error
        return classifier

    def try_out(self) -> None:
        """Judge a text, except by hidden states, whose model is not open yet.

        Raises:
            ValueError: the parts do not fit together.
        """
        if not self.heads or (HIDDEN in self.heads) != isinstance(self.hidden_model, str):
            raise ValueError("neither evidence nor the model of its hidden states, or only the model")
        codes = [code_of("def f(a):\n    return a\n", "python")]
        evidence = evidence_of(codes, [kind for kind in self.kinds if kind != HIDDEN])
        for kind, matrix in evidence.matrices.items():
            self.heads[kind].part(matrix)
        if self.generators:
            self.generators.attribute(codes)


def is_fine_tuned(folder: Path) -> bool:
    """Return True for a folder of a fine-tuned classifier, which `FineTunedClassifier` reads."""
    return (folder / CALIBRATION).is_file()


def standardised(margins: Float64Array, centre: float, spread: float) -> Float64Array:
    """Return margins relative to those of the training texts, within ± `CLIP`."""
    return np.clip((margins - centre) / spread, -CLIP, CLIP)


def _number(content: Mapping[str, Any], name: str) -> float:
    value = content[name]
    if not isinstance(value, int | float) or not abs(value) < LARGEST:
        raise ValueError(f"{name} {value!r:.40}, expected a finite number")
    return float(value)


def _below(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(f"{prefix}/"): array for name, array in arrays.items() if name.startswith(f"{prefix}/")}
