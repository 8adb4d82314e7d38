"""Sources whose files have the licences that another tool found: read from its result, or by running ScanCode.

ScanCode is a program of its own environment: `scancode` on the PATH, or the one that ASSAY_SCANCODE names. It reads the
notices of files, the text at their head, a batch at a time, and each different notice once: its answers are kept by the
digest of the notice.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Protocol

from assay.corpora.entry import CorpusSource, Entry, SourceFile
from assay.errors import DataError
from assay.files import parse_json, write_json
from assay.licences import LICENCE_READER, StatedLicences, read_licences

SCANCODE = "scancode"
VARIABLE = "ASSAY_SCANCODE"
NOTICE = 12_000
"""Bytes at the head of a file that ScanCode reads."""

BATCH = 500
"""Files of which the notices are read together: the program takes seconds to start."""


class FileLicences(Protocol):
    """Something that knows the licences of files."""

    def of_entries(self, entries: Sequence[Entry], folder: str) -> list[str | None]:
        """Return the licence of each file; None where nothing is known of it."""
        ...


@dataclass(frozen=True, slots=True)
class FromResult:
    """Licences from the result of a tool."""

    stated: StatedLicences

    def of_entries(self, entries: Sequence[Entry], folder: str) -> list[str | None]:
        """See `FileLicences`."""
        return [self.stated.of(entry.path, folder) for entry in entries]


@dataclass(frozen=True, slots=True)
class FromScanCode:
    """Licences by running ScanCode on the notices.

    Attributes:
        program: path of the command.
        cache: JSON file with the answers by digest of the notice.
    """

    program: str
    cache: Path

    def of_entries(self, entries: Sequence[Entry], folder: str) -> list[str | None]:  # noqa: ARG002  a notice decides
        """See `FileLicences`.

        Raises:
            DataError: the program fails, or its answer cannot be read.
        """
        answers: dict[str, str | None] = parse_json(self.cache.read_bytes()) if self.cache.is_file() else {}
        digests = []
        missing = {}
        for entry in entries:
            notice = _notice(entry)
            digest = hashlib.sha256(notice).hexdigest()
            digests.append(digest)
            if notice and digest not in answers:
                missing[digest] = notice, PurePosixPath(entry.path).suffix
        if missing:
            answers |= self._scanned(missing)
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            write_json(self.cache, answers)
        return list(map(answers.get, digests))

    def _scanned(self, notices: dict[str, tuple[bytes, str]]) -> dict[str, str | None]:
        with tempfile.TemporaryDirectory(prefix="assay-") as place:
            files, out = Path(place, "notices"), Path(place, "out.json")
            files.mkdir()
            for digest, (notice, suffix) in notices.items():
                # the path in ScanCode's result gives the digest back
                (files / f"{digest}{suffix}").write_bytes(notice)
            command = [self.program, "--license", "--quiet", "--strip-root", "--json", str(out), str(files)]
            # the user's own program, named by the user
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if not out.is_file():
                last = (done.stderr.strip().splitlines() or ["no output"])[-1]
                raise DataError(f"{self.program}: exit code {done.returncode}, {last}; expected its JSON")
            stated = read_licences(out)
        licences = {PurePosixPath(path).stem: licence for path, licence in stated.by_path.items()}
        return {digest: licences.get(digest) for digest in notices}


def _notice(entry: Entry) -> bytes:
    try:
        content = entry.content.read(NOTICE)
    except OSError:
        return b""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return content[:NOTICE]


@dataclass(frozen=True, slots=True)
class Licensed:
    """A source whose files have the licences that a tool found.

    Attributes:
        source: as it is.
        licences: of its files.
        digest: of the licences, part of the stamp.
    """

    source: CorpusSource
    licences: FileLicences
    digest: str

    @property
    def name(self) -> str:
        """See `CorpusSource`."""
        return self.source.name

    @property
    def stamp(self) -> str | None:
        """See `CorpusSource`."""
        if self.source.stamp is None:
            return None
        return f"{self.source.stamp} {self.digest}"

    @property
    def whole(self) -> bool:
        """See `CorpusSource`."""
        return self.source.whole

    @property
    def indivisible(self) -> bool:
        """See `CorpusSource`."""
        return self.source.indivisible

    @property
    def stored_kind(self) -> str:
        """Kind under which the index records the source: that of the source itself."""
        return str(getattr(self.source, "stored_kind", type(self.source).__name__))

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`."""
        folder = PurePosixPath(self.source.name.replace("\\", "/")).name
        files = iter(self.source.files())
        while batch := list(islice(files, BATCH)):
            entries = [file for file in batch if isinstance(file, Entry)]
            licences = iter(self.licences.of_entries(entries, folder))
            for file in batch:
                if isinstance(file, Entry) and (licence := next(licences)) is not None:
                    yield replace(file, facts=replace(file.facts, stated=licence))
                else:
                    yield file


def with_licences(sources: Sequence[CorpusSource], named: str, cache: Path) -> list[CorpusSource]:
    """Return sources with the licences of a tool's result, or of ScanCode where `named` is "scancode".

    Raises:
        DataError: the result cannot be read, or ScanCode is not installed.
    """
    if named != SCANCODE:
        stated = read_licences(Path(named))
        digest = hashlib.sha256(repr(stated).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return [Licensed(source, FromResult(stated), digest) for source in sources]
    return [Licensed(source, FromScanCode(_program(), cache / "scancode.json"), SCANCODE) for source in sources]


def licence_reader(named: str | None) -> str:
    """Return name and version of what reads the licences of files: our rules, with ScanCode where the setting names it.

    Raises:
        DataError: ScanCode is not installed.
    """
    if named != SCANCODE:
        return LICENCE_READER
    # the user's own program, named by the user
    done = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r"\d+\.\d[\w.]*", done.stdout)
    return " ".join(filter(None, [f"{LICENCE_READER},", SCANCODE, version and version[0]]))


def _program() -> str:
    program = os.environ.get(VARIABLE) or shutil.which(SCANCODE)
    if program is None:
        raise DataError(
            "--licences scancode: no program `scancode` on the PATH; install scancode-toolkit-mini in an environment "
            f"of its own, and name its program in {VARIABLE}"
        )
    return program
