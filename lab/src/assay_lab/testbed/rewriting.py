"""The engine that rewrites the texts of a run: ours, or a language model with the prompts of SrDetection.

A model's replies are kept in the run folder, so every checkpoint is judged by the same rewritings and none is paid for
twice. How many replies were rejected, and why, is kept beside them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.code import WORD_LISTS, SampledNames, require_sandbox
from assay.files import parse_json, write_json
from assay.models import ModelSettings, StatisticsCache, cached_generator, is_remote, open_model
from assay.scoring import DETERMINISTIC, Deterministic, ModelRewriter, Rewriter, generator_digest
from assay.types import Generator
from assay_lab.mappings import enumerated
from assay_lab.testbed.configuration import TESTS, EvaluationSettings

REPLIES = "replies.sqlite"
REWRITING = "rewriting.json"


@contextmanager
def opened_rewriter(folder: Path, judging: EvaluationSettings, generator: Generator) -> Iterator[Rewriter]:
    """Open the engine of a run; afterwards its name and what it counted stand in the run folder.

    Args:
        folder: of the run.
        judging: names the engine and what it changes.
        generator: the judged checkpoint, which proposes names where they are its own.

    Raises:
        ModelError: the model that rewrites cannot be opened.
        SandboxUnavailable: test cases are to change, and this machine cannot run solutions safely.
    """
    if TESTS in judging.changes:
        require_sandbox()
    if judging.engine == DETERMINISTIC:
        names = SampledNames(generator) if judging.names == "self" else WORD_LISTS[judging.names]
        engine: Rewriter = Deterministic(judging.changes, names, judging.rename)
        yield engine
    else:
        # a server chooses its own device
        own = {} if is_remote(judging.engine) else {"device": judging.device, "dtype": judging.dtype}
        model = open_model(judging.engine, ModelSettings.of(**own))
        folder.mkdir(parents=True, exist_ok=True)
        with StatisticsCache(folder / REPLIES) as cache:
            replying = cached_generator(model, cache, digest=generator_digest(model))
            engine = ModelRewriter(replying, changes=judging.changes)
            yield engine
    if engine.counts:
        write_json(folder / REWRITING, {"engine": engine.name, "counts": dict(engine.counts)})


def rewriting_notes(folder: Path) -> list[str]:
    """Return a sentence on what the engine of a run rejected or left as it was; none where there is nothing."""
    path = folder / REWRITING
    if not path.exists():
        return []
    stored = parse_json(path.read_text("utf-8"))
    return [f"Rewritings by {stored['engine']}: {enumerated(stored['counts'], '{} {}')}."]
