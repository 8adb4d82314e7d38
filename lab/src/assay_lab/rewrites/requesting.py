"""A data set of code that people wrote and that models rewrote."""

import platform
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path

from assay import __version__
from assay.errors import DataError, ModelError
from assay.models import (
    CachedGenerator,
    ModelSettings,
    SpendingLimits,
    SpendingMeter,
    StatisticsCache,
    cached_generator,
    check_follows_instructions,
    check_model,
    is_server,
    open_model,
    tokens_of_length,
)
from assay.progress import inform, progress_bar
from assay.provenance import CodeIndex
from assay.reports import Report
from assay.scoring import generator_digest
from assay.types import Rejected, Sample
from assay_lab.classifiers.labelled import HUMAN
from assay_lab.columns import attributes
from assay_lab.mappings import enumerated, mapped
from assay_lab.rewrites import (
    STORE,
    AssemblyRequest,
    Collected,
    CollectionRequest,
    RewriteSets,
    RewritingRequest,
    assemble,
    check_folder_of_set,
    check_settings_of_set,
    collect,
    describe_sets,
    prompt_for,
    reply_batches,
    rewritten_by,
    write_sets,
)

_OF_SERVERS = frozenset({"concurrency", *map(attrgetter("name"), fields(SpendingLimits))})


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritesRequest:
    """Options of every step.

    Attributes:
        collection: which texts of people.
        rewriting: how generators reply.
        assembly: what happens to the replies.
        settings: of the models; limits of requests, tokens and cost hold for all generators together.
    """

    collection: CollectionRequest = field(default_factory=CollectionRequest)
    rewriting: RewritingRequest = field(default_factory=RewritingRequest)
    assembly: AssemblyRequest = field(default_factory=AssemblyRequest)
    settings: ModelSettings = field(default_factory=ModelSettings)


@dataclass(frozen=True, slots=True, eq=False)
class BuiltRewrites:
    """The data sets of one run.

    Attributes:
        folder: that holds them.
        collected: texts of people, and what removed all others.
        sets: Binary and Multi.
        manifest: as it is written.
    """

    folder: Path
    collected: Collected
    sets: RewriteSets
    manifest: Mapping[str, object]

    def describe(self) -> Report:
        """Return the report: Table 1, and what every rule removed."""
        return describe_sets(self.collected, self.sets, str(self.folder))


def build_rewrites(
    corpora: Sequence[str | Path],
    generators: Mapping[str, str],
    out: Path | str,
    *,
    index: Path | str | None = None,
    request: RewritesRequest | None = None,
    progress: bool = True,
    force: bool = False,
) -> BuiltRewrites:
    """Build data sets of code that people wrote and that models rewrote, as DECo was made.

    Every reply is kept in the folder as it arrives. The same call continues after an interruption, and a call with
    another generator asks only that one.

    Args:
        corpora: git repositories, archives and folders.
        generators: name in the data set → model that follows instructions, as `assay.open_model` takes it.
        out: folder that is written.
        index: folder of an index whose documents are read too.
        request: options; None for the paper's.
        progress: show progress on a terminal.
        force: replace a finished data set of other settings in `out`.

    Raises:
        AssayError: bad input, or a limit is reached; one line says what was received and what was expected.
    """
    request, folder = request or RewritesRequest(), Path(out)
    began, start = datetime.now(UTC), time.perf_counter()
    _check_generators(generators)
    check_folder_of_set(folder)
    settings = _plain({name: asdict(getattr(request, name)) for name in ("collection", "rewriting", "assembly")})
    if not force:
        check_settings_of_set(folder, settings)
    with ExitStack() as stack:
        opened = None if index is None else stack.enter_context(CodeIndex.open(index))
        collected = collect(list(map(str, corpora)), request.collection, opened)
    if not collected.samples:
        counts = dict(collected.skipped)
        counts |= {rule.value: count for rule, count in collected.removed.items() if count}
        listed = enumerated(counts, "{} {:,}") or "nothing was read"
        raise DataError(f"no text of a person is left: {listed}; see --allow-licence, --tokens and --before")
    with StatisticsCache(folder / STORE) as store:
        replies, models = _all_replies(collected.samples, generators, request=request, store=store, progress=progress)
    sets = assemble(collected, replies, request.assembly)
    facts = {
        # under `python -m` the name of the program is __main__
        "command": [Path(sys.argv[0]).stem.removeprefix("__main__") or "assay", *sys.argv[1:]],
        "assay": __version__,
        "python": platform.python_version(),
        "corpora": list(map(str, corpora)),
        "index": None if index is None else str(index),
        "models": models,
        "settings": settings,
        "began": began.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 3),
    }
    manifest = write_sets(folder, collected, sets=sets, facts=facts)
    return BuiltRewrites(folder=folder, collected=collected, sets=sets, manifest=manifest)


