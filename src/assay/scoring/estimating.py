"""The requests and characters of a run, before it is run."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.scoring.continuing import cut_block
from assay.scoring.planning import Plan
from assay.scoring.run import pairs_to_run
from assay.types import Sample

LOOKED_AT = 20
"""Samples whose prompts are cut to estimate the prompts of all."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """Requests of a run to its target, if nothing is cached.

    Attributes:
        requests: texts to be scored, and prompts to be continued; rewritings as many as are requested.
        characters: of these texts and prompts.
        generated: most tokens that are generated.
    """

    requests: int
    characters: int
    generated: int


def estimate_run(samples: Sequence[Sample], plan: Plan) -> RunEstimate:
    """Return an estimate: exact for the texts of the samples, from the first samples for prompts and rewritings."""
    texts = [text for role, text in pairs_to_run(samples, plan) if role == "target"]
    own = sum(len(sample.text) for sample in samples)
    requests = len(texts) + plan.scored_variants * len(samples)
    characters = sum(map(len, texts)) + plan.scored_variants * own
    first = samples[:LOOKED_AT]
    if plan.generator is None or not first:
        return RunEstimate(requests, characters, 0)
    # a rewriting has the length of its sample, more or less: the sample stands for it
    block = cut_block([[sample.text] * (1 + plan.variants) for sample in first], plan)
    scale = len(samples) / len(first)
    pieces = [piece for cut in block.cuts.values() for sample in cut for text in sample for piece in text]
    prompts = [piece.question for piece in pieces]
    return RunEstimate(
        requests + round(len(prompts) * scale),
        characters + round(sum(len(question.prompt) for question in prompts) * scale),
        round(sum(question.max_new_tokens for question in prompts) * scale),
    )
