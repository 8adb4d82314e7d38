"""DPDLLM (Zhou et al., Findings of ACL 2024): how likely a reference model finds what the audited model writes.

The reference model has read texts of the same kind. Of a member, the audited model writes what the text says, in its
manner; of another text it writes what it can. From the reference's probabilities of the written tokens a Gaussian naive
Bayes classifier tells the two. The published program trains the reference on the judged texts too, which tells it the
answer; here it reads labelled texts alone, and not those that the classifier learns from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from assay.leakage.labelled import NO_CONTINUATION, Completion, TrainingTexts, check_classes, completions
from assay.models import TransformersModel, open_local
from assay.scores import SRDETECTION, fitted
from assay.types import Generator, Sample, Score

NAME = "dpdllm"
SHARE = 0.2
"""Share of the written tokens that the lowest ones, and the least likely run, are taken from."""
IGNORED = -100


@dataclass(frozen=True, slots=True, eq=False)
class DPDLLM:
    """A fitted detector.

    Attributes:
        taught: the labelled texts.
        generator: the audited model.
        reference: the model that read half of them.
        classifier: fitted on the features of the other half.
    """

    taught: TrainingTexts
    generator: Generator
    reference: TransformersModel
    classifier: GaussianNB

    @property
    def labels(self) -> int:
        """How many labelled texts it was fitted on."""
        return len(self.taught.labels)

    def scores(self, samples: Sequence[Sample]) -> list[Score]:
        """Ln p(features, member) - ln p(features, non-member) of each sample.

        Raises:
            DataError: a sample, or one of its group, is among the labelled.
            ModelError: a model cannot be run.
        """
        self.taught.refuse_overlap(samples)
        pairs = completions([one.text for one in samples], self.generator)
        found = []
        for one, pair, row in zip(samples, pairs, features(pairs, self.reference), strict=True):
            if np.isnan(row).any():
                found.append(Score(one.id, NAME, float("nan"), pair.reason or NO_CONTINUATION))
                continue
            other, member = self.classifier.predict_joint_log_proba(row[None])[0]
            found.append(Score(one.id, NAME, float(member - other)))
        return found


@fitted(
    name=NAME,
    title="DPDLLM",
    formula="ln p(features of the generated text, member) - ln p(features, non-member)",
    reference="Zhou et al., Findings of ACL 2024",
    names_in={SRDETECTION: "DPDLLM"},
)
def fit(
    samples: Sequence[Sample],
    labels: Sequence[bool],
    generator: Generator,
    *,
    reference: str = "builtin:small",
    epochs: int = 3,
    rate: float = 1e-4,
    batch: int = 8,
    device: str = "auto",
    seed: int = 0,
) -> DPDLLM:
    """Fit on texts of known membership.

    Args:
        samples: the texts.
        labels: True for a member.
        generator: the audited model.
        reference: any causal model, by the name of `assay.models.open.open_local`.
        epochs: how often the reference reads its half.
        rate: its learning rate.
        batch: texts a step.
        device: where it runs.
        seed: of the halves and of the order of training.

    Raises:
        DataError: too few texts of a class, or too few groups.
        ModelError: a model cannot be opened or run.
    """
    taught = TrainingTexts(tuple(samples), tuple(bool(one) for one in labels), seed)
    first, second = taught.halves()
    model = open_local(reference, dtype="float32", device=device)
    read(model, [samples[i].text for i in first], epochs=epochs, rate=rate, batch=batch, seed=seed)
    columns = features(completions([samples[i].text for i in second], generator), model)
    truths = np.array([taught.labels[i] for i in second])
    scored = ~np.isnan(columns).any(axis=1)
    check_classes(truths[scored], len(second), "two halves, of which the model writes the second")
    classifier = GaussianNB(priors=(0.5, 0.5))
    classifier.fit(columns[scored], truths[scored])
    return DPDLLM(taught, generator, model, classifier)


def read(model: TransformersModel, texts: Sequence[str], *, epochs: int, rate: float, batch: int, seed: int) -> None:
    """Train the model's weights, in place, to continue the texts; each is cut to the context."""
    weights = model.checkpoint.model
    rows = [torch.from_numpy(one.ids[: model.context]) for one in model.encoder.encode(texts) if len(one.ids) > 1]
    weights.requires_grad_(requires_grad=True)
    optimiser = torch.optim.AdamW(weights.parameters(), lr=rate)
    order = np.random.default_rng(seed)
    weights.train()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for _ in range(epochs):
            shuffled = order.permutation(len(rows))
            for start in range(0, len(rows), batch):
                chosen = [rows[i] for i in shuffled[start : start + batch]]
                targets = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True, padding_value=IGNORED)
                mask = targets != IGNORED
                targets, mask = targets.to(weights.device), mask.to(weights.device)
                logits = weights(input_ids=targets.clamp(min=0), attention_mask=mask.long()).logits[:, :-1]
                loss = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), targets[:, 1:].flatten(), ignore_index=IGNORED
                )
                loss.backward()
                torch.nn.utils.clip_grad_norm_(weights.parameters(), 1.0)
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
    weights.eval()
    weights.requires_grad_(requires_grad=False)


def features(pairs: Sequence[Completion], reference: TransformersModel) -> NDArray[np.float64]:
    """float64 [texts, 3], of the written tokens' log-probabilities; NaN where nothing was written.

    They are the mean, the mean of the lowest, and the mean of the least likely run.
    """
    columns = np.full((len(pairs), 3), np.nan)
    found = reference.token_statistics([one.beginning + one.written for one in pairs])
    for row, (one, known) in enumerate(zip(pairs, found, strict=True)):
        written = known.log_probs[known.offsets[:, 1] > len(one.beginning)].astype(np.float64)
        if len(written):
            count = max(1, int(SHARE * len(written)))
            runs = np.convolve(written, np.ones(count) / count, "valid")
            columns[row] = written.mean(), np.sort(written)[:count].mean(), runs.min()
    return columns
