"""From a selection of scores to a plan: which can be computed with the access, models and tables at hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from assay.errors import MissingCapability, ScoreError
from assay.models import CachedScorer
from assay.progress import Phases, progress_bar, warn
from assay.scores import FrequencyTable, ScoreDefinition, ScoreRequest, requests
from assay.scoring.opening import Opener, frequencies_for
from assay.scoring.planning import Plan, plan, statistics_in_words
from assay.scoring.rewriters import Rewriter
from assay.scoring.selection import OWN_NAMES, ScoreSelection, tier
from assay.types import Generator, LogProbScorer, gives


def plan_scores(selection: ScoreSelection, model: str, opener: Opener) -> tuple[Plan, tuple[str, ...]]:
    """Open the models and say what will be run on them.

    Returns:
        The plan, and a note for each score of a list that was left out.

    Raises:
        AssayError: a model cannot be opened, or cannot give what a score needs.
    """
    names = selection.specification()
    chosen_scores = requests(names)

    def rewriter(names_from: str | Generator | None) -> Rewriter:
        return opener.rewriter(
            selection.variant_engine,
            kinds=selection.variant_kinds,
            requests=chosen_scores,
            names_from=names_from,
            rename=selection.rename,
        )

    ready = None
    if selection.names_from != OWN_NAMES:
        # before a large model is loaded: a kind of rewriting may be misspelt, or the engine may not be there
        ready = rewriter(selection.names_from)
    if selection.access == "black":
        if selection.reference is not None:
            raise ScoreError("--reference needs the token probabilities of both models: expected --access gray")
        generator = opener.generator(model)
        chosen, notes = _computable(selection, names)
        return plan(chosen, {}, generator=generator, rewriter=ready or rewriter(generator)), notes
    table = None
    if selection.frequencies is not None:
        table = FrequencyTable.load(selection.frequencies)
    models = opener.roles(model, selection.reference)
    target = models["target"]
    # the shipped table belongs to one tokenizer, which shows when the model is open
    table = frequencies_for(target, table)
    chosen, notes = _computable(selection, names, target=target, table=table)
    return plan(chosen, models, table, rewriter=ready or rewriter(_generator_of(target))), notes


def _computable(
    selection: ScoreSelection, names: str, *, target: LogProbScorer | None = None, table: FrequencyTable | None = None
) -> tuple[tuple[ScoreRequest, ...], tuple[str, ...]]:
    """Return the scores that can be computed, and a note for each other score of a list.

    A score that is requested by its own name stays, so that the plan can say what it lacks.
    """
    explicit = {spec.strip() for spec in names.split(",")}
    chosen, notes = [], []
    for request in requests(names):
        missing = _missing(selection, request.definition, target=target, table=table)
        # lists such as `all` hold scores of both accesses; one that was named is of this access, or was refused before
        if missing is None or request.name in explicit:
            chosen.append(request)
        else:
            notes.append(f"{request.name} was left out: {missing}.")
    return tuple(chosen), tuple(notes)


def _missing(
    selection: ScoreSelection, score: ScoreDefinition, *, target: LogProbScorer | None, table: FrequencyTable | None
) -> str | None:
    """Return why a score cannot be computed, None if it can."""
    if tier(score) != selection.access:
        return f"it needs --access {tier(score)}"
    if target is not None and not gives(target, score.statistics):
        return f"the model gives no {statistics_in_words(score)}"
    if score.needs_frequencies and target is not None and target.tokenizer_digest is None:
        return "the model does not show its tokenizer"
    if score.needs_frequencies and table is None:
        return "it needs token frequencies for this tokenizer (--frequencies)"
    if score.access == "two models" and selection.reference is None:
        return "it needs a second model (--reference)"
    return None


def _generator_of(scorer: LogProbScorer) -> Generator:
    """Return the audited model as one that generates, without loading it a second time.

    Raises:
        MissingCapability: it does not generate text.
    """
    # the cache holds statistics and cannot generate: the model behind it is asked
    model = scorer.scorer if isinstance(scorer, CachedScorer) else scorer
    if not isinstance(model, Generator):
        raise MissingCapability(f"{scorer.name} does not generate text: expected another source than --names-from self")
    return model


@contextmanager
def reported(description: str, plan: Plan, *, shown: bool) -> Iterator[Phases | None]:
    """Show progress; when the block ends, report which rewritings were rejected, what stayed as it was, and why."""
    with progress_bar(description, shown=shown, by_core=True) as report:
        yield report
    for reason, count in sorted(plan.rewriter.counts.items(), key=lambda entry: -entry[1]):
        warn(f"rewritings by {plan.rewriter.name}: {count} {reason}")
