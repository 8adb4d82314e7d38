"""Options that several commands share, each described once."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli.completing import complete_languages, complete_models, complete_scores
from assay.errors import DataError
from assay.files import check_target, check_target_folder

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.api import Opener, ScoreSelection
    from assay.datasets import Dataset, RepeatedIds
    from assay.models import ModelSettings

MODEL = "Model"
SPENDING = "Paid models"
DATA = "Data"
SCORES = "Scores"
OUTPUT = "Output"
OUTPUT_NAMES = ("-o", "--out", "--output")
"""Names of the option of a result, in every command."""
STANDARD_OUTPUT = Path("-")

MODEL_HELP = "builtin:small, a folder, a Hugging Face id, a GGUF file, vllm:ID, or openai:MODEL@URL."
ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", autocompletion=complete_models, help=MODEL_HELP, show_default=False)
]


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
            help="Beginning-of-sequence token: as the tokenizer does (auto), always, or never.", rich_help_panel=MODEL
        ),
    ] = "auto"
    chat_template: Annotated[
        bool,
        typer.Option(
            "--chat-template",
            help="Score each text as an assistant's reply in the model's chat template.",
            rich_help_panel=MODEL,
        ),
    ] = False
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
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Most requests to an openai: model.", rich_help_panel=SPENDING)
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Most tokens that an openai: model reads and writes.", rich_help_panel=SPENDING),
    ] = None
    price: Annotated[
        float | None,
        typer.Option(min=0, help="Price of a million tokens, in any currency.", rich_help_panel=SPENDING),
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Most that may be spent; needs --price.", rich_help_panel=SPENDING)
    ] = None
    requests_per_minute: Annotated[
        float | None,
        typer.Option(min=0.01, help="Rate of requests to an openai: model.", rich_help_panel=SPENDING),
    ] = None
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|auto|local",
            help="Score on a Ray cluster: its address, the running cluster (auto), or a new one (local).",
            rich_help_panel=MODEL,
        ),
    ] = None
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the statistics cache.", rich_help_panel=MODEL)
    ] = False

    def settings(self) -> "ModelSettings":
        """Return the settings that a model is opened with."""
        from assay.models import ModelSettings

        return ModelSettings(**{field.name: getattr(self, field.name) for field in fields(ModelSettings)})

    def opener(self) -> "Opener":
        """Return what opens models with these settings."""
        from assay.api import Opener

        return Opener(self.settings(), cache=not self.no_cache)


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The texts that a command reads, and their columns."""

    data: Annotated[
        Path | None,
        typer.Option(help="File or folder with the benchmark's data.", rich_help_panel=DATA, show_default=False),
    ] = None
    subset: Annotated[
        str | None,
        typer.Option(
            metavar="SUBSET", help="Subset of the benchmark; see `assay benchmarks show`.", rich_help_panel=DATA
        ),
    ] = None
    variant: Annotated[str | None, typer.Option(hidden=True, help="Old name of --subset.")] = None
    language: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_languages,
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

    def load(self, name: str, repeated: "RepeatedIds" = "refuse") -> "Dataset":
        """Return the samples of the benchmark of that name, or of the file or folder at that path.

        Raises:
            DataError: it cannot be found or read.
        """
        from assay.cli.terminal import echo
        from assay.datasets import DataSelection, read_dataset

        options = asdict(self)
        old = options.pop("variant")
        if old is not None:
            echo("assay: note: --variant is now --subset; the old name goes with the next release", err=True)
            options["subset"] = options["subset"] or old
        return read_dataset(name, DataSelection(**options, repeated=repeated))


@dataclass(frozen=True, slots=True)
class UnseenOptions:
    """Text that the model has certainly not seen, and its columns."""

    unseen: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Text of the same kind that the model has certainly not seen. Without it there is no verdict.",
            rich_help_panel=SCORES,
        ),
    ] = None
    unseen_text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of texts in --unseen.", rich_help_panel=SCORES)
    ] = None
    unseen_group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups in --unseen: texts of one project or file are not independent.",
            rich_help_panel=SCORES,
        ),
    ] = None

    def loader(self) -> "Callable[[], Dataset] | None":
        """Return what loads the text, its repeated ids numbered; None without --unseen."""
        if self.unseen is None:
            return None
        from assay import load

        return partial(load, self.unseen, text=self.unseen_text, group=self.unseen_group, repeated="number")


