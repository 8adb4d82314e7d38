"""The single line that wrong input is refused with: what was received, what is expected, the nearest name."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import typer

from assay.cli.typer_parts import annotation_of
from assay.errors import EXTRAS, AssayError, DataError, MissingExtra, did_you_mean, plain_reason

NO_PATH = frozenset({errno.ENAMETOOLONG, errno.ELOOP})
"""Errors of the system for a text that is the path of no file, whatever a command wanted to do with it."""

NO_ACCESS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors of the system for a file or folder of another user, or one that cannot be written by anybody."""

EXHAUSTED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors of the system where the disk, the memory or the open files of this process are at their limit."""

NO_MEMORY = re.compile(r"failed to map segment|[Cc]an(?:no|')t (?:allocate|start new thread|create TLS)|bad_alloc")
"""Words of errors where memory, or the number of threads, is at its limit."""

LONGEST_WORD, SHOWN_OF_WORD = 1000, 60
"""Characters of a word that an error line shows whole, and those that it shows of a longer one."""

VALUE_ERROR = re.compile(r"^Value error, |^Input should be |^Unable to parse input string as ", re.IGNORECASE)
NUMBER_ERROR = re.compile(r"an? (?:valid )?(integer|number),.*")
NUMBERS = {"integer": "a whole number", "number": "a number"}


@contextmanager
def as_refusals() -> Iterator[None]:
    """Turn errors of Python that bad input causes in any command into errors of this project.

    Raises:
        MissingExtra: an optional dependency is not installed.
        DataError: a text that was given as a path can be the path of no file, or of one that this user may not use; or
            memory, disk or open files are at their limit.
    """
    try:
        yield
    except Exception as error:
        refused = _refused(error)
        if refused is None:
            raise
        raise refused from error


def _refused(error: Exception) -> AssayError | None:
    """Return the error of this project for one that bad input causes; None for every other."""
    if isinstance(error, AssayError):
        return None
    # an error of the system has a number, and often the name of a file
    if getattr(error, "errno", None) is None and _is_out_of_memory(error):
        return DataError("the memory that this process may use is full, expected more (ulimit -v, --jobs 1)")
    # of `Path.resolve`, for a link that leads to itself; from Python 3.13 on it returns a path there
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):
        return DataError(f"{error}; expected the path of a file or folder")
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        # any other module that is missing is a fault of ours, and ends as one
        return MissingExtra(package, purpose="this command") if package in EXTRAS else None
    return _refused_by_system(error) if isinstance(error, OSError) else None


def _refused_by_system(error: OSError) -> AssayError | None:
    expected = None
    if error.errno in EXHAUSTED:
        expected = "more room, or a higher limit (ulimit)"
    elif error.errno in NO_ACCESS:
        expected = "a path that this user may use"
    elif error.errno in NO_PATH:
        expected = "the path of a file or folder"
    place = f"{error.filename}: " if error.filename else ""
    return DataError(f"{place}{plain_reason(error)}, expected {expected}") if expected else None


def _is_out_of_memory(error: BaseException) -> bool:
    """Return True where the system had no memory left: the loader of libraries and threads say so in words alone."""
    if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
        return True
    # a library that could not be loaded is often reported by another sentence of who wanted it
    before = error.__cause__ or error.__context__
    return before is not None and _is_out_of_memory(before)


def check_current_folder() -> None:
    """Check that the current folder is there: relative paths lead nowhere from one that was removed.

    Raises:
        DataError: it was removed, or this user may not read its place.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise DataError(f"the current folder: {plain_reason(error)}, expected one that exists") from error


def in_one_line(message: str) -> str:
    """Return a message without line breaks, and with the first characters of words of thousands of characters."""
    return " ".join(map(_shortened, message.split()))


def _shortened(word: str) -> str:
    if len(word) <= LONGEST_WORD:
        return word
    return f"{word[:SHOWN_OF_WORD]}…"


def refusal(error: "typer.TyperException") -> str:
    """Return the message of an error of the parser, in the words of this project."""
    parameter = getattr(error, "param", None)
    command = _command_of(error)
    # by their names: typer does not publish the classes of its parser's errors
    if parameter is not None and type(error).__name__ == "MissingParameter":
        return f"{command}: {_name(parameter)} is missing; see `{command} --help`"
    option = getattr(error, "option_name", None)
    if option is not None and type(error).__name__ == "NoSuchOption":
        names: list[str] = []
        for parameter_of_command in _parameters_of(error):
            names += [*parameter_of_command.opts, *parameter_of_command.secondary_opts]
        # names are compared without dashes, which all of them share and which would make everything alike
        near = did_you_mean(option.strip("-"), (name.strip("-") for name in names if name.startswith("--")))
        near = re.sub(r"(mean |or )", r"\1--", near)
        advice = _another_place(error, option) or near or f"; see `{command} --help`"
        return f"{command} has no option {option}{advice}"
    if parameter is not None:
        return _wrong_value(parameter, error)
    return str(error.format_message())


def choices(parameter: Any) -> tuple[str, ...]:  # noqa: ANN401  typer publishes no type of a parameter
    """Return the values that a parameter takes; empty where they are not a short list."""
    return tuple(str(value) for value in get_args(annotation_of(parameter)) if isinstance(value, str))


def _wrong_value(parameter: Any, error: Any) -> str:  # noqa: ANN401
    received = _received(error)
    values = choices(parameter)
    if values:
        shown = ""
        if received:
            shown = f"received {received}; "
        return f"{_name(parameter)}: {shown}expected {', '.join(values)}{did_you_mean(received.strip(chr(39)), values)}"
    # the parser checks values by pydantic, whose sentences are cut down to ours
    message = VALUE_ERROR.sub("expected ", error.message).replace("embedded null byte", "a text without NUL characters")
    message = NUMBER_ERROR.sub(lambda match: NUMBERS[match[1]], message)
    return f"{_name(parameter)}: {message}"


def _received(error: Any) -> str:  # noqa: ANN401
    """Return the value in the message of the parser, quoted; "" where the message has none."""
    return next(iter(re.findall(r"'[^']*'", error.message)), "")


def _name(parameter: Any) -> str:  # noqa: ANN401
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    # the long name says more than a letter
    return str(max(parameter.opts, key=len))


def _command_of(error: Any) -> str:  # noqa: ANN401
    context = getattr(error, "ctx", None)
    return str(getattr(context, "command_path", "assay"))


def _another_place(error: Any, option: str) -> str:  # noqa: ANN401
    """Return where a name that this command has not as an option belongs: an argument, or a brother command."""
    for parameter in _parameters_of(error):
        if parameter.param_type_name == "argument" and parameter.name == option.strip("-").replace("-", "_"):
            return f"; {_name(parameter)} is an argument, given without a name"
    context = getattr(error, "ctx", None)
    if context is None or context.parent is None:
        return ""
    brothers = []
    for name, brother in context.parent.command.commands.items():
        if any(option in parameter.opts for parameter in brother.params) and not brother.hidden:
            brothers.append(f"`{context.parent.command_path} {name}`")
    # an option of many commands would tell nothing
    return f"; {brothers[0]} has it" if len(brothers) == 1 else ""


def _parameters_of(error: Any) -> list[Any]:  # noqa: ANN401
    context = getattr(error, "ctx", None)
    if context is None:
        return []
    return [parameter for parameter in context.command.params if not getattr(parameter, "hidden", False)]
