"""Options of the command line that have no effect are refused; a configuration file may set any option."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from assay.cli.groups import bundles_of
from assay.cli.options import STANDARD_OUTPUT
from assay.errors import DataError
from assay.settings import BETWEEN_PAIRS

if TYPE_CHECKING:  # imports numpy and more; --help does not wait for it
    from assay.scoring import ScoreSelection


def refuse_format(context: typer.Context, *printed: Path | None) -> None:
    """Refuse --json and --format where standard output holds a file, as "-" says.

    Raises:
        DataError: the command line has such an option.
    """
    for name, option in {"set_json": "--json", "set_format": "--format"}.items():
        if STANDARD_OUTPUT in printed and _is_given(context, name):
            raise DataError(f"{option} has no effect: standard output holds the file that - names")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def options_of_command_line(context: typer.Context) -> dict[str, str]:
    """Return parameter → its longest option, for those that the command line has itself.

    The options of every command, such as -q, are left out: they have no value here.
    """
    names = {}
    for option in context.command.params:
        # an option without a value for its command acts on the output, which every command has
        if option.expose_value and _is_given(context, str(option.name)):
            longest = max(option.opts, key=len)
            names[str(option.name)] = longest
            if option.name in bundles_of(context.command):
                # one option carries many settings: each key that was given is an option of its own here; the pairs of
                # the configuration file stand before them (`groups.with_file`), and a file may set any
                in_file = (context.default_map or {}).get(option.name) or ()
                texts = context.params[option.name][len(in_file) :]
                for pair in chain.from_iterable(map(BETWEEN_PAIRS.split, texts)):
                    key = pair.partition("=")[0].strip()
                    names[key.replace("-", "_")] = f"{longest} {key}"
    return names


def refuse_unused(context: typer.Context, unused: Mapping[str, str]) -> None:
    """Refuse options of the command line that have no effect.

    Args:
        context: of the command.
        unused: parameter → why it has none.

    Raises:
        DataError: the command line has such an option.
    """
    for name, option in options_of_command_line(context).items():
        if name in unused:
            raise DataError(f"{option} has no effect: {unused[name]}")


def refuse_unused_rewriting(context: typer.Context, selection: "ScoreSelection") -> None:
    """Refuse options about rewritings where no requested score compares any.

    Raises:
        DataError: the command line has such an option.
        ScoreError: a score does not exist.
    """
    from assay.scores import requests

    if not any(request.variants for request in requests(selection.specification())):
        reason = "no requested score compares rewritings; expected --variants N with it"
        refuse_unused(context, dict.fromkeys(("variant_engine", "variant_kinds", "names_from", "rename"), reason))
