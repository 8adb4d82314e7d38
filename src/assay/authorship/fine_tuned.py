"""A fine-tuned folder as a detector: calibrated log-odds of a sequence classifier, and abstention on foreign texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from safetensors import SafetensorError

from assay.authorship.classifier import Prediction
from assay.authorship.comments import without_comments
from assay.authorship.domain import Domain, outline_of
from assay.authorship.heads import read_arrays
from assay.authorship.normalising import Code
from assay.authorship.open_set import CALIBRATION, HUMAN, OpenSet
from assay.authorship.sequence_classifier import SequenceClassifier, load_sequence_classifier
from assay.authorship.units import LONGEST_TEXT
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.models import combined, files_digest, tokenizer_digest
from assay.types import BooleanArray

MODEL, RESULT, DOMAIN = "model", "result.json", "domain.safetensors"
"""Parts of the folder beside the calibration: the network, how it was fine-tuned, the outline of its texts."""


@dataclass(frozen=True, slots=True, eq=False)
class FineTunedClassifier:
    """A folder of `assay lab authorship fine-tune`, opened.

    Attributes:
        network: model, head and tokenizer.
        calibration: of its logits; "human" is among the classes.
        domain: the texts that it was fine-tuned on, in outline.
        comments: False where comments are removed before a text is read.
        digest: of all that can change a log-odds.
    """

    network: SequenceClassifier
    calibration: OpenSet
    domain: Domain
    comments: bool
    digest: str

    def predict(self, texts: Sequence[str], codes: Sequence[Code]) -> Prediction:
        """Return the answers for texts; of each only the beginning is read that the context holds.

        Args:
            texts: as they are written.
            codes: their tokens, for the language and the abstention.
        """
        logits = self.network.logits(self.network.rows(self._texts(texts, codes)))
        return Prediction(
            self.calibration.log_odds_against(HUMAN, logits),
            {},
            self.domain.outside(outline_of(codes)),
            self.calibration.attribute(logits) if len(self.calibration.classes) > 2 else None,  # noqa: PLR2004  see there
        )

    def truncates(self, texts: Sequence[str], codes: Sequence[Code]) -> BooleanArray:
        """Return True for each text whose end is not read, bool [n]."""
        return self.network.truncates(self._texts(texts, codes))

    def _texts(self, texts: Sequence[str], codes: Sequence[Code]) -> list[str]:
        beginnings = [text[:LONGEST_TEXT] for text in texts]
        if self.comments:
            return beginnings
        return [without_comments(text, code.language) for text, code in zip(beginnings, codes, strict=True)]

    @classmethod
    def load(cls, folder: Path, device: str = "auto") -> Self:
        """Read a folder of `assay lab authorship fine-tune`.

        Raises:
            DataError: a file is missing or damaged, or people are no class of it.
            ModelError: the model cannot be loaded.
        """
        try:
            content = parse_json((folder / CALIBRATION).read_text("utf-8"))
            calibration = OpenSet.restored(content)
            settings = parse_json((folder / RESULT).read_text("utf-8"))
            context, comments = int(settings["context"]), bool(settings["comments"])
            if context < 1:
                raise ValueError(f"context {context}, expected 1 or more")  # noqa: TRY301  one line for all
            domain = Domain.restored(read_arrays(folder / DOMAIN))
        except (OSError, ValueError, LookupError, TypeError, ArithmeticError, SafetensorError) as error:
            raise DataError(
                f"{folder}: expected a folder of `assay lab authorship fine-tune` ({plain_reason(error)})"
            ) from error
        if HUMAN not in calibration.classes:
            classes = ", ".join(calibration.classes)
            raise DataError(f"{folder}: fine-tuned on {classes}; expected {HUMAN!r} among the classes")
        network = load_sequence_classifier(str(folder / MODEL), calibration.classes, context=context, device=device)
        weights, tokenizer = files_digest([folder / MODEL]), tokenizer_digest(network.tokenizer)
        digest = combined([weights, tokenizer, content["classes"], calibration.temperature, comments, context])
        return cls(network, calibration, domain, comments, digest[:16])
