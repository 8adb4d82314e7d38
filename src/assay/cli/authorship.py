"""`assay authorship`: calibration on older code, classifiers and shortcut audits."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.authorship_build import build_rewrites_command
from assay.cli.authorship_options import AuthorshipDetectorOptions, FitOptions, LabelledOptions, ProtocolOptions
from assay.cli.groups import grouped
from assay.cli.options import SCORES, output_file, output_folder
from assay.cli.unused import refuse_unused
from assay.errors import DataError

authorship_app = typer.Typer(
    name="authorship", help="Person or generator: calibration, classifiers, shortcuts.", no_args_is_help=True
)

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA…", help="Tables of labelled code; one file or `collection` value each.", show_default=False
    ),
]


@authorship_app.callback()
def authorship() -> None:
    """Person or generator: calibration on your own past, classifiers, and audits of data sets for shortcuts."""


@authorship_app.command("calibrate")
@grouped
def calibrate_authorship_command(
    context: typer.Context,
    past: Annotated[
        list[str],
        typer.Argument(
            metavar="REPOSITORY…", help="Git repositories; with --undated, any folders.", show_default=False
        ),
    ],
    *,
    before: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Take the files as they were before this day, for example 2021-01-01."),
    ] = None,
    undated: Annotated[
        bool, typer.Option("--undated", help="Folders without a history, which people certainly wrote.")
    ] = False,
    by: Annotated[
        Literal["file", "function", "patch"],
        typer.Option(help="Unit of code, as with `detect`; patch: added lines of older commits, for `detect --patch`."),
    ] = "file",
    most: Annotated[
        int, typer.Option(min=45, help="Most pieces of one language and length class, drawn at random.")
    ] = 500,
    output: Annotated[Path, output_file("The reference to write.")],
    detector: AuthorshipDetectorOptions,
) -> None:
    """Score code that no generator can have written, for `assay detect --reference`. The file holds no text.

    `assay detect` needs the same options of the detector later. A score is no proof of misconduct.

    **Example**: `assay authorship calibrate . --before 2021-01-01 -o past.json`
    """
    if (before is None) != undated:
        received = "both --before and --undated" if undated else "neither --before nor --undated"
        raise DataError(
            f"{received}: expected --before YYYY-MM-DD for git repositories, or --undated for folders that people wrote"
        )
    from assay.api import calibrate_authorship
    from assay.authorship import describe_reference
    from assay.cli.present import chosen_format, show

    choice, form = detector.choice(), chosen_format()
    refuse_unused(context, choice.unused())
    reference, left_out = calibrate_authorship(
        past, output, before=_day(before) if before else None, choice=choice, by=by, most=most
    )
    show(describe_reference(reference, left_out, reference.realised()), form)


@authorship_app.command("train")
@grouped
def train_classifier_command(
    data: Tables,
    *,
    output: Annotated[Path, output_folder("Folder of the classifier.")],
    evaluate: Annotated[
        bool, typer.Option("--evaluate/--no-evaluate", help="Measure left-out collections for the model card.")
    ] = True,
    generators: Annotated[
        bool, typer.Option("--generators", help="Also name the generator that code is most like, or none.")
    ] = False,
    labelled: LabelledOptions,
    fit: FitOptions,
) -> None:
    """Fit a classifier of machine-written code, balanced over collections and languages, with a model card.

    A score is no proof of misconduct: calibrate on older code of the same origin before use.

    **Example**: `assay authorship train collections.jsonl -o classifier`
    """
    from assay.api import train_classifier
    from assay.cli.present import chosen_format, show
    from assay.reports import Report

    form = chosen_format()
    classifier, transfer = train_classifier(
        labelled.read(data),
        output,
        evidence=fit.kinds,
        hidden=fit.hidden,
        per_class=fit.per_class,
        evaluate=evaluate,
        generators=generators,
        seed=fit.seed,
    )
    mean = "" if transfer is None else f", mean AUROC {transfer.mean_auroc:.3f} on left-out collections"
    fitted = {"folder": str(output), "evidence": list(classifier.heads), "auroc": transfer and transfer.mean_auroc}
    show(Report("Classifier", f"{output}: {len(classifier.heads)} kinds of evidence{mean}", data=fitted), form)


@authorship_app.command("evaluate")
@grouped
def evaluate_classifier_command(
    data: Tables,
    *,
    leave_out: Annotated[
        Literal["collection", "language", "generator"], typer.Option(help="What each classifier has not seen.")
    ] = "collection",
    classifier: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Measure this classifier on every collection instead of fitting any."),
    ] = None,
    formatted: Annotated[
        bool, typer.Option("--formatted", help="Also test Python as a formatter writes it; other texts stay.")
    ] = False,
    page: Annotated[
        Path | None,
        output_file("Write the HTML report."),
    ] = None,
    labelled: LabelledOptions,
    fit: FitOptions,
) -> None:
    """Fit classifiers without one collection, language or generator at a time, and measure them on it.

    Prints AUROC, and the rates after calibration on human code of the same origin with their abstention rate.

    **Example**: `assay authorship evaluate collections.jsonl --leave-out language`
    """
    from assay.api import evaluate_classifier
    from assay.authorship import describe_transfer
    from assay.cli.present import chosen_format, show
    from assay.reports import write_html

    transfer = evaluate_classifier(
        labelled.read(data),
        by=leave_out,
        classifier=classifier,
        evidence=fit.kinds,
        hidden=fit.hidden,
        per_class=fit.per_class,
        formatted=formatted,
        seed=fit.seed,
    )
    report = describe_transfer(transfer)
    written = write_html(report, page) if page is not None else None
    show(report, chosen_format(), written)


@authorship_app.command("fine-tune")
@grouped
def fine_tune_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model that gets a classification head.", show_default=False)
    ],
    data: Tables,
    *,
    output: Annotated[Path, output_folder("Folder of the classifier, its card and the results.")],
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Train again without comments and show both.", rich_help_panel=SCORES)
    ] = False,
    labelled: LabelledOptions,
    protocol: ProtocolOptions,
) -> None:
    """Fine-tune any sequence classifier: a grid, several seeds, the best validation epoch, grouped parts.

    The folder holds the classifier of the best seed. Macro F1, accuracy and confusions are those of test texts.

    **Example**: `assay authorship fine-tune microsoft/codebert-base multi.jsonl -o codebert --ablation`
    """
    from assay.authorship import describe_fine_tuning, fine_tune, fine_tuning_card
    from assay.cli.present import chosen_format, show

    code, plan = labelled.read(data), protocol.protocol()
    results = [fine_tune(code, model, plan, out=output, card=fine_tuning_card)]
    if ablation:
        results.append(fine_tune(code, model, replace(plan, comments=False)))
    show(describe_fine_tuning(results), chosen_format())


@authorship_app.command("audit")
@grouped
def audit_shortcuts_command(
    data: Tables,
    *,
    per_class: Annotated[int, typer.Option(min=20, help="Most texts of one class, collection and language.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the choice of texts.")] = 0,
    page: Annotated[
        Path | None,
        output_file("Write the HTML report."),
    ] = None,
    labelled: LabelledOptions,
) -> None:
    """Remove one superficial difference after the other from labelled code, and print the AUROC that remains.

    If the AUROC falls when a difference is removed, classifiers of this data can use that difference as a shortcut.

    **Example**: `assay authorship audit task_a.parquet --text code --label generator`
    """
    from assay.authorship import audit_shortcuts, describe_shortcuts
    from assay.cli.present import chosen_format, show
    from assay.reports import write_html

    report = describe_shortcuts(audit_shortcuts(labelled.read(data), per_class=per_class, seed=seed))
    written = write_html(report, page) if page is not None else None
    show(report, chosen_format(), written)


authorship_app.command("build")(build_rewrites_command)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise DataError(f"received --before {text!r}, expected a day as YYYY-MM-DD") from error