def _check_generators(generators: Mapping[str, str]) -> None:
    """Check names and models before anything is read or sent."""
    for name, model in generators.items():
        if name.casefold() == HUMAN:
            raise DataError(f"received the generator name {name!r}, which is the label of people; expected another")
        check_model(model)
        check_follows_instructions(model)


def _all_replies(
    samples: Sequence[Sample],
    generators: Mapping[str, str],
    *,
    request: RewritesRequest,
    store: StatisticsCache,
    progress: bool,
) -> tuple[dict[str, list[str | Rejected]], dict[str, object]]:
    """Return generator → replies, and generator → what it is and what it cost in this run."""
    # all servers are opened first: the estimate covers every one before anything is sent
    limits = request.settings.limits
    opened = {}
    for name, model in generators.items():
        if is_server(model):
            opened[name] = _opened(model, request.settings, limits=limits, store=store)
    _report_cost(opened, samples, request=request.rewriting, limits=limits)
    replies: dict[str, list[str | Rejected]] = {}
    models: dict[str, object] = {}
    for name, model in generators.items():
        with progress_bar(f"rewriting by {name}", shown=progress) as report:
            # one local model is in memory at a time
            generator = _opened(model, request.settings, limits=limits, store=store)
            replies[name] = rewritten_by(generator, samples, request=request.rewriting, progress=report)
        # of a model behind a server
        sent: SpendingMeter | None = getattr(generator.model, "meter", None)
        models[name] = {"model": model, "digest": generator.digest} | _spending(name, sent, limits)
        if sent is not None:
            # the limits hold for all generators together, so the next gets what is left
            limits = limits.after(sent.requests, sent.tokens)
        del generator
    return replies, models


def _spending(name: str, sent: SpendingMeter | None, limits: SpendingLimits) -> dict[str, object]:
    """Print and return what a generator cost in this run; nothing of a local one."""
    if sent is None:
        return {}
    cost = limits.cost(sent.tokens)
    inform(f"{name}: {_in_words(sent.requests, sent.tokens, cost)} were sent")
    return {"requests": sent.requests, "tokens": sent.tokens, "cost": cost}


def _opened(model: str, settings: ModelSettings, limits: SpendingLimits, store: StatisticsCache) -> CachedGenerator:
    """Return a generator that keeps its replies in the folder."""
    remote = is_server(model)
    names = set(attributes(fields(ModelSettings), "name"))
    # a server takes its own settings alone, a local model the others; both take the concurrency
    names = names & _OF_SERVERS if remote else names - _OF_SERVERS | {"concurrency"}
    own = mapped(partial(getattr, settings), names)
    if remote:
        own |= asdict(limits)
    generator = open_model(model, ModelSettings(**own))
    return cached_generator(generator, store, digest=generator_digest(generator), on_problem=_stop)


def _report_cost(
    generators: Mapping[str, CachedGenerator],
    samples: Sequence[Sample],
    request: RewritingRequest,
    limits: SpendingLimits,
) -> None:
    """Print what may be sent to servers at most.

    Raises:
        ModelError: that exceeds a limit.
    """
    requests = tokens = 0
    for name, generator in generators.items():
        own_requests = own_tokens = 0
        for most, places in reply_batches(samples).items():
            prompts = [prompt_for(samples[place]) for place in places]
            missing = generator.missing(prompts, max_new_tokens=most, **asdict(request))
            own_requests += len(missing)
            own_tokens += sum(tokens_of_length(len(prompt)) + most for prompt in missing)
        words = _in_words(own_requests, own_tokens, limits.cost(own_tokens))
        inform(f"{name}: at most about {words} are to be sent; replies in the folder cost nothing")
        requests, tokens = requests + own_requests, tokens + own_tokens
    if exceeded := limits.exceeded(requests, tokens):
        raise ModelError(
            f"nothing was sent: the estimate is {exceeded}; expected fewer texts (--per-language N) or a higher limit"
        )


def _in_words(requests: int, tokens: int, cost: float | None) -> str:
    in_money = "" if cost is None else f" (a cost of {cost:.2f})"
    return f"{requests:,} requests and {tokens:,} tokens{in_money}"


def _stop(message: str) -> None:
    """Stop where replies can no longer be kept: they may have cost money."""
    # the message of the cache says that it goes on, which it does not here
    raise DataError(message.removesuffix("; going on without the cache"))


def _plain(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings for JSON."""
    plain = dict(settings)
    for name, value in settings.items():
        if isinstance(value, dict):
            plain[name] = _plain(value)
        elif isinstance(value, date):
            plain[name] = value.isoformat()
    return plain
