"""Methods of the literature for whole benchmarks: a reader sees how far they agree with the verdict; none decides."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from assay.leakage.measured_model import MeasuredModel, TuningOptions
from assay.leakage.results import GradientGate, MethodResult
from assay.leakage.texts import AuditedTexts
from assay.models import CachedLogProbScorer, StatisticsCache
from assay.scores import EMBEDDINGS, DatasetInputs, DatasetRequest, Work
from assay.scoring import Plan, Progress

GRADIENTS = (Work("mean gradient", 3), Work("mean gradient", 3, "unseen"))


@dataclass(frozen=True, slots=True, eq=False)
class Literature:
    """Methods that are asked for, and the model that they are run with.

    Attributes:
        model: the audited model with the benchmark and the unseen text.
        requests: the methods.
    """

    model: MeasuredModel
    requests: Sequence[DatasetRequest]

    def work(self) -> tuple[Work, ...]:
        """Return everything that will be run, each thing once.

        Raises:
            MissingCapability: a method needs weights or hidden states, and the model shows none.
        """
        # a dictionary keeps the order and drops repeats: one fine-tuning serves every method that asks for it
        works = dict.fromkeys(chain.from_iterable(request.work for request in self.requests))
        tunes = any("fine-tuning" in work.name for work in works)
        if tunes or EMBEDDINGS in works:
            _ = self.model.weights  # raises where the model shows none
        # the gate of the kernel divergence compares the mean gradients of both sets
        if EMBEDDINGS in works and self.model.unseen:
            works |= dict.fromkeys(GRADIENTS)
        if tunes and self.model.probe_share:
            works[Work("search for the learning rate", 8 * self.model.probe_share, "unseen")] = None
        return tuple(work for work in works if work.on == "benchmark" or self.model.unseen)

    def passes(self, cached: Collection[Work] = ()) -> float:
        """Return the number of forward passes of one text that the methods take; a training step counts three.

        Args:
            cached: work that costs nothing, because it is in the cache by then.
        """
        counts = {"benchmark": len(self.model.samples), "unseen": len(self.model.unseen)}
        return sum(work.passes * counts[work.on] for work in self.work() if work not in cached)

    def run(self, *, seed: int) -> tuple[MethodResult, ...]:
        """Run the methods in their order."""
        inputs = DatasetInputs(self.model.samples, self.model.unseen, model=self.model, seed=seed)
        return tuple(run_method(request, inputs) for request in self.requests)

    def gate(self) -> GradientGate | None:
        """Return the gate of the kernel divergence; None where that is not among the methods, or nothing is unseen."""
        model = self.model
        if not model.unseen or not any(EMBEDDINGS in request.work for request in self.requests):
            return None
        return GradientGate(*map(model.mean_gradient, (model.samples, model.unseen)))


def run_method(request: DatasetRequest, inputs: DatasetInputs) -> MethodResult:
    """Run one method."""
    # work that an earlier method did counts there: the order decides what a method seems to cost
    start = time.perf_counter()
    score = request(inputs)
    seconds = round(time.perf_counter() - start, 3)
    return MethodResult(request.name, request.detector.title, score=score, seconds=seconds)


def literature_of(
    methods: Sequence[DatasetRequest],
    plan: Plan,
    texts: AuditedTexts,
    *,
    tuning: TuningOptions,
    cache: StatisticsCache | None,
    progress: Progress | None,
) -> Literature:
    """Return the methods of the literature with the audited model as they use it.

    Args:
        methods: that are asked for.
        plan: of the audit.
        texts: the benchmark and the unseen text.
        tuning: how the model is fine-tuned.
        cache: of statistics and hidden states; None runs without.
        progress: called after every batch.

    Raises:
        MissingCapability: a method needs weights or hidden states, and the model shows none.
    """
    scorer = plan.models["target"]
    measured = MeasuredModel(
        scorer.scorer if isinstance(scorer, CachedLogProbScorer) else scorer,
        texts.dataset.samples,
        texts.unseen,
        tuning=tuning,
        cache=cache,
        frequencies=plan.frequencies,
        progress=progress,
    )
    literature = Literature(measured, methods)
    literature.work()  # what this model cannot give is refused before anything runs
    return literature
