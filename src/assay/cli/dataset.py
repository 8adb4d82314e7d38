"""`assay dataset`: one model, one benchmark, a verdict on the benchmark as a whole."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.audit import slug
from assay.cli.completing import complete_benchmarks, complete_methods, complete_models, complete_score
from assay.cli.groups import grouped
from assay.cli.options import SCORES, DataOptions, Force, ModelName, ModelOptions, UnseenOptions, output_folder


@grouped
def dataset_command(
    model: ModelName,
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="A name of `assay benchmarks list`, or a file or folder.",
        ),
    ],
    *,
    methods: Annotated[
        str,
        typer.Option(
            metavar="a,b:k=v,…",
            autocompletion=complete_methods,
            help="Methods, parameters behind colons: kds, fsd:SCORE, srct, mean:SCORE, codec, di, permutation_test. "
            "`default` needs no fine-tuning, `all` is every method.",
            rich_help_panel=SCORES,
        ),
    ] = "default",
    score: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            autocompletion=complete_score,
            help="Score of the verdict, if not the declared one.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL|none",
            autocompletion=complete_models,
            help="Negative control: a model that certainly saw neither the benchmark nor the unseen text. Default: "
            "`builtin:control`.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Learning rate of a fine-tuning. Default: the rate at which embeddings of the unseen text change "
            "by a thousandth.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    allow_confounded: Annotated[
        bool,
        typer.Option(
            "--allow-confounded",
            help="Decide although the result may have another cause than training: the texts differ, or their projects "
            "are familiar. The report says so.",
            rich_help_panel=SCORES,
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.", rich_help_panel=SCORES)] = 0,
    out: Annotated[
        Path | None,
        output_folder("Run folder (assay-runs/MODEL-BENCHMARK-dataset)."),
    ] = None,
    force: Force = False,
    unseen: UnseenOptions,
    data: DataOptions,
    model_options: ModelOptions,
) -> None:
    """Judge whether a benchmark as a whole was in the training data: contaminated, no evidence, or cannot tell.

    Before the run it prints the cost and the smallest share that it can reveal; afterwards the share that looks trained
    on with its interval, an upper bound, and the methods side by side. Killed and started again, it continues.

    **Example**: `assay dataset builtin:small humaneval --data HumanEval.jsonl.gz --unseen fresh_functions.jsonl`
    """
    from assay import judge_dataset
    from assay.cli.present import PAGE, chosen_format, show
    from assay.cli.terminal import echo
    from assay.leakage import RunFolder

    form = chosen_format()
    default = Path("assay-runs") / f"{slug(model)}-{slug(benchmark)}-dataset"
    folder = RunFolder(out or default, numbered=out is None, force=force)
    result = judge_dataset(
        model,
        partial(data.load, benchmark),
        unseen=unseen.loader(),
        methods=methods,
        score=score,
        control=control,
        rate=rate,
        seed=seed,
        allow_confounded=allow_confounded,
        settings=model_options.settings(),
        cache=not model_options.no_cache,
        before=lambda sentence: echo(f"assay: {sentence}", err=True),
        out=folder,
    )
    show(result.describe(), form, folder.path / PAGE)
