"""Models behind the cache, and the engine that writes variants."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assay.errors import CacheError, DataError, MissingCapability
from assay.models import (
    ModelSettings,
    StatisticsCache,
    builtin_folder,
    cached_generator,
    cached_scorer,
    check_model,
    is_remote,
    open_model,
)
from assay.progress import warn
from assay.scores import FrequencyTable
from assay.scoring.planning import generator_digest
from assay.scoring.rewriters import CHANGES, Deterministic, ModelRewriter, Rewriter
from assay.scoring.selection import DETERMINISTIC
from assay.types import Generator, LogProbScorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.code import Extent
    from assay.scores import ModelRole, ScoreRequest

DEFAULT_NAMES = {"all": "dictionary", "one": "synonyms"}
"""Source of new names where none is named, by how many names a variant changes; one of `assay.code.WORD_LISTS`."""


@dataclass(frozen=True, slots=True)
class Opener:
    """How models are opened.

    Attributes:
        settings: of every model that is opened, the use of the cache among them.
    """

    settings: ModelSettings = field(default_factory=ModelSettings)

    def check(self, *names: str | None) -> None:
        """Check that models of these names can exist, before anything is loaded; None is passed over.

        Raises:
            ModelError: there is no such model.
            MissingExtra: one of them needs an optional dependency.
        """
        revision = self.settings.revision
        for name in names:
            if name is not None:
                check_model(name, revision)
            revision = None  # it is that of the first model

    def scorer(self, name: str) -> LogProbScorer:
        """Open a model that gives token probabilities.

        Raises:
            ModelError: the model cannot be opened.
            MissingCapability: it only generates text.
        """
        model = open_model(name, self.settings)
        if not isinstance(model, LogProbScorer):
            raise MissingCapability(
                f"{name} only generates text: expected --access black, or a model with token probabilities"
            )
        return self.cached_scorer(model)

    def generator(self, name: str) -> Generator:
        """Open a model that generates text.

        Raises:
            ModelError: the model cannot be opened.
        """
        return self.cached_generator(open_model(name, self.settings))

    def cached_scorer(self, model: LogProbScorer) -> LogProbScorer:
        """Return a model behind the cache, if that is used."""
        cache = self.open_cache()
        if cache is None:
            return model
        return cached_scorer(model, cache, on_problem=warn)

    def cached_generator(self, model: Generator) -> Generator:
        """Return a model behind the cache, if that is used."""
        cache = self.open_cache()
        if cache is None:
            return model
        return cached_generator(model, cache, digest=generator_digest(model), on_problem=warn)

    def roles(self, target: str, reference: str | None) -> "dict[ModelRole, LogProbScorer]":
        """Open the audited model and, where one is named, the reference model.

        Revision and adapter are the target's own; all other settings hold for both.

        Raises:
            ModelError: one of them cannot be opened.
        """
        models: dict[ModelRole, LogProbScorer] = {"target": self.scorer(target)}
        if reference is not None:
            models["reference"] = self.of_other_model().scorer(reference)
        return models

    def of_other_model(self) -> "Opener":
        """Return the opener of a second model: revision, adapter and chat template are the first one's own."""
        return replace(self, settings=replace(self.settings, revision=None, adapter=None, chat_template=False))

    def rewriter(
        self,
        engine: str,
        kinds: str,
        requests: "Sequence[ScoreRequest]",
        names_from: str | Generator | None = None,
        rename: "Extent" = "all",
    ) -> Rewriter:
        """Return the engine that writes variants; no model is opened where no score compares variants.

        Args:
            engine: "deterministic", or the name of a model that follows instructions.
            kinds: what may change, some of `assay.scoring.CHANGES` with commas between them.
            requests: the scores that will be computed.
            names_from: for the deterministic engine, a word list, or a model that proposes names in place; None for
                the default.
            rename: for the deterministic engine, "all" names in each rewriting or "one".

        Raises:
            DataError: there is no such kind of change, or names are to come from a second engine.
            ModelError: the model cannot be opened.
            SandboxUnavailable: test cases may change, and this machine cannot run solutions safely.
        """
        from assay.code import WORD_LISTS, SampledNames, require_sandbox  # noqa: PLC0415  slow to import

        names = set(map(str.strip, kinds.split(",")))
        if not names <= set(CHANGES):
            raise DataError(f"received --variant-kinds {kinds}, expected some of {','.join(CHANGES)}")
        changes = tuple(filter(names.__contains__, CHANGES))
        if not any(request.variants for request in requests):
            return Deterministic()
        if "tests" in changes:
            require_sandbox()
        if engine != DETERMINISTIC:
            if names_from is not None or rename != "all":
                raise DataError(
                    f"--names-from and --rename are for the deterministic engine; received --variant-engine {engine}, "
                    "which chooses names itself"
                )
            return ModelRewriter(self._writer(engine), changes=changes)
        names_from = names_from or DEFAULT_NAMES[rename]
        if not isinstance(names_from, str):
            return Deterministic(changes, SampledNames(names_from), rename)
        if names_from in WORD_LISTS:
            return Deterministic(changes, WORD_LISTS[names_from], rename)
        return Deterministic(changes, SampledNames(self._writer(names_from)), rename)

    def _writer(self, name: str) -> Generator:
        """Open a model that writes names or variants: device and number format are those of the audited model."""
        # revision, adapter and context are the audited model's own; a server has no device
        kept = ("concurrency", "cache") if is_remote(name) else ("device", "dtype", "cache")
        own = ModelSettings.of(**{setting: getattr(self.settings, setting) for setting in kept})
        return replace(self, settings=own).generator(name)

    def open_cache(self) -> StatisticsCache | None:
        """Open the statistics cache; None where it is not used, or cannot be."""
        if not self.settings.cache:
            return None
        try:
            return StatisticsCache()
        except CacheError as error:  # a cache that cannot be used costs time, not the run
            warn(f"{error}; going on without the cache")
            return None


def frequencies_for(scorer: LogProbScorer, named: FrequencyTable | None) -> FrequencyTable | None:
    """Return the table that the user named; without one, the shipped table if it belongs to the model's tokenizer."""
    if named is not None:
        return named
    # ids mean nothing under another tokenizer
    shipped = FrequencyTable.load(builtin_folder("small") / "frequencies.npz")
    if shipped.tokenizer_digest != scorer.tokenizer_digest:
        return None
    return shipped
