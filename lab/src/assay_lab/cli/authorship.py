"""`assay lab authorship`: classifiers of who wrote code, and the shortcuts of their data."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli import SCORES, grouped, output_file, output_folder
from assay_lab.classifiers.settings import FitSettings, LabelledSelection, Protocol

authorship_app = typer.Typer(
    name="authorship", help="Classifiers of who wrote code, and shortcuts of their data.", no_args_is_help=True
)

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA…", help="Tables of labelled code; one file or `collection` value each.", show_default=False
    ),
]


@authorship_app.callback()
def authorship() -> None:
    """Classifiers of who wrote code, measured on left-out collections, and audits of data sets for shortcuts."""


@authorship_app.command("train")
@grouped
def train_classifier_command(
    data: Tables,
    *,
    output: Annotated[Path, output_folder("Folder of the classifier.")],
    evaluate: Annotated[
        bool, typer.Option("--evaluate/--no-evaluate", help="Measure left-out collections for the model card.")
    ] = True,
    labelled: LabelledSelection,
    fit: FitSettings,
) -> None:
    """Fit logistic regression on n-grams, balanced over collections and languages, with a model card.

    A score is no proof of misconduct: calibrate on older code of the same origin before use.

    **Example**: `assay lab authorship train collections.jsonl -o classifier`
    """
    from assay.cli import chosen_format, show
    from assay.reports import Report
    from assay_lab.classifiers.making import read_labelled, train_classifier

    form = chosen_format()
    classifier, transfer = train_classifier(read_labelled(data, labelled), output, fit, evaluate=evaluate)
    mean = "" if transfer is None else f", mean AUROC {transfer.mean_auroc:.3f} on left-out collections"
    fitted = {"folder": str(output), "digest": classifier.digest, "auroc": transfer and transfer.mean_auroc}
    show(Report("Classifier", f"{output}: n-grams and logistic regression{mean}", data=fitted), form)


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
    page: Annotated[Path | None, output_file("Write the HTML report.")] = None,
    labelled: LabelledSelection,
    fit: FitSettings,
) -> None:
    """Fit classifiers without one collection, language or generator at a time, and measure them on it.

    Prints AUROC, and the rates after calibration on human code of the same origin with their abstention rate.

    **Example**: `assay lab authorship evaluate collections.jsonl --leave-out language`
    """
    from assay.cli import chosen_format, show
    from assay.reports import write_html
    from assay_lab.classifiers.making import evaluate_classifier, read_labelled

    transfer = evaluate_classifier(
        read_labelled(data, labelled), fit, by=leave_out, classifier=classifier, formatted=formatted
    )
    report = transfer.describe()
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
    labelled: LabelledSelection,
    protocol: Protocol,
) -> None:
    """Fine-tune any sequence classifier: a grid, several seeds, the best validation epoch, grouped parts.

    The folder holds the classifier of the best seed. Macro F1, accuracy and confusions are those of test texts.

    **Example**: `assay lab authorship fine-tune microsoft/codebert-base multi.jsonl -o codebert --ablation`
    """
    from assay.cli import chosen_format, show
    from assay_lab.classifiers.fine_tuning import fine_tune
    from assay_lab.classifiers.fine_tuning_report import describe_fine_tuning, fine_tuning_card
    from assay_lab.classifiers.making import read_labelled

    code = read_labelled(data, labelled)
    results = [fine_tune(code, model, protocol, out=output, card=fine_tuning_card)]
    if ablation:
        results.append(fine_tune(code, model, replace(protocol, comments=False)))
    show(describe_fine_tuning(results), chosen_format())


@authorship_app.command("audit")
@grouped
def audit_shortcuts_command(
    data: Tables,
    *,
    per_class: Annotated[int, typer.Option(min=20, help="Most texts of one class, collection and language.")] = 300,
    seed: Annotated[int, typer.Option(hidden=True, help="Seed of the choice of texts.")] = 0,
    page: Annotated[Path | None, output_file("Write the HTML report.")] = None,
    labelled: LabelledSelection,
) -> None:
    """Remove one superficial difference after the other from labelled code, and print the AUROC that remains.

    If the AUROC falls when a difference is removed, classifiers of this data can use that difference as a shortcut.

    **Example**: `assay lab authorship audit task_a.parquet --columns text=code,label=generator`
    """
    from assay.cli import chosen_format, show
    from assay.reports import write_html
    from assay_lab.classifiers.making import read_labelled
    from assay_lab.classifiers.shortcuts import audit_shortcuts

    report = audit_shortcuts(read_labelled(data, labelled), per_class=per_class, seed=seed).describe()
    written = write_html(report, page) if page is not None else None
    show(report, chosen_format(), written)
