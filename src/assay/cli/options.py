"""Options that several commands share, each described once."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.completing import complete_models
from assay.errors import DataError
from assay.files import check_target, check_target_folder

MODEL = "Model"
DATA = "Data"
SCORES = "Scores"
OUTPUT = "Output"
OUTPUT_NAMES = ("-o", "--out", "--output")
"""Names of the option of a result, in every command."""
STANDARD_OUTPUT = Path("-")
PAGES, LINES, OBJECT, LOG = (".html", ".htm"), (".jsonl",), (".json",), (".sarif", ".json")
FORMATS = frozenset({*PAGES, *LINES, *LOG, ".csv", ".md", ".npz", ".parquet"})
"""Endings of names that say a format; another ending says none, and fits every file."""

MODEL_HELP = "builtin:small, a folder, hub id or GGUF file, vllm:ID, openai:MODEL@URL."
ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", autocompletion=complete_models, help=MODEL_HELP, show_default=False)
]


def new_file(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a file that a command will write; a SARIF log is replaced by the next one.

    Raises:
        DataError: it exists and --force is not given, it is also read, it is a folder, its folder does not exist, or it
            is "-".
    """
    from assay.cli.terminal import OUTPUT_SETTINGS

    path = added_file(context, path)
    if path is None or context.resilient_parsing:
        return path
    if OUTPUT_SETTINGS.get().force:
        refuse_input(context, path)
        return path
    # a SARIF log is written anew by every run, and nobody edits it
    if path.is_file() and not _is_log(path):
        raise DataError(f"{path} exists already; expected another name, or --force to replace it")
    return path


def refuse_input(context: typer.Context, path: Path) -> None:
    """Check that a file that is replaced is named once on the command line: the second time it would be an input.

    Raises:
        DataError: it is named twice.
    """
    if not path.is_file():
        return
    words, group = sys.argv[1:], context.parent
    # the first words name the command
    while group is not None:
        words, group = words[1:], group.parent
    if sum(_names(word, path) for word in words) > 1:
        raise DataError(f"{path} is named as an input and as a result; expected another name for the result")


def _names(word: str, path: Path) -> bool:
    """Return True if a word of the command line names a file: by itself, or somewhere in a list of NAME=PATH."""
    places = [word, word.partition("=")[2], *re.split("[=,]", word)]
    if re.match("-[^-]", word):
        # the value of a short option may follow it without a space
        places.append(word[2:])
    # `Path.is_file` raises for a text that is too long for a name
    return any(os.path.isfile(place) and path.samefile(place) for place in places)  # noqa: PTH113


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            # the address of the schema is the first value of our logs
            return b"/sarif-schema-2.1.0.json" in file.read(200)
    except OSError:  # what cannot be read is refused as any other file
        return False


def added_file(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a file that a command will write or add to.

    Raises:
        DataError: it is a folder, its folder does not exist, or it is "-".
    """
    # otherwise a file with the name "-" would be written
    if path == STANDARD_OUTPUT:
        raise DataError(f"received {path} for standard output, expected the name of a file")
    if not context.resilient_parsing:
        check_target(path)
    return path


def new_file_or_output(context: typer.Context, path: Path | None) -> Path | None:
    """Check the path of a file that a command will write; "-" is standard output.

    Raises:
        DataError: see `new_file`.
    """
    return path if path == STANDARD_OUTPUT else new_file(context, path)


WRITTEN = {False: new_file, True: new_file_or_output}
"""Can it be printed → the check of a file that a command writes."""


def check_ending(path: Path | None, endings: Sequence[str]) -> None:
    """Check that the name of a file does not say another format than its content has.

    Raises:
        DataError: it does.
    """
    if path is not None and endings and path.suffix.lower() in FORMATS.difference(endings):
        raise DataError(f"received {path}, expected a name that ends in {' or '.join(endings)}")


def output_file(description: str, *endings: str, printable: bool = False) -> Any:  # noqa: ANN401  the type that typer gives its options
    """Return the option of the file that holds the result of a command; `printable` takes "-" too."""
    return _file_option(description, *OUTPUT_NAMES, endings=endings, check=WRITTEN[printable])


def further_file(
    description: str,
    *endings: str,
    panel: str = OUTPUT,
    printable: bool = False,
    hidden: bool = False,
    added: bool = False,
) -> Any:  # noqa: ANN401
    """Return the option of a file that a command writes beside its result.

    `printable` takes "-" too, and `added` a file that exists, which is added to.
    """
    check = added_file if added else WRITTEN[printable]
    return _file_option(description, endings=endings, check=check, panel=panel, hidden=hidden)


def _file_option(
    description: str,
    *names: str,
    endings: Sequence[str],
    check: Callable[[typer.Context, Path | None], Path | None],
    panel: str = OUTPUT,
    hidden: bool = False,
) -> Any:  # noqa: ANN401
    # by which a command knows that it writes a file
    @wraps(check)
    def checked(context: typer.Context, path: Path | None) -> Path | None:
        check_ending(path, endings)
        return check(context, path)

    return typer.Option(
        *names,
        metavar="FILE",
        help=description,
        rich_help_panel=panel,
        callback=checked,
        show_default=False,
        hidden=hidden,
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
        "--index", metavar="DIR|URL", help="Folder of the index, or address that a plug-in opens.", show_default=False
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace a finished run, or one with other settings, in the folder.",
        rich_help_panel=OUTPUT,
        hidden=True,
    ),
]
