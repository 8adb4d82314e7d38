"""Options that several commands share, each described once."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.errors import CacheError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.datasets import Dataset
    from assay.models import ModelSettings
    from assay.scores import ModelRole, ScoreRequest
    from assay.scoring import Rewriter
    from assay.types import Generator, LogProbScorer

MODEL = "Model"
DATA = "Data"
SCORES = "Scores"
OUTPUT = "Output"

MODEL_HELP = "builtin:small, a folder, a Hugging Face id, vllm:ID, or openai:MODEL@URL."
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is opened."""

    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a hub model.", rich_help_panel=MODEL)
    ] = None
    dtype: Annotated[
        str,
        typer.Option(
            metavar="auto|float32|bfloat16|float16",
            help="auto: float32 on a CPU, the checkpoint's own on a GPU.",
            rich_help_panel=MODEL,
        ),
    ] = "auto"
    device: Annotated[
        str, typer.Option(metavar="auto|cpu|cuda|cuda:N|balanced", help="Where the model runs.", rich_help_panel=MODEL)
    ] = "auto"
    attention: Annotated[
        str | None,
        typer.Option(metavar="eager|sdpa|flash_attention_2", help="Attention implementation.", rich_help_panel=MODEL),
    ] = None
    adapter: Annotated[
        str | None,
        typer.Option(help="PEFT adapter folder to put on the model (extra: hf).", rich_help_panel=MODEL),
    ] = None
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with the model.", rich_help_panel=MODEL),
    ] = False
    bos: Annotated[
        Literal["auto", "always", "never"],
        typer.Option(
            help="Beginning-of-sequence token: as the tokenizer does it, always, never.", rich_help_panel=MODEL
        ),
    ] = "auto"
    stride: Annotated[
        int | None,
        typer.Option(min=1, help="Step between windows of texts longer than the context (512).", rich_help_panel=MODEL),
    ] = None
    max_length: Annotated[
        int | None,
        typer.Option(min=2, help="Context length in tokens, if not the model's own.", rich_help_panel=MODEL),
    ] = None
    batch_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Padded tokens per batch; halved on lack of memory.", rich_help_panel=MODEL),
    ] = None
    concurrency: Annotated[
        int, typer.Option(min=1, help="Requests at a time to an openai: model.", rich_help_panel=MODEL)
    ] = 8
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the statistics cache.", rich_help_panel=MODEL)
    ] = False

    def settings(self) -> "ModelSettings":
        """Return the settings that a model is opened with."""
        from assay.models import ModelSettings

        return ModelSettings(**{field.name: getattr(self, field.name) for field in fields(ModelSettings)})

    def open(self, name: str) -> "LogProbScorer":
        """The model of that name, behind the statistics cache unless that is switched off.

        Raises:
            ModelError: the model cannot be opened.
            MissingCapability: it only writes.
        """
        from assay.cli.terminal import warn
        from assay.errors import MissingCapability
        from assay.models import StatisticsCache, cached_scorer, open_model
        from assay.types import LogProbScorer

        model = open_model(name, self.settings())
        if not isinstance(model, LogProbScorer):
            raise MissingCapability(f"{name} only writes: expected --access black, or a model with token probabilities")
        if self.no_cache:
            return model
        try:
            return cached_scorer(model, StatisticsCache(), on_problem=warn)
        except CacheError as error:  # a cache is a convenience: its want costs time, not the run
            warn(f"{error}; going on without the cache")
            return model

    def open_generator(self, name: str) -> "Generator":
        """The model of that name as one that writes, behind the cache unless that is switched off.

        Raises:
            ModelError: the model cannot be opened.
        """
        from assay.models import open_model

        return self._cached(open_model(name, self.settings()))

    def _cached(self, model: "Generator") -> "Generator":
        """The model behind the cache, unless that is switched off or fails."""
        from assay.cli.terminal import warn
        from assay.models import StatisticsCache, cached_generator
        from assay.scoring import generator_digest

        if self.no_cache:
            return model
        try:
            return cached_generator(model, StatisticsCache(), digest=generator_digest(model), on_problem=warn)
        except CacheError as error:
            warn(f"{error}; going on without the cache")
            return model

    def rewriter(self, engine: str, kinds: str, wanted: "Sequence[ScoreRequest]") -> "Rewriter":
        """Who makes rewritings: "deterministic", or the model of that name, on the target's device, behind the cache.

        No model is opened, and no sandbox asked for, where no score compares rewritings.

        Raises:
            DataError: the kinds are not some of `rewriters.CHANGES`.
            ModelError: the model cannot be opened.
            SandboxUnavailable: test cases are to change, and this machine cannot run solutions safely.
        """
        from assay.code import require_sandbox
        from assay.errors import DataError
        from assay.models import open_model
        from assay.scoring import CHANGES, Deterministic, Written

        asked = {one.strip() for one in kinds.split(",")}
        if not asked <= set(CHANGES):
            raise DataError(f"received --variant-kinds {kinds}, expected some of {','.join(CHANGES)}")
        changes = tuple(one for one in CHANGES if one in asked)
        if not any(one.variants for one in wanted):
            return Deterministic()
        if "tests" in changes:
            require_sandbox()
        if engine == "deterministic":
            return Deterministic(changes)
        if engine.startswith(("openai:", "openai-chat:", "vllm:")):
            return Written(self._cached(open_model(engine, concurrency=self.concurrency)), changes=changes)
        return Written(self._cached(open_model(engine, device=self.device, dtype=self.dtype)), changes=changes)

    def open_roles(self, target: str, reference: str | None) -> "dict[ModelRole, LogProbScorer]":
        """The audited model and, where one is named, the reference model.

        Revision and adapter are the target's own; all other settings hold for both.

        Raises:
            ModelError: one of them cannot be opened.
        """
        models: dict[ModelRole, LogProbScorer] = {"target": self.open(target)}
        if reference is not None:
            models["reference"] = replace(self, revision=None, adapter=None).open(reference)
        return models


