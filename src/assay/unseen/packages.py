"""Packages by name as corpora of unseen text: their wheels, downloaded by pip on request and kept.

No code of a package is run. Only wheels are taken: to read the name of a source archive, pip runs its build script.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from assay.errors import DataError
from assay.models import default_cache_path
from assay.models.digest import file_digest

LATER_PACKAGES = Path(__file__).parent / "later_packages.txt"
"""Packages of Python that are new: what `auto` stands for."""
AUTO = "auto"
REQUIREMENTS = (".txt", ".in")
"""Suffixes of files that list packages; no archive has them."""

ARCHIVE = re.compile(r"\.(whl|zip|jar|egg|tar|tgz|tar\.[a-z0-9]+|git|py)$", re.IGNORECASE)
"""Ends of names that mean a path, although a package could be called so."""

SECONDS = 900
"""For one package; pip has retries and time limits of its own, which its configuration sets."""

NOT_OURS = ("PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIP_EDITABLE")
"""Settings of pip that would add packages, or take one from an address, where a source archive may be."""


def is_auto(texts: object) -> bool:
    """Return True if texts are the word for packages that are newer than a model, `auto` or `auto:YYYY-MM-DD`."""
    return isinstance(texts, str) and texts.partition(":")[0] == AUTO and not Path(texts).exists()


@dataclass(frozen=True, slots=True)
class Package:
    """A downloaded package.

    Attributes:
        name: normalised.
        version: as the file's name states it.
        path: of the wheel.
        sha256: of the wheel.
    """

    name: str
    version: str
    path: Path
    sha256: str

    def facts(self) -> dict[str, str]:
        """Return what every text of the package records."""
        return {"package": f"{self.name}=={self.version}", "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class NoWheel:
    """A package that was not downloaded.

    Attributes:
        requirement: as the user wrote it.
        reason: in one line.
    """

    requirement: str
    reason: str


class PackageFolder:
    """Wheels that are kept: a run that was interrupted goes on where it stopped, and a fixed version is fetched once.

    Attributes:
        path: holds the wheels; the folder is made when the first one is there.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Take note of the folder; None is `packages` in the folder of the cache."""
        self.path = path or default_cache_path().parent / "packages"

    def fetched(self, requirement: Requirement) -> Package | NoWheel:
        """Return the wheel of a package, from this folder if its version is fixed, otherwise through pip.

        Raises:
            DataError: there is no pip, or the folder cannot be written.
        """
        if kept := self._kept(requirement):
            return _package(kept)
        if find_spec("pip") is None:
            raise DataError("packages are downloaded by pip, which is not in this environment: expected pip, or wheels")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # moved when it is complete: a killed run leaves no half of a wheel under its name
            with TemporaryDirectory(dir=self.path, prefix="downloading-") as folder:
                outcome = _download(requirement, Path(folder))
                if isinstance(outcome, NoWheel):
                    return outcome
                return _package(outcome.replace(self.path / outcome.name))
        except OSError as error:
            raise DataError(f"{self.path}: packages cannot be kept there ({error.strerror or error})") from error

    def obstacle_to_date(self, name: str, day: date) -> str | None:
        """Return why a package may be older than a day, by the upload dates of its index; None if none of it is.

        An answer is kept in a file beside the wheels, so that a day is asked for once.
        """
        recorded = self.path / f"{canonicalize_name(name)}.newer-than"
        if recorded.is_file() and recorded.read_text("utf-8") >= day.isoformat():
            return None
        # an index that cannot be reached lists no old version either, so it has to list the new ones
        if not _lists_versions(name):
            return "pip finds no version of it"
        # asked the other way round: any version that pip still finds with a limit of that day is older
        if _lists_versions(name, "--uploaded-prior-to", day.isoformat()):
            return f"it was uploaded before {day}"
        self.path.mkdir(parents=True, exist_ok=True)
        recorded.write_text(day.isoformat(), "utf-8")
        return None

    def _kept(self, requirement: Requirement) -> Path | None:
        """Return a wheel of exactly the version that is asked for; None where the newest one is asked for."""
        # without a fixed version the newest is meant, which a kept wheel may not be
        fixed = [part for part in requirement.specifier if part.operator in ("==", "===") and "*" not in part.version]
        name = canonicalize_name(requirement.name)
        if not fixed:
            return None
        for path in sorted(self.path.glob("*.whl")):
            own, version = _name_and_version(path)
            if own == name and requirement.specifier.contains(Version(version), prereleases=True):
                return path
        return None


def expanded(corpora: Sequence[str], *, download: bool) -> list[str | Requirement]:
    """Return corpora with the packages that names and files of requirements mean; nothing is downloaded.

    Args:
        corpora: paths, names of packages with or without a version, and files of requirements.
        download: packages may be downloaded.

    Raises:
        DataError: a package without leave to download it, or a line that names none.
    """
    result: list[str | Requirement] = []
    for corpus in corpora:
        path = LATER_PACKAGES if corpus == AUTO else Path(corpus).expanduser()
        if path.is_file() and path.suffix.lower() in REQUIREMENTS:
            packages = list(_listed(path))
        elif path.exists() or ARCHIVE.search(corpus) or (own := _requirement(corpus)) is None:
            result.append(corpus)
            continue
        else:
            packages = [own]
        if not download:
            there = "a list of packages" if path.exists() else "no such file or folder"
            raise DataError(f"{corpus}: {there}; packages are downloaded with --download only")
        result += packages
    return result


def _requirement(text: str) -> Requirement | None:
    """Return the package that a text names; None where it names none, or an address, which may hold anything."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    # an address may hold a source archive, whose build script would run
    if requirement.url is not None:
        return None
    requirement.marker = None  # for installing; a text may be read everywhere
    return requirement


