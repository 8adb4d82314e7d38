"""The derivations of texts that detectors of generated code compare, and the models that make them."""

from collections.abc import Mapping
from itertools import repeat
from typing import Annotated

from assay.errors import MissingCapability
from assay.models import check_follows_instructions, check_model, is_remote, open_local
from assay.scores import Derivation, Deriver
from assay.scoring import DerivationModels
from assay.types import TokenLogProbs, TokenScorer, TokenStatistics
from assay_lab.methods.perturbing import (
    CausalFiller,
    CopyStatistics,
    SentinelFiller,
    SpanPerturbation,
    StylePerturbation,
)
from assay_lab.methods.revising import ConditionedStatistics, EncodedRevisions, RestoredStatistics, Reviser

DEFAULT_ENCODER = "builtin:fragments"
SEQ2SEQ = "seq2seq:"
"""Prefix of an encoder-decoder model; `assay_lab.methods.seq2seq` opens it."""
CHECKED = ("observer", "performer", "filler", "reviser", "restorer")
"""Roles of language models."""


def check_names(names: Mapping[str, str]) -> None:
    """Check that the models can exist, and that a reviser is not one that is known to follow no instructions.

    Raises:
        ModelError: one of them will not do.
    """
    for role in CHECKED:
        if role in names:
            check_model(names[role].removeprefix(SEQ2SEQ))
    if "reviser" in names:
        check_follows_instructions(names["reviser"])


def token_scorer(models: DerivationModels) -> TokenScorer:
    """Return the target.

    Raises:
        MissingCapability: it does not give the statistics of whole distributions.
    """
    if not isinstance(models.target, TokenScorer):
        raise MissingCapability(
            f"{models.target.name} gives log-probabilities alone: expected a model opened from weights"
        )
    return models.target


def open_style(models: DerivationModels) -> Deriver:
    """Return what makes copies with random white space."""
    return CopyStatistics(StylePerturbation(), token_scorer(models))


def open_spans(models: DerivationModels) -> Deriver:
    """Return what makes copies with filled spans; the kind of model decides how it is asked."""
    name = models.names["filler"]
    # an encoder-decoder sees both sides of a gap, a causal model only the text before it
    kind = SentinelFiller if name.startswith(SEQ2SEQ) else CausalFiller
    return CopyStatistics(SpanPerturbation(kind(models.generator(name))), token_scorer(models))


def reviser_of(models: DerivationModels) -> Reviser:
    """Return the model that follows instructions."""
    return Reviser(models.generator(models.names["reviser"]))


def open_restored(models: DerivationModels) -> Deriver:
    """Return what measures a text given its revisions."""
    from assay_lab.methods.seq2seq import open_seq2seq  # noqa: PLC0415  it imports torch; a list of scores does not

    return RestoredStatistics(reviser_of(models), open_seq2seq(models.names["restorer"], models.opener.settings))


def open_revised(models: DerivationModels) -> Deriver:
    """Return what compares a text with its revisions."""
    from assay.retrieval import open_encoder  # noqa: PLC0415  see open_restored

    return EncodedRevisions(reviser_of(models), open_encoder(models.names.get("encoder", DEFAULT_ENCODER)))


def open_task(models: DerivationModels) -> Deriver:
    """Return what measures the code behind a description of its task."""
    return ConditionedStatistics(reviser_of(models).describing(), token_scorer(models))


def open_pair(models: DerivationModels) -> Deriver:
    """Open observer and performer, each of which is the target where it is not named.

    Raises:
        MissingCapability: one of them has no weights here.
        ModelError: a model cannot be opened, or their tokenizers differ.
    """
    names = list(map(models.names.get, ("observer", "performer"), repeat(models.target_name)))
    for name in names:
        if is_remote(name):
            raise MissingCapability(f"{name} shows no distributions: expected two models opened from their weights")
    from assay_lab.methods.pair import ModelPair, PairedStatistics  # noqa: PLC0415  see open_restored

    observer, performer = map(open_local, names, repeat(models.opener.settings))
    return PairedStatistics(models.opener.cached_scorer(ModelPair(observer, performer, models.opener.settings)))


STYLE = Derivation(
    "style",
    needs="n copies of the text with random white space under the target model",
    missing="needs copies with random white space: `assay detect`",
    open=open_style,
)
SPANS = Derivation(
    "spans",
    needs="n copies of the text with filled spans under the target model (a filler)",
    missing="needs a model that fills spans: `assay detect --score-model filler=MODEL`",
    open=open_spans,
    required=("filler",),
    check=check_names,
)
RESTORED = Derivation(
    "restored",
    needs="the text given its revision under a sequence-to-sequence model (a reviser and a restorer)",
    missing="needs a reviser and a sequence-to-sequence model: `assay detect --score-model reviser=A,restorer=B`",
    open=open_restored,
    required=("reviser", "restorer"),
    check=check_names,
)
REVISED = Derivation(
    "revised",
    needs="n revisions of the text (a reviser) and an encoder",
    missing="needs a model that revises code: `assay detect --score-model reviser=MODEL`",
    open=open_revised,
    required=("reviser",),
    optional=("encoder",),
    check=check_names,
)
TASK = Derivation(
    "task",
    needs="the text behind a description of its task (a reviser) under the target model",
    missing="needs a model that describes code: `assay detect --score-model reviser=MODEL`",
    open=open_task,
    required=("reviser",),
    check=check_names,
)
PAIR = Derivation(
    "pair",
    needs="original text under the pair model (full distribution)",
    missing="needs two models of one tokenizer: `assay detect --score-model observer=MODEL`",
    open=open_pair,
    required=("observer",),
    optional=("performer",),
    check=check_names,
)

StyleCopies = Annotated[tuple[TokenStatistics, ...], STYLE]
SpanCopies = Annotated[tuple[TokenStatistics, ...], SPANS]
Restorations = Annotated[tuple[TokenLogProbs, ...], RESTORED]
RevisionSimilarities = Annotated[tuple[float, ...], REVISED]
TaskStatistics = Annotated[tuple[TokenStatistics, ...], TASK]
PairStatistics = Annotated[tuple[TokenStatistics, ...], PAIR]
"""One of a text: log-probabilities under the performer; entropy and variance are those of the performer's
log-probabilities in the expectation of the observer."""
