"""Everything that assay raises on purpose.

AssayError                bad input or a broken environment: one line, exit code 2
├── DataError             a file, table or column is not what it has to be
│   ├── UnknownBenchmark  no loader, file or hub id of that name
│   └── NothingToCompare  an audit would end without a verdict, because it has no text to compare with
├── ModelError            a model folder, weight file, tokenizer or device does not work
│   └── MissingCapability the model cannot give what a score needs (text only, no logits)
├── ScoreError            no such score, or a parameter it does not take
├── SettingError          a setting is unknown, of another type, or out of its range
├── CacheError            the statistics cache cannot be read or written
├── CorpusIndexError      an index of code is damaged, locked, of another version, or cannot be written
├── SandboxUnavailable    this machine cannot run other people's code safely, so it was not run
├── PlugInError           an installed plug-in cannot be used
└── MissingExtra          an optional dependency is not installed
Unscorable                not an error: one sample cannot be scored, for a stated reason
"""

import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from json import JSONDecodeError
from pathlib import Path

DISTRIBUTION = "assay-code"
"""The name of this project on the package index; import and command are `assay`."""

LONGEST_NAME = 200
"""Characters of a name that is compared with others; comparing takes the square of them."""

EXTRAS = {
    "torch": "hf",
    "transformers": "hf",
    "tokenizers": "hf",
    "accelerate": "hf",
    "peft": "hf",
    "gguf": "gguf",
    "llama_cpp": "llama",
    "pandas": "pandas",
    "statsmodels": "studies",
    "datasets": "hub",
    "fastapi": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "mcp": "mcp",
    "vllm": "vllm",
    "lm_eval": "lm-eval",
    "inspect_ai": "inspect",
    "usearch": "graph",
}
"""Import name of each optional dependency → the extra that installs it."""


class AssayError(Exception):
    """Bad input or a broken environment.

    The message is ONE line that says what was received and what was expected. The command line prints it and
    exits with code 2.
    """


class DataError(AssayError):
    """A file, table or column is not what it has to be."""


class NothingToCompare(DataError):  # noqa: N818  see UnknownBenchmark
    """An audit would end without a verdict, because nothing says what text scores that the model has not seen."""


class UnknownBenchmark(DataError):  # noqa: N818  the name says what is wrong, as FileNotFoundError does not
    """No benchmark loader, file or hub id has that name."""


class ModelError(AssayError):
    """A model folder, weight file, tokenizer or device does not work."""


class MissingCapability(ModelError):  # noqa: N818  see UnknownBenchmark
    """A score needs what the model cannot give, for example ranks from an API that returns text only."""


class ScoreError(AssayError):
    """No score has that name, or a score does not take that parameter."""


class SettingError(AssayError):
    """There is no setting of that name, or its value is of another type or out of its range."""


class CacheError(AssayError):
    """The statistics cache cannot be read or written."""


class CorpusIndexError(AssayError):
    """An index of code is damaged, locked by another process, of another version, or cannot be written."""


class SandboxUnavailable(AssayError):  # noqa: N818  see UnknownBenchmark
    """Bubblewrap or libseccomp is absent, or the kernel or a container forbids what they need. Nothing was run."""


class PlugInError(AssayError):
    """A plug-in of another distribution cannot be imported, is not what it has to be, or uses a name twice."""


class MissingExtra(AssayError):  # noqa: N818  see UnknownBenchmark
    """An optional dependency is not installed.

    Attributes:
        extra: the name of the optional dependency group that holds it.
    """

    def __init__(self, package: str, *, purpose: str) -> None:
        self.extra = EXTRAS[package]
        super().__init__(f"{purpose} needs the package {package!r}: {install_command(self.extra)}")


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this environment.

    In the .venv of a checkout that is `make`, which knows the pinned versions. Elsewhere pip finds the installed copy
    of assay, wherever it came from, and adds what the extra requires.
    """
    # not by the current folder: the command may run anywhere
    environment = Path(sys.prefix)
    if environment.name == ".venv" and (environment.parent / "src" / "assay").is_dir():
        return f"make install EXTRAS={extra}"
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(*packages: str, purpose: str) -> None:
    """Check that optional dependencies are installed, without importing them.

    Args:
        packages: import names from `EXTRAS`.
        purpose: what needs them; the error line begins with it.

    Raises:
        MissingExtra: one of them is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, purpose=purpose)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean A or B?` for the names that are most like a misspelt one; "" where none is."""
    # compared without case, and shown as they are spelt
    by_folded = {known.casefold(): known for known in names}
    if len(name) > LONGEST_NAME:
        return ""
    close = [by_folded[folded] for folded in get_close_matches(name.casefold(), by_folded, n=3)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def plain_reason(error: BaseException) -> str:
    """Return the cause of an error of Python or of a library, in one line without numbers of errors and names of types.

    Args:
        error: of the system, of a decoder, or with a message of its own.
    """
    if isinstance(error, JSONDecodeError):
        return f"line {error.lineno}, column {error.colno} is not JSON"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not {error.encoding.upper()} text"
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return re.sub(r"\[errno -?\d+\] ", "", " ".join(words.split()), flags=re.IGNORECASE) or type(error).__name__


class Unscorable(Exception):  # noqa: N818  an outcome with a reason, not an error
    """One sample cannot be scored. The engine records NaN and this reason; no row is ever dropped."""
