"""Needs of this command line beyond the documented API of Typer: how a command looks once it is built.

Typer makes commands from signatures and publishes no way to look at the result. The common options, the plain names of
types, the lines of refusals and the configuration file need just that: which parameters a command has, of which type
each one is, and which function checks it. Typer brings its own copy of Click, so Click's API does not lead there. Each
function below is one such need; `CHECKED` is the range of versions that they were read in.
"""

import inspect
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

import typer
import typer.main
from typer.core import TyperArgument, TyperOption

CHECKED = "typer>=0.29,<0.30"
"""Requirement in `pyproject.toml`; before it is widened, read these functions beside the new source of Typer."""


def command_of(app: typer.Typer) -> Any:  # noqa: ANN401  typer publishes no type of a command
    """Return the command, or the group of commands, that an application describes."""
    return typer.main.get_command(app)


def is_option(parameter: object) -> TypeGuard[TyperOption]:
    """Return True for an option of ours; the one of the help is of another class."""
    return isinstance(parameter, TyperOption)


def is_argument(parameter: object) -> bool:
    """Return True for an argument."""
    return isinstance(parameter, TyperArgument)


def annotation_of(parameter: Any) -> Any:  # noqa: ANN401
    """Return the type of a parameter, as the signature of its command states it."""
    return parameter.type_descriptor.annotation


def function_of(parameter: Any) -> Callable[..., Any] | None:  # noqa: ANN401
    """Return the function that checks the value of a parameter, which typer wraps into its own; None without one."""
    checks: Callable[..., Any] | None = parameter.callback and inspect.unwrap(parameter.callback)
    return checks


def refuse_unusable_texts(parameter: Any) -> None:  # noqa: ANN401
    """Refuse an empty text for a parameter, which as a path is the current folder, and the path of a named pipe.

    A pipe that nobody writes to is waited for without end; `<(PROGRAM)` of a shell is a link to a pipe, and is read.
    """
    convert = parameter.process_value

    def checked(context: typer.Context, value: Any) -> Any:  # noqa: ANN401
        """Convert a value, from the command line or a file, if it can be used."""
        # an empty default is ours, and says that nothing was given
        if value != parameter.default:
            for text in value if isinstance(value, list | tuple) else [value]:
                if text == "":
                    raise typer.BadParameter("received an empty text, expected a value", ctx=context, param=parameter)
                if isinstance(text, str | Path) and _is_named_pipe(text):
                    reason = f"received the named pipe {text}, expected a file or a folder"
                    raise typer.BadParameter(reason, ctx=context, param=parameter)
        return convert(context, value)

    parameter.process_value = checked


def _is_named_pipe(path: str | Path) -> bool:
    try:
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    except (OSError, ValueError):  # of no file, or no path
        return False


def hide_type(argument: Any) -> None:  # noqa: ANN401
    """Show no type of an argument in the help, where its name describes it: typer has no metavar for a type."""

    def no_type(**_: object) -> None:
        """Return no type."""

    argument.display_type_rich = no_type
