"""DPDLLM (Zhou et al., Findings of ACL 2024): probabilities of generated text under a reference that knows the texts.

As in the paper and its program (github.com/ZovanZhou/DPDLLM), a small reference model is first tuned on the texts of
both classes, without labels: the labelled ones and those to be judged. Then the audited model samples a completion of
the first half of each text (temperature 0.7), and the reference gives the probability of each token of prompt and
completion. A member is completed with its own words, which the reference knows. A Gaussian naive Bayes classifier is
fitted on the labelled texts.

Settled where paper, program and this package differ:

- The reference is `builtin:small`, since GPT-2 does not ship; its learning rate is therefore higher (GPT-2: 5e-5).
  `reference="gpt2", rate=5e-5` are the published ones.
- One reference knows labelled and judged texts; the program tunes one on each of the two sets.
- The program takes one of four features, one of which (the whole sequence) needs texts of one length. Here the other
  three are used together: mean probability, mean log-probability of the 20 % lowest, and mean probability of the least
  likely of the consecutive runs of 20 %.

Departures are options: `texts="labelled half"` keeps the judged texts from the reference, which then knows half of the
labelled ones while the classifier is fitted on the other half; `temperature=0` decodes greedily, as SrDetection does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from assay.models import TransformersModel, open_local
from assay.training import TrainingSettings, tune
from assay.types import Generator, Sample, Score
from assay_lab.columns import at_places, text_column
from assay_lab.methods.labelled import (
    NO_CONTINUATION,
    Completion,
    FittedOnTexts,
    TrainingTexts,
    check_classes,
    completions,
)

NAME = "dpdllm"
SHARE = 0.2
"""Share of the tokens in the lowest ones, and in each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DpdllmSettings:
    """Settings of DPDLLM.

    Attributes:
        reference: any causal model, by the name of `assay.models.open_local`.
        texts: the texts that the reference is tuned on: "all", unlabelled, or the "labelled half".
        epochs, rate, batch: of tuning; the rate falls linearly to 0.
        temperature: of the completions; 0 is greedy.
        device: of the reference.
    """

    reference: str = "builtin:small"
    texts: Literal["all", "labelled half"] = "all"
    epochs: int = 15
    rate: float = 1e-3
    batch: int = 4
    temperature: float = 0.7
    device: str = "auto"


PUBLISHED = DpdllmSettings()


@dataclass(frozen=True, slots=True, eq=False)
class DPDLLM(FittedOnTexts):
    """A fitted detector.

    Attributes:
        reference: the tuned model.
        classifier: fitted on features of labelled texts.
        settings: of the method.
    """

    reference: TransformersModel
    classifier: GaussianNB
    settings: DpdllmSettings

    def scores(self, samples: Sequence[Sample]) -> list[Score]:
        """Return ln p(features, member) - ln p(features, non-member) of each sample.

        Raises:
            DataError: a sample, or one of its group, is among the labelled; or the reference does not know it.
            ModelError: a model cannot be run.
        """
        self.refuse(samples, "reference")
        pairs = completed(text_column(samples), self.generator, self.settings, seed=self.labelled.seed)
        scores = []
        for sample, pair, row in zip(samples, pairs, features(pairs, self.reference), strict=True):
            if np.isnan(row).any():
                scores.append(Score(sample.id, NAME, value=float("nan"), reason=pair.reason or NO_CONTINUATION))
                continue
            other, member = self.classifier.predict_joint_log_proba(row[None])[0]
            scores.append(Score(sample.id, NAME, float(member - other)))
        return scores


def fit(
    samples: Sequence[Sample],
    labels: Sequence[bool],
    generator: Generator,
    *,
    unlabelled: Sequence[Sample] = (),
    settings: DpdllmSettings = PUBLISHED,
    seed: int = 0,
) -> DPDLLM:
    """Fit on texts of known membership.

    Args:
        samples: the labelled texts.
        labels: True for a member.
        generator: the audited model.
        unlabelled: the texts to be judged.
        settings: of the method.
        seed: of the halves, of sampling and of the order of training.

    Raises:
        DataError: too few texts of a class, or too few groups.
        ModelError: a model cannot be opened or run.
    """
    labelled = TrainingTexts(tuple(samples), tuple(map(bool, labels)), seed)
    texts, fitting, judged = labelled.divided(settings.texts, unlabelled)
    reference = tuned_reference(tuple(texts), settings, seed)
    pairs = completed([samples[i].text for i in fitting], generator, settings, seed=seed)
    columns = features(pairs, reference)
    truths = np.array(at_places(labelled.labels, fitting))
    scored = ~np.isnan(columns).any(axis=1)
    check_classes(truths[scored], len(fitting), "two halves, of which the model generates the second")
    # equal priors: how many members were labelled says nothing of the texts that are judged
    classifier = GaussianNB(priors=(0.5, 0.5))
    classifier.fit(columns[scored], truths[scored])
    return DPDLLM(
        labelled=labelled,
        judged=judged,
        generator=generator,
        reference=reference,
        classifier=classifier,
        settings=settings,
    )


# checkpoints of one run are audited one after the other, on the same texts
@lru_cache(maxsize=1)
def tuned_reference(texts: tuple[str, ...], settings: DpdllmSettings, seed: int) -> TransformersModel:
    """Return the reference model, tuned on texts; it does not depend on the audited model.

    Raises:
        ModelError: it cannot be opened.
    """
    reference = open_local(settings.reference, dtype="float32", device=settings.device)
    memorise(reference, texts, settings, seed=seed)
    return reference


def memorise(reference: TransformersModel, texts: Sequence[str], settings: DpdllmSettings, *, seed: int) -> None:
    """Tune all weights of the reference, in place, on texts, each cut to the context."""
    encoded = reference.encoder.encode(texts)
    rows = [text.ids[: reference.context] for text in encoded if len(text.ids) > 1]
    training = TrainingSettings(
        method="full",
        rate=settings.rate,
        schedule="linear",
        warm_up=0,
        batch=settings.batch,
        epochs=settings.epochs,
        clip=None,
    )
    tune(reference.checkpoint.model, rows, training, seed=seed)


def completed(texts: Sequence[str], generator: Generator, settings: DpdllmSettings, *, seed: int) -> list[Completion]:
    """Return the completions that the settings ask for."""
    return completions(texts, generator, temperature=settings.temperature, seed=seed)


def features(pairs: Sequence[Completion], reference: TransformersModel) -> NDArray[np.float64]:
    """Return float64 [texts, 3], of the probabilities of all tokens; NaN where there is no answer.

    They are the mean probability, the mean log-probability of the lowest, and the mean probability of the least likely
    run.
    """
    columns = np.full((len(pairs), 3), np.nan)
    statistics = reference.token_statistics([pair.prompt + pair.answer for pair in pairs])
    for row, (pair, tokens) in enumerate(zip(pairs, statistics, strict=True)):
        log_probs = tokens.log_probs.astype(np.float64)
        if pair.answer and len(log_probs):
            count = max(1, int(SHARE * len(log_probs)))
            probabilities = np.exp(log_probs)
            # whole runs only; the rest at the end is shorter than a run and would have a noisier mean
            runs = probabilities[: len(probabilities) // count * count].reshape(-1, count)
            columns[row] = probabilities.mean(), np.sort(log_probs)[:count].mean(), runs.mean(1).min()
    return columns