def _listed(path: Path) -> Iterator[Requirement]:
    """Yield the packages of a file in pip's format; hashes and comments are left out.

    Raises:
        DataError: the file cannot be read, or a line is something else than a package by name.
    """
    try:
        # pip continues a line behind a backslash, where its hashes stand
        lines = path.read_text("utf-8").replace("\\\n", " ").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a readable list of packages ({type(error).__name__})") from error
    for line in lines:
        text = re.sub(r"(^|\s)(#.*|--hash[=\s]\S+)", " ", line).strip()
        if not text:
            continue
        requirement = _requirement(text)
        if requirement is None:
            raise DataError(f"{path}: received {text[:80]!r}, expected names of packages, one a line, as numpy==2.1")
        yield requirement


def _download(requirement: Requirement, folder: Path) -> Path | NoWheel:
    """Let pip download one wheel into an empty folder."""
    options = ("--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder))
    try:
        done = _pip("download", *options, str(requirement))
    except subprocess.TimeoutExpired:
        return NoWheel(str(requirement), f"pip took longer than {SECONDS} s")
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    reason = " ".join((errors or done.stderr.splitlines() or ["no file"])[-1].split())[:200]
    return NoWheel(str(requirement), f"pip found no wheel: {reason}")


def _lists_versions(name: str, *options: str) -> bool:
    """Return True if the index lists a version of a package, a source archive too."""
    return _pip("index", "versions", "--pre", *options, name).returncode == 0


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -P: no module of the current folder is taken for pip
    command = [sys.executable, "-P", "-m", "pip", *arguments, "--no-input", "--disable-pip-version-check"]
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    return subprocess.run(  # noqa: S603  a fixed program; names of packages are parsed, so they are no options
        command, env=environment, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
    )


def _package(path: Path) -> Package:
    name, version = _name_and_version(path)
    return Package(name, version, path=path, sha256=file_digest(path))


def _name_and_version(path: Path) -> tuple[str, str]:
    try:
        name, version, *_ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise DataError(f"{path}: not the name of a wheel, expected NAME-VERSION-….whl") from error
    return name, str(version)
