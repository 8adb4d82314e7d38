"""Which of the scores asked for can be computed with what was given."""

from pathlib import Path

from assay.scores import SCORES, FrequencyTable, ScoreRequest, requests
from assay.scoring.rewriters import Rewriter, Written
from assay.types import LogProbScorer, TokenScorer


def frequencies_for(scorer: LogProbScorer, path: Path | None) -> FrequencyTable | None:
    """The table at `path`; without one, the shipped table if it belongs to the model's tokenizer.

    Raises:
        DataError: the file is no table.
    """
    from assay.models.open import builtin_folder

    if path is not None:
        return FrequencyTable.load(path)
    shipped = FrequencyTable.load(builtin_folder("small") / "frequencies.npz")
    return shipped if shipped.tokenizer_digest == scorer.tokenizer_digest else None


def with_variants(scores: str, n: int) -> str:
    """The scores asked for, and those that compare n rewritings where n is not 0."""
    compared = [name for name, found in SCORES.items() if found.needs_variants] if n else []
    return ",".join([scores, *(f"{name}:n={n}" if SCORES[name].defaults["n"] != n else name for name in compared)])


def computable(
    scores: str, *, frequencies: bool, reference: bool, target: LogProbScorer | None = None
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
        second_model = any(view.role == "reference" for view in one.definition.views.values())
        if one.name in explicit:
            kept.append(one)
        elif one.definition.needs_full_statistics and alone:
            notes.append(f"{one.name} was left out: the model gives log-probabilities alone.")
        elif one.definition.needs_frequencies and not frequencies:
            notes.append(f"{one.name} was left out: it needs token frequencies for this tokenizer (--frequencies).")
        elif second_model and not reference:
            notes.append(f"{one.name} was left out: it needs a second model (--reference).")
        else:
            kept.append(one)
    return tuple(kept), tuple(notes)


def tell_rejections(rewriter: Rewriter) -> None:
    """Say on standard error which versions of a model's did not count as rewritings, and why."""
    from assay.cli.terminal import warn

    for reason, count in rewriter.rejections.most_common() if isinstance(rewriter, Written) else ():
        warn(f"rewritings by {rewriter.name}: {count} rejected: {reason}")
