"""Membership of repositories: is the repository of a bug in a list of the repositories of a training corpus?

The list is a text file with one `owner/name` a line, or addresses that end in it. Membership of the repository does not
mean that the file of the bug, or its fix, was in the corpus: that is what `exposure` answers.

Source: Ramos et al. 2025, Table III, which asks the same of three versions of The Stack.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.datasets import file_error
from assay.errors import DataError
from assay.types import Sample

DEFECTS4J: Mapping[str, str] = {
    "Chart": "jfree/jfreechart",
    "Cli": "apache/commons-cli",
    "Closure": "google/closure-compiler",
    "Codec": "apache/commons-codec",
    "Collections": "apache/commons-collections",
    "Compress": "apache/commons-compress",
    "Csv": "apache/commons-csv",
    "Gson": "google/gson",
    "JacksonCore": "fasterxml/jackson-core",
    "JacksonDatabind": "fasterxml/jackson-databind",
    "JacksonXml": "fasterxml/jackson-dataformat-xml",
    "Jsoup": "jhy/jsoup",
    "JxPath": "apache/commons-jxpath",
    "Lang": "apache/commons-lang",
    "Math": "apache/commons-math",
    "Mockito": "mockito/mockito",
    "Time": "jodaorg/joda-time",
}
"""Project of Defects4J → its repository on GitHub; the benchmark itself names none."""

COLUMNS = ("repo", "repository", "github_url", "url")
"""Metadata of a bug that may name its repository."""

_NAME = re.compile(r"(?:.*[/:])?([\w.-]+/[\w.-]+?)(?:\.git)?/?")


@dataclass(frozen=True, slots=True)
class RepositoryMembership:
    """Repositories of a benchmark in a list, as Table III counts them.

    Attributes:
        listed: repositories of the benchmark that the list has, sorted.
        absent: those that it does not have, sorted.
        unknown: number of bugs whose repository the benchmark does not name.
    """

    listed: tuple[str, ...]
    absent: tuple[str, ...]
    unknown: int

    @property
    def share(self) -> float:
        """Return the share of the known repositories that the list has; NaN without any."""
        count = len(self.listed) + len(self.absent)
        return len(self.listed) / count if count else float("nan")


def read_repositories(path: Path) -> frozenset[str]:
    """Read a list of repositories, one a line; empty lines and lines that begin with # are left out.

    Raises:
        DataError: the file cannot be read, or a line is neither `owner/name` nor an address that ends in it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as fault:
        raise file_error(path, fault) from fault
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8; expected a text file with one owner/name a line") from None
    names = set()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name = repository_name(line)
        if name is None:
            raise DataError(f"{path}, line {number}: received {line.strip()[:60]!r}, expected owner/name")
        names.add(name)
    if not names:
        raise DataError(f"{path}: no repository; expected one owner/name a line")
    return frozenset(names)


def repository_name(text: str) -> str | None:
    """Return `owner/name` in lower case from a name or an address; None where there is none."""
    match = _NAME.fullmatch(text.strip())
    return match[1].casefold() if match else None


def repository_of(sample: Sample) -> str | None:
    """Return the repository of a bug; None where its benchmark does not name it."""
    for column in COLUMNS:
        value = sample.metadata.get(column)
        if isinstance(value, str) and (name := repository_name(value)):
            return name
    return DEFECTS4J.get(str(sample.metadata.get("project")))


def repository_membership(samples: Sequence[Sample], listed: Collection[str]) -> RepositoryMembership:
    """Return which repositories of a benchmark are in a list; each counts once, however many bugs it has."""
    names = list(map(repository_of, samples))
    repositories = set(filter(None, names))
    return RepositoryMembership(
        tuple(sorted(repositories & set(listed))), tuple(sorted(repositories - set(listed))), names.count(None)
    )
