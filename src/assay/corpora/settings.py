"""The files of corpora that are read: one declaration for Python, the command line and configuration files."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from assay.errors import DataError
from assay.settings import COLUMNS, Setting, Settings

READING = "Reading"
CorpusForm = Literal["folder", "git", "archive", "table", "file"]
Granularity = Literal["both", "file", "function"]

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kMG]?)(i?)B?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableColumns(Settings):
    """Columns of tables that are read into an index; without a name the usual ones are tried."""

    PANEL: ClassVar[str] = READING
    text: Annotated[str | None, Setting("Texts.", safe_when_found=True, inside=COLUMNS)] = None
    path: Annotated[str | None, Setting("Paths of the files.", safe_when_found=True, inside=COLUMNS)] = None
    language: Annotated[str | None, Setting("Languages.", safe_when_found=True, inside=COLUMNS)] = None
    licence: Annotated[str | None, Setting("Licences, SPDX.", safe_when_found=True, inside=COLUMNS)] = None
    repository: Annotated[str | None, Setting("Repositories.", safe_when_found=True, inside=COLUMNS)] = None
    commit: Annotated[str | None, Setting("Commits.", safe_when_found=True, inside=COLUMNS)] = None
    author: Annotated[str | None, Setting("Authors.", safe_when_found=True, inside=COLUMNS)] = None
    url: Annotated[str | None, Setting("Addresses.", safe_when_found=True, inside=COLUMNS)] = None
    digest: Annotated[str | None, Setting("Digests of the texts.", safe_when_found=True, inside=COLUMNS)] = None
    encoding: Annotated[str | None, Setting("Encodings of the texts.", safe_when_found=True, inside=COLUMNS)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSettings(Settings):
    """The files of the corpora that are read, and how."""

    PANEL: ClassVar[str] = READING
    name: Annotated[str | None, Setting("Name of the corpus in the index; else its full path.", common=True)] = None
    language: Annotated[
        tuple[str, ...],
        Setting(
            "Only this language; repeat the option for several.", metavar="NAME", common=True, completes="languages"
        ),
    ] = ()
    include: Annotated[
        tuple[str, ...], Setting("Only paths that match, as in .gitignore.", metavar="PATTERN", common=True)
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Setting("Leave out paths that match, as in .gitignore.", metavar="PATTERN", common=True)
    ] = ()
    licences: Annotated[
        str | None,
        Setting(
            "Licences of the files, found by a tool: ScanCode JSON, SPDX, CycloneDX, REUSE; scancode runs it.",
            metavar="FILE|scancode",
        ),
    ] = None
    all_history: Annotated[bool, Setting("Git repositories: read every version, not only HEAD.", common=True)] = False
    granularity: Annotated[Granularity, Setting("Whole files, their functions, or both.")] = "both"
    form: Annotated[
        CorpusForm | None, Setting("Kind of the corpora, if it is not detected correctly.", options=("--as",))
    ] = None
    no_ignore: Annotated[bool, Setting("Also read files that .gitignore excludes.")] = False
    max_file_size: Annotated[str, Setting("Skip files larger than this.", metavar="SIZE")] = "1MB"
    all_text: Annotated[bool, Setting("Also read text that is not in a known programming language.")] = False
    generated: Annotated[bool, Setting("Also read generated and minified files.")] = False
    jobs: Annotated[int | None, Setting("Processes that read (all cores).", metavar="N", least=1, decides=False)] = None
    readers: Annotated[
        str,
        Setting(
            "What reads the files: processes of this machine, or a plug-in of that name.",
            metavar="NAME:ADDRESS",
            decides=False,
        ),
    ] = "processes"

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            SettingError: one is of another type, or out of its range.
            DataError: `max_file_size` is not a size.
        """
        Settings.__post_init__(self)
        size_named(self.max_file_size)

    @property
    def largest(self) -> int:
        """Bytes of a file at most; no more of a member or stream is kept in memory."""
        return size_named(self.max_file_size)


def size_named(text: str) -> int:
    """Return the bytes of a number with a unit: 500000, 500kB, 1MB, 2MiB.

    Raises:
        DataError: the text is not a size, or it is 0.
    """
    size = 0.0
    if match := _SIZE.match(text):
        base = 1024 if match[3] else 1000
        # no unit is place 0; each further letter is one more power
        size = float(match[1]) * base ** " kmg".index(match[2].casefold() or " ")
    if not 1 <= size < math.inf:
        raise DataError(f"size {text!r}: expected a number of bytes, as 500000, 500kB, 1MB or 2MiB")
    return int(size)