AccessOption = Annotated[
    Literal["gray", "black"],
    typer.Option(
        help="gray: the model gives token probabilities. black: it gives only generated text.",
        rich_help_panel=SCORES,
    ),
]


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The scores that are computed, and what they compare with."""

    scores: Annotated[
        str | None,
        typer.Option(
            metavar="a,b:k=0.1,…",
            autocompletion=complete_scores,
            help="Scores, parameters behind colons; `one-pass`, `black` and `all` are lists. Default: one-pass, with "
            "--access black the list `black`. See `assay score --list`.",
            rich_help_panel=SCORES,
            show_default=False,
        ),
    ] = None
    access: AccessOption = "gray"
    variants: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Rewrite each sample N times (other names; see --variant-kinds) and compare it with "
            "the rewritings. Default with --access black: 10. Decide by --unseen: without it SrDetection's own rule "
            "flags almost every function on a real model.",
            rich_help_panel=SCORES,
        ),
    ] = 0
    variant_engine: Annotated[
        str,
        typer.Option(
            metavar="deterministic|MODEL",
            autocompletion=complete_models,
            help="Engine of the rewritings, or a model that follows instructions (openai-chat:MODEL@URL).",
            rich_help_panel=SCORES,
        ),
    ] = "deterministic"
    variant_kinds: Annotated[
        str,
        typer.Option(
            metavar="function,variable,tests",
            help="What is rewritten: names, and the test cases that a statement shows (run in the sandbox, Python).",
            rich_help_panel=SCORES,
        ),
    ] = "function,variable"
    names_from: Annotated[
        str | None,
        typer.Option(
            metavar="dictionary|synonyms|self|MODEL",
            help="Source of the new names. A model (`self` is the audited one) proposes names in place. Default: "
            "dictionary, with --rename one synonyms.",
            rich_help_panel=SCORES,
            show_default=False,
        ),
    ] = None
    rename: Annotated[
        Literal["all", "one"],
        typer.Option(
            help="Names that a rewriting changes: all, as SrDetection does, or one at a time.", rich_help_panel=SCORES
        ),
    ] = "all"
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="Second model, for scores that compare two.",
            rich_help_panel=SCORES,
        ),
    ] = None
    frequencies: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Token frequencies, for scores that need them (`assay frequencies build`).",
            rich_help_panel=SCORES,
        ),
    ] = None

    def selection(self) -> "ScoreSelection":
        """Return the selection of scores."""
        from assay.api import ScoreSelection

        return ScoreSelection(**asdict(self))


def new_file(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a file that a command will write.

    Raises:
        DataError: it exists and --force is not given, it is a folder, its folder does not exist, or it is "-".
    """
    from assay.cli.terminal import OUTPUT_SETTINGS

    if path == STANDARD_OUTPUT:
        raise DataError(f"received {path} for standard output, expected the name of a file")
    if path is not None and not context.resilient_parsing:
        check_target(path)
        if path.is_file() and not OUTPUT_SETTINGS.get().force:
            raise DataError(f"{path} exists already; expected another name, or --force to replace it")
    return path


def new_file_or_output(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a file that a command will write; "-" is standard output.

    Raises:
        DataError: see `new_file`.
    """
    return path if path == STANDARD_OUTPUT else new_file(context, path)


WRITTEN = {False: new_file, True: new_file_or_output}
"""Can it be printed → the check of a file that a command writes."""


def output_file(description: str, *, printable: bool = False) -> Any:  # noqa: ANN401  the type that typer gives its options
    """Return the option of the file that holds the result of a command; `printable` takes "-" too."""
    return typer.Option(
        *OUTPUT_NAMES,
        metavar="FILE",
        help=description,
        rich_help_panel=OUTPUT,
        callback=WRITTEN[printable],
        show_default=False,
    )


def further_file(description: str, panel: str = OUTPUT, *, printable: bool = False) -> Any:  # noqa: ANN401
    """Return the option of a file that a command writes beside its result; `printable` takes "-" too."""
    return typer.Option(
        metavar="FILE", help=description, rich_help_panel=panel, callback=WRITTEN[printable], show_default=False
    )


def writable_folder(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a folder that a command will write.

    Raises:
        DataError: see `check_target_folder`.
    """
    if path is not None and not context.resilient_parsing:
        check_target_folder(path)
    return path


def output_folder(description: str) -> Any:  # noqa: ANN401
    """Return the option of the folder that holds the result of a command."""
    return typer.Option(
        *OUTPUT_NAMES,
        metavar="DIR",
        help=description,
        rich_help_panel=OUTPUT,
        callback=writable_folder,
        show_default=False,
    )


At = Annotated[
    str,
    typer.Option(
        "--index", metavar="DIR|URL", help="Folder of the index, or address of a Qdrant server.", show_default=False
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace a finished run, or one with other settings, in the folder.", rich_help_panel=OUTPUT
    ),
]
