"""The detector that scores code: a classifier, or scores of language models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.authorship.classifier import Classifier
from assay.authorship.context import by_scores_in_context
from assay.authorship.detecting import CLASSIFIER, Scored, by_classifier, classifier_name, codes_of, detector_name
from assay.authorship.detector_models import DetectorModels
from assay.authorship.reference import Reference
from assay.authorship.settings import DetectorSettings
from assay.authorship.units import CodeUnit
from assay.models import default_control
from assay.scores import requests
from assay.scoring import Opener, Progress

WINDOW = 1024
"""Tokens that the built-in surrogate reads at once. Twice as many would take more than twice the time: windows start
every 512 tokens, so that every token of a long file would be computed four times."""


@dataclass(frozen=True, slots=True)
class OpenDetector:
    """A loaded detector.

    Attributes:
        name: with its digest, as a reference names it.
        score: returns the scores of pieces of code; its second argument is called after every batch.
    """

    name: str
    score: Callable[[Sequence[CodeUnit], Progress | None], Scored]


@dataclass(frozen=True, slots=True)
class DetectorChoice:
    """The detector that scores code: its settings, and what opens its models."""

    settings: DetectorSettings = field(default_factory=DetectorSettings)
    opener: Opener = field(default_factory=Opener)

    @property
    def models(self) -> DetectorModels:
        """The models beside the surrogate."""
        return DetectorModels.of(self.settings.score_model)

    def check(self, reference: Reference | None = None) -> None:
        """Check all that can be known before a model is loaded.

        Args:
            reference: human code that the scores will be compared with.

        Raises:
            DataError: the reference was made with scores of another name.
            AssayError: a score or a model does not exist, or a model follows no instructions and has to.
        """
        chosen = requests(self.settings.chosen_scores)
        if reference is not None:
            reference.check(chosen[0].name if self.settings.classifier is None else CLASSIFIER)
        if self.settings.classifier is None:
            self.opener.check(self.settings.model or default_surrogate())
            self.models.check(chosen)

    def open(self) -> OpenDetector:
        """Load the detector.

        Raises:
            AssayError: it cannot be opened, or cannot give what is requested.
        """
        if self.settings.classifier is not None:
            light = Classifier.load(self.settings.classifier)
            return OpenDetector(
                classifier_name(light.digest), lambda units, _: by_classifier(units, codes_of(units), light)
            )
        surrogate, window = self.settings.model, None
        if surrogate is None:
            # only of the built-in model is the cost of a window known
            surrogate, window = default_surrogate(), WINDOW
        plan = self.models.plan(requests(self.settings.chosen_scores), surrogate, self.opener, window=window)
        return OpenDetector(
            detector_name(plan),
            lambda units, progress: by_scores_in_context(units, plan, progress),
        )

    def unused(self) -> Mapping[str, str]:
        """Return option → why it has no effect on this detector, for those that have none."""
        if self.settings.classifier is not None:
            reason = "a classifier needs no language model and no scores; expected no --classifier with it"
            return dict.fromkeys(("model", "scores", "score_model"), reason)
        return self.models.unused(requests(self.settings.chosen_scores))


def default_surrogate() -> str:
    """Return the built-in model of several languages."""
    return default_control()
