"""The requests and characters of a run, before it is run, and what they cost at a server."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ModelError
from assay.models import ModelSettings, is_server, tokens_of_length
from assay.progress import inform
from assay.scoring.continuing import cut_block
from assay.scoring.planning import Plan
from assay.scoring.run import pairs_to_run
from assay.types import Sample, texts_of

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
    own = sum(map(len, texts_of(samples)))
    requests = len(texts) + plan.scored_variants * len(samples)
    characters = sum(map(len, texts)) + plan.scored_variants * own
    first = samples[:LOOKED_AT]
    if plan.generator is None or not first:
        return RunEstimate(requests, characters, 0)
    # a rewriting has the length of its sample, more or less: the sample stands for it
    block = cut_block([[sample.text] * (1 + plan.variants) for sample in first], plan)
    # cutting every sample would take as long as a part of the run: the first ones stand for all
    scale = len(samples) / len(first)
    prompts = length = generated = 0
    for piece in block.pieces:
        prompts += 1
        length += len(piece.question.prompt)
        generated += piece.question.max_new_tokens
    return RunEstimate(
        requests=requests + round(prompts * scale),
        characters=characters + round(length * scale),
        generated=round(generated * scale),
    )


def report_spending(model: str, plan: Plan, samples: Sequence[Sample], settings: ModelSettings) -> None:
    """Print what a run may send to a model behind a server; nothing for other models.

    Raises:
        ModelError: the estimate exceeds a limit of the settings.
    """
    if not is_server(model):
        return
    estimate, limits = estimate_run(samples, plan), settings.limits
    tokens = tokens_of_length(estimate.characters) + estimate.generated
    cost = limits.cost(tokens)
    words = f"about {estimate.requests:,} requests and {tokens:,} tokens"
    if cost is not None:
        words += f", a cost of about {cost:.2f}"
    if limits.requests_per_minute and estimate.requests:
        minutes = estimate.requests / limits.requests_per_minute
        words += f", {minutes:.0f} min at {limits.requests_per_minute:g} requests a minute"
    # refused as a whole: a run that ends at its limit has cost money and has no result
    exceeded = limits.exceeded(estimate.requests, tokens)
    if exceeded:
        raise ModelError(
            f"nothing was sent: the estimate is {exceeded} ({words}); expected a smaller --limit of samples"
        )
    inform(f"{model}: {words}; replies in the cache cost nothing")
