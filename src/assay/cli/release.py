"""`assay release`: benchmarks whose contamination can be proven exactly, because a lot chose what was published."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import Shown, grouped
from assay.cli.options import LINES, ModelName, output_file
from assay.models.settings import ModelSettings
from assay.release.settings import ReleaseSettings, ReleaseTestSettings

release_app = typer.Typer(
    name="release",
    help="Release a benchmark so that training on it can be proven.",
    no_args_is_help=True,
)
SecretFile = Annotated[
    Path, typer.Argument(metavar="SECRET", help="Secret file of `assay release make`.", show_default=False)
]


@release_app.callback()
def release() -> None:
    """Release a benchmark so that training on it can be proven: a lot chooses what is published."""


@release_app.command("make")
@grouped
def make_command(
    tasks: Annotated[
        Path,
        typer.Argument(
            metavar="TASKS",
            help="File of HumanEval, MBPP, EvalPlus, HumanEval-X, BigCodeBench, LiveCodeBench, or a table of texts.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path | None, output_file("The public file; the page for its data card is written beside it.", *LINES)
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The secret file: never publish it, never lose it.", show_default=False),
    ] = None,
    preview: Annotated[
        bool, typer.Option("--show", help="Only show about ten tasks beside a copy; nothing is written.")
    ] = False,
    settings: Annotated[
        ReleaseSettings,
        Shown("copies", "names", "unrelated", "unverified", "packages", "round", "beacon", "canary"),
    ],
) -> None:
    """Make verified copies of every task, commit to them, and publish the copy that a lot chooses.

    Each task runs its own tests first. Copies have close synonyms for names, in all columns, and other examples.
    With --round the command only commits. Run it again with --beacon once the value of that round is known: then
    outsiders can see that the lot was drawn once.

    **Example**: `assay release make tasks.jsonl -o public.jsonl --secret secret.json --round "drand 40000000"`
    """
    from assay.cli.present import show
    from assay.errors import DataError
    from assay.release import make_release, show_copies

    if preview:
        if out or secret:
            raise DataError("--show writes nothing: expected neither --out nor --secret beside it")
        show(show_copies(tasks, settings).describe())
        return
    if out is None or secret is None:
        raise DataError("received no --out or no --secret, expected both, or --show to look at copies first")
    show(make_release(tasks, out=out, secret=secret, settings=settings).describe())


@release_app.command("verify")
def verify_command(
    public: Annotated[Path, typer.Argument(metavar="PUBLIC", help="The public file.", show_default=False)],
    secret: SecretFile,
    *,
    packages: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of the packages that the tests import.")
    ] = None,
) -> None:
    """Check that a public file is the one that was published, and that its copies pass their tests.

    Exit code 1 if a copy fails them.

    **Example**: `assay release verify public.jsonl secret.json`
    """
    from assay.cli.present import show
    from assay.release import verify_release

    verified = verify_release(public, secret, packages)
    show(verified.describe())
    if verified.failed:
        raise typer.Exit(1)


@release_app.command("test")
@grouped
def test_command(
    model: ModelName,
    secret: SecretFile,
    *,
    settings: ReleaseTestSettings,
    opening: Annotated[ModelSettings, Shown("device")],
) -> None:
    """Test whether the outcome of the lot reached a model. The test is logged in the secret file.

    With an older model as --parent, what both prefer is left out, and the test finds more.

    **Example**: `assay release test path/to/model secret.json --parent path/to/older`
    """
    from assay.cli.present import show
    from assay.models import check_model
    from assay.release import run_release_test

    # first: a test of a server spends secret copies before it opens a model
    check_model(model, opening.revision)
    for parent in settings.parent:
        check_model(parent, None)
    show(run_release_test(model, secret, settings=settings, opened=opening).describe())


@release_app.command("twins")
def twins_command(
    secret: SecretFile,
    *,
    out: Annotated[Path, output_file("File of the twins, with the columns of the public file.", *LINES)],
) -> None:
    """Write the twin of each task, for an evaluation that stays private.

    **Example**: `assay release twins secret.json -o twin.jsonl`
    """
    from assay.cli.present import show
    from assay.release import write_twins

    show(write_twins(secret, out).describe())


@release_app.command("rotate")
def rotate_command(
    secret: SecretFile,
    *,
    out: Annotated[Path, output_file("The new public file; the page for its data card is written beside it.", *LINES)],
    beacon: Annotated[
        str, typer.Option(metavar="VALUE", help="Value of a round of the beacon after the last version.")
    ] = "",
) -> None:
    """Publish a later version, of copies that no version has. A leak is dated by the versions that a model prefers.

    **Example**: `assay release rotate secret.json -o public-2.jsonl --beacon 9f86d081`
    """
    from assay.cli.present import show
    from assay.release import rotate_release

    show(rotate_release(secret, out, beacon).describe())


@release_app.command("compare")
def compare_command(
    public: Annotated[
        Path,
        typer.Argument(metavar="PUBLIC_RESULTS", help="Log of the run on the public file.", show_default=False),
    ],
    twin: Annotated[
        Path,
        typer.Argument(metavar="TWIN_RESULTS", help="Log of the same run on the twins.", show_default=False),
    ],
    *,
    secret: Annotated[
        Path | None, typer.Option(metavar="SECRET", help="Secret file, for tasks that share a lot.")
    ] = None,
) -> None:
    """Compare an evaluation on the public copies with the same one on the twins: lm-eval, inspect or EvalPlus.

    **Example**: `assay release compare samples_public.jsonl samples_twin.jsonl`
    """
    from assay.cli.present import show
    from assay.release import compare_results

    show(compare_results(public, twin, secret).describe())
