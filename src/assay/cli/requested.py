"""Which of the scores asked for can be computed with what was given."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.errors import ScoreError
from assay.scores import (
    SCORES,
    FrequencyTable,
    ScoreDefinition,
    ScoreRequest,
    default_scores,
    headline_score,
    requests,
)
from assay.scoring import Plan, Rewriter, plan
from assay.types import LogProbScorer, TokenScorer

if TYPE_CHECKING:
    from assay.cli.options import ModelOptions

Tier = Literal["gray", "black"]
"""What a command can ask of a model: its token probabilities, or only the text that it generates."""


def frequencies_for(scorer: LogProbScorer, path: Path | None) -> FrequencyTable | None:
    """The table at `path`; without one, the shipped table if it belongs to the model's tokenizer.

    Raises:
        DataError: the file is no table.
    """
    from assay.models import builtin_folder

    if path is not None:
        return FrequencyTable.load(path)
    shipped = FrequencyTable.load(builtin_folder("small") / "frequencies.npz")
    return shipped if shipped.tokenizer_digest == scorer.tokenizer_digest else None


def specified(scores: str | None, access: Tier, variants: int) -> str:
    """The scores asked for, or those that an access has by itself; and those that compare rewritings, if wanted.

    Raises:
        ScoreError: a score does not exist, or needs the other access.
    """
    n = variants if scores or variants or access == "gray" else headline_score("black").variants()
    asked = scores or ("one-pass" if access == "gray" else ",".join(default_scores(access)))
    compared = [name for name, found in SCORES.items() if found.needs_variants and tier(found) == access] if n else []
    listed = [asked, *(f"{name}:n={n}" if SCORES[name].defaults["n"] != n else name for name in compared)]
    explicit = {spec.strip() for spec in asked.split(",")}
    for one in requests(",".join(listed)):
        if one.name in explicit and tier(one.definition) != access:
            raise ScoreError(f"score {one.name} needs --access {tier(one.definition)}, received --access {access}")
    return ",".join(listed)


def tier(score: ScoreDefinition) -> Tier:
    """Which access of a model, or of each of two, a score needs."""
    return "black" if score.access == "black" else "gray"


def planned(  # noqa: PLR0917  what a command line says of scores and models
    scores: str,
    access: Tier,
    how: "ModelOptions",
    model: str,
    reference: str | None,
    frequencies: Path | None,
    variant_engine: str = "deterministic",
    variant_kinds: str = "function,variable",
) -> tuple[Plan, tuple[str, ...]]:
    """The models, opened, and what will be run on them; a note for each score that was left out.

    Raises:
        AssayError: a model cannot be opened, or cannot give what a score needs.
    """
    # before a large model is loaded: what is rewritten may be misspelt, and who rewrites may not be there
    rewriter = how.rewriter(variant_engine, variant_kinds, requests(scores))
    if access == "black":
        if reference is not None:
            raise ScoreError("--reference needs the token probabilities of both models: expected --access gray")
        wanted, notes = computable(scores, access, frequencies=False, reference=False)
        return plan(wanted, {}, generator=how.open_generator(model), rewriter=rewriter), notes
    models = how.open_roles(model, reference)
    table = frequencies_for(models["target"], frequencies)
    wanted, notes = computable(
        scores,
        access,
        frequencies=table is not None,
        reference=reference is not None,
        target=models["target"],
    )
    return plan(wanted, models, table, rewriter=rewriter), notes


def computable(
    scores: str,
    access: Tier,
    *,
    frequencies: bool,
    reference: bool,
    target: LogProbScorer | None = None,
) -> tuple[tuple[ScoreRequest, ...], tuple[str, ...]]:
    """The scores asked for; of a list's (`one-pass`, `all`) those that can be computed, and a note for each other.

    A score asked for by its own name stays, so that the plan can say what it lacks.

    Raises:
        ScoreError: no such score.
    """
    alone = target is not None and not isinstance(target, TokenScorer)
    explicit = {spec.strip() for spec in scores.split(",")}
    kept, notes = [], []
    for one in requests(scores):
        if tier(one.definition) != access:
            notes.append(f"{one.name} was left out: it needs --access {tier(one.definition)}.")
        elif one.name in explicit:
            kept.append(one)
        elif one.definition.needs_full_statistics and alone:
            notes.append(f"{one.name} was left out: the model gives log-probabilities alone.")
        elif one.definition.needs_frequencies and target is not None and target.tokenizer_digest is None:
            notes.append(f"{one.name} was left out: the model does not show its tokenizer.")
        elif one.definition.needs_frequencies and not frequencies:
            notes.append(f"{one.name} was left out: it needs token frequencies for this tokenizer (--frequencies).")
        elif one.definition.access == "two models" and not reference:
            notes.append(f"{one.name} was left out: it needs a second model (--reference).")
        else:
            kept.append(one)
    return tuple(kept), tuple(notes)


def tell_rejections(rewriter: Rewriter) -> None:
    """Say on standard error what did not count as a rewriting, and what stayed as it was, and why."""
    from assay.cli.terminal import warn

    for reason, count in sorted(rewriter.counts.items(), key=lambda item: -item[1]):
        warn(f"rewritings by {rewriter.name}: {count} {reason}")