@dataclass(frozen=True, slots=True)
class DataOptions:
    """Which texts are taken from where."""

    data: Annotated[
        Path | None,
        typer.Option(help="File or folder with the benchmark's data.", rich_help_panel=DATA, show_default=False),
    ] = None
    variant: Annotated[
        str | None, typer.Option(help="Variant of the benchmark; see `assay benchmarks show`.", rich_help_panel=DATA)
    ] = None
    language: Annotated[
        str | None,
        typer.Option(
            help="Of a benchmark: this language only. Of a table: its language column, or the language of all rows.",
            rich_help_panel=DATA,
        ),
    ] = None
    split: Annotated[str | None, typer.Option(help="Split of a hub data set.", rich_help_panel=DATA)] = None
    part: Annotated[
        str | None,
        typer.Option(help="Part of a task to take as the text; see `benchmarks show`.", rich_help_panel=DATA),
    ] = None
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of texts.", rich_help_panel=DATA)] = None
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of ids.", rich_help_panel=DATA)] = None
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of labels: 1 = member.", rich_help_panel=DATA)
    ] = None
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of groups that resampling keeps whole.", rich_help_panel=DATA),
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first N samples only.", rich_help_panel=DATA)] = (
        None
    )

    def load(self, name: str) -> "Dataset":
        """The benchmark of that name, or the file or folder at that path.

        Raises:
            DataError: it cannot be found or read.
        """
        from assay.datasets import load

        return load(name, **asdict(self))


Scores = Annotated[
    str | None,
    typer.Option(
        metavar="a,b:k=0.1,…",
        help="Scores, parameters behind colons; `one-pass`, `black` and `all` are lists (one-pass; with --access black "
        "those of it). See `assay score --list`.",
        rich_help_panel=SCORES,
        show_default=False,
    ),
]
AccessOption = Annotated[
    Literal["gray", "black"],
    typer.Option(
        help="gray: token probabilities can be read. black: the model only writes, and is judged by that.",
        rich_help_panel=SCORES,
    ),
]
Reference = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Second model, for scores that compare two.", rich_help_panel=SCORES)
]
Frequencies = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Token frequencies, for scores that need them (`assay frequencies build`).",
        rich_help_panel=SCORES,
    ),
]
Variants = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Rewrite each sample N times, under other names unless --variant-kinds says otherwise, and score it "
        "against them; with --access black 10 unless stated.",
        rich_help_panel=SCORES,
    ),
]
VariantEngine = Annotated[
    str,
    typer.Option(
        metavar="deterministic|MODEL",
        help="Who rewrites: our own engine, or a model that follows instructions, such as openai-chat:MODEL@URL.",
        rich_help_panel=SCORES,
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--index", metavar="DIR|URL", help="Folder of the index, or address of a Qdrant server.", show_default=False
    ),
]
VariantKinds = Annotated[
    str,
    typer.Option(
        metavar="function,variable,tests",
        help="What is rewritten: names, and the test cases that a statement shows (run in the sandbox, Python).",
        rich_help_panel=SCORES,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=OUTPUT)]
