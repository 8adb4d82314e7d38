"""Files of a git repository, at HEAD or in all of its history, through the git program; nothing is fetched."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Event, Timer
from typing import IO
from urllib.parse import urlsplit

from assay.corpora.archives import LARGEST_NESTED, NAMED_ARCHIVE, content_form, link_reason, members_of
from assay.corpora.entry import Entry, Facts, Skipped, SourceFile
from assay.corpora.surroundings import Surroundings, describes_neighbours
from assay.errors import DataError, plain_reason
from assay.guard import (
    CHILD_MEMORY,
    LARGEST_METADATA,
    LARGEST_UNPACKED,
    LONGEST_PATH,
    SIGXCPU,
    MiB,
    limit_process,
)

# A repository is somebody else's: none of its settings starts a program, and a partial clone stays partial. An option
# overrides the setting of the same name only: a repository's protocol.ext.allow is stronger than our protocol.allow.
# The most important restrictions are in the environment, which no setting overrides.
_SAFELY = (
    "--no-pager", "--no-optional-locks", "--no-replace-objects",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.alternateRefsCommand=false",
    "-c", "log.showSignature=false", "-c", "gpg.program=false", "-c", "core.quotePath=false",
    # what changes the form of the output
    "-c", "i18n.logOutputEncoding=UTF-8", "-c", "log.showRoot=true", "-c", "color.ui=false",
    "-c", "core.abbrev=auto", "-c", "diff.orderFile=/dev/null",
    "-c", "diff.noPrefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "diff.relative=false",
    "-c", "diff.suppressBlankEmpty=false", "-c", "diff.interHunkContext=0", "-c", "diff.submodule=short",
    "-c", "diff.ignoreSubmodules=none", "-c", "diff.renameLimit=1000", "-c", "diff.algorithm=default",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # a list of protocols, with nothing in it that git has
    "GIT_NO_LAZY_FETCH": "1",  # git 2.44 and later
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_OF_THE_USER = ("GIT_CONFIG_", "GIT_EXEC_PATH")  # safe.directory may be set there

_LINK, _SUBMODULE, _FOLDER = "120000", "160000", "040000"
_COMMITS_A_CALL = 1_000
"""Digests that one command line takes."""

MOST_NAMES = 20_000
"""Names in the output of git, beside one for each byte of the repository: a dozen trees can name 10⁸ files."""
_SECONDS, _BYTES_A_SECOND = 5, 2**18  # of a processor for git: few bytes can hold years of work
LONGEST_RECORD = 16 * MiB
"""Bytes of a name, a path or a message."""

_COMMIT = re.compile("\x01[0-9a-f]{40,64}")  # begins a commit in our log format
_KNOWN_HOSTS = {"github.com": "blob", "gitlab.com": "-/blob", "codeberg.org": "src/commit", "bitbucket.org": "src"}


@dataclass(frozen=True, slots=True)
class Blob:
    """The content of one version of a file."""

    repository: Path
    digest: str

    def read(self, limit: int) -> bytes:
        """See `Content`."""
        return _reader(self.repository, os.getpid()).read(self.digest, limit)


@dataclass(frozen=True, slots=True)
class GitRepository:
    """The files that a repository has committed.

    Attributes:
        path: of the repository, a work tree or bare.
        name: see `CorpusSource`.
        all_history: every version of every file on every branch and tag, each under the commit that brought it; else
            the files at `revision`, each under the last commit that touched it.
        revision: the commit whose files are read; HEAD or a hexadecimal digest.
    """

    path: Path
    name: str
    all_history: bool = False
    revision: str = field(default="HEAD", kw_only=True)
    indivisible: bool = field(default=False, init=False)

    @property
    def whole(self) -> bool:
        """False for a history, which only grows: commits of a rewritten branch stay until they are removed."""
        return not self.all_history

    @property
    def stamp(self) -> str | None:
        """Commits of HEAD and of all branches and tags; None for a partial clone, whose missing files may arrive."""
        if _is_partial(self.path):
            return None
        every = ["--all"] if self.all_history else []
        return " ".join(git_output(self.path, "rev-parse", self.revision, *every).split())

    def count(self) -> int:
        """Return the number of files at the revision, or of commits in the whole history."""
        if self.all_history:
            return int(git_output(self.path, "rev-list", "--count", "--all"))
        return sum(1 for _ in tree_files(self.path, self.revision))

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`.

        Raises:
            DataError: git is not installed, this is not a repository, or it has no commit; or all of the history of a
                shallow clone is asked for.
        """
        if not git_output(self.path, "rev-list", "--max-count=1", "--all").strip():
            raise DataError(f"{self.path}: a git repository without a commit, expected at least one")
        if self.all_history:
            check_whole(self.path, "most versions are absent")
        web = _web_address(self.path)
        missing = self._missing()
        surroundings = self._surroundings(missing)
        commits = self.count() if self.all_history else 0
        with blob_sizes(self.path, missing) as size_of:
            for mode, digest, path, commit in self._history() if self.all_history else self._head():
                if mode == _SUBMODULE:
                    yield Skipped(path, "submodule")
                elif (size := size_of(digest)) is None:
                    yield Skipped(path, "missing from the repository")
                elif mode == _LINK:
                    target = Blob(self.path, digest).read(LONGEST_PATH).decode("utf-8", "replace")
                    yield Skipped(path, link_reason(path, target))
                elif NAMED_ARCHIVE.search(path) and not self.all_history:
                    facts = _facts(web, path, commit).over(surroundings.facts_of(path))
                    yield from self._members(path, digest, size, facts=facts)
                else:
                    facts = _facts(web, path, commit).over(surroundings.facts_of(path))
                    version = digest if self.all_history else ""
                    share = commit.number / commits if commits and commit is not None else None
                    yield Entry(
                        path, digest, size, content=Blob(self.path, digest), facts=facts, version=version, share=share
                    )

    def _members(self, path: str, digest: str, size: int, facts: Facts) -> Iterator[SourceFile]:
        if size > LARGEST_NESTED:
            yield Skipped(path, "too large")
            return
        content = Blob(self.path, digest).read(size)
        if content_form(content):
            yield from members_of(path, content, largest=LARGEST_METADATA, facts=facts)
        else:
            # named like an archive, and none
            yield Entry(path, digest, size, content=Blob(self.path, digest), facts=facts)

    def _missing(self) -> frozenset[str]:
        """Return the digests of objects that a partial clone lacks; a request for one of them would end git."""
        if not _is_partial(self.path):
            return frozenset()
        # git itself lists what it would have to fetch, in one pass and without the network
        which = ["--all"] if self.all_history else [f"{self.revision}^{{tree}}"]
        listed = git_output(self.path, "rev-list", "--objects", "--no-object-names", "--missing=print", *which)
        return frozenset(line[1:] for line in listed.splitlines() if line.startswith("?"))

    def _surroundings(self, missing: frozenset[str]) -> Surroundings:
        surroundings = Surroundings()
        if _succeeds(self.path, "rev-parse", "--verify", "-q", self.revision):
            with blob_sizes(self.path, missing) as size_of:
                for mode, digest, path in tree_files(self.path, self.revision):
                    is_stated = mode not in {_LINK, _SUBMODULE} and describes_neighbours(path)
                    # an absent object and an empty file count as too large: they state nothing
                    if is_stated and (size_of(digest) or LARGEST_METADATA + 1) <= LARGEST_METADATA:
                        surroundings.notice(path, Blob(self.path, digest).read(LARGEST_METADATA))
                # files that manifests name as those with their licences
                for named in surroundings.named_texts:
                    for mode, digest, path in tree_files(self.path, self.revision, named):
                        if path == named and mode not in {_LINK, _SUBMODULE, _FOLDER}:
                            surroundings.notice(path, Blob(self.path, digest).read(LARGEST_METADATA))
        return surroundings

    def _head(self) -> "Iterator[_Version]":
        files = list(tree_files(self.path, self.revision))
        last = self._last_commits({path for *_, path in files})
        for mode, digest, path in files:
            yield mode, digest, path, last.get(path)

    def _last_commits(self, paths: set[str]) -> dict[str, "_Commit"]:
        """Return the last commit that touched each path, from one pass that ends when each has one."""
        # the newest commit comes first, so the first one that names a path is the last that touched it; when every path
        # was named, the rest of the history need not be read
        commits: dict[str, _Commit] = {}
        cut = _first_commits(self.path)
        for commit, path in _changes(self.path, "--name-only", self.revision):
            if path in paths:
                if commit.digest in cut:  # an earlier commit, of whomever, may have been the last
                    commit = replace(commit, author="")  # noqa: PLW2901
                commits.setdefault(path, commit)
                if len(commits) == len(paths):
                    break
        return commits

    def _history(self) -> "Iterator[_Version]":
        """Yield every version of every file, oldest commit first, each once."""
        # one log of the changes instead of one tree for each commit: the work grows with the changes, not with
        # commits × files; the first commit that brings a digest to a path is the one that wrote it
        seen: set[tuple[str, str]] = set()
        for commit, change in _changes(self.path, "--raw", "-t", "--abbrev=64", "--reverse", "--all"):
            described, _, path = change.partition("\0")
            mode, digest = _new_side(described)
            # a digest of zeros: the commit removes the file
            if mode != _FOLDER and set(digest) != {"0"} and (digest, path) not in seen:
                seen.add((digest, path))
                yield mode, digest, path, commit


@dataclass(frozen=True, slots=True)
class _Commit:
    digest: str
    author: str
    number: int
    """In the log's order, from 1."""


_Version = tuple[str, str, str, _Commit | None]


def is_repository(path: Path) -> bool:
    """Return True if this path is the root of a git repository."""
    return (path / ".git").exists() or (
        (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    )


class DamagedRepositoryError(DataError):
    """A repository that git cannot read, damaged or incomplete; its files may be there all the same."""


def repository_damage(path: Path) -> str:
    """Return the reason why git cannot read the files and commits at HEAD of a repository; "" where it can."""
    try:
        if git_output(path, "rev-list", "--max-count=1", "--all").strip():
            git_output(path, "rev-list", "--count", "HEAD")
            for _ in tree_files(path, "HEAD"):
                pass
    except DamagedRepositoryError as damage:
        return str(damage)
    return ""


def enclosing_repository(path: Path) -> Path | None:
    """Return the root of the git repository that a file or folder is in; None outside of any."""
    resolved = path.resolve()
    return next((folder for folder in (resolved, *resolved.parents) if is_repository(folder)), None)


def is_shallow(repository: Path) -> bool:
    """Return True for a clone whose history is cut.

    Raises:
        DataError: git cannot read the repository.
    """
    return git_output(repository, "rev-parse", "--is-shallow-repository").strip() == "true"


def check_whole(repository: Path, consequence: str) -> None:
    """Check that the history of a clone is not cut.

    Args:
        repository: its root.
        consequence: what a cut history does, for the message.

    Raises:
        DataError: the clone is shallow, or git cannot read it.
    """
    if is_shallow(repository):
        raise DataError(
            f"{repository}: a shallow clone, whose history is cut, so that {consequence}: expected a whole clone "
            "(git fetch --unshallow)"
        )


def _first_commits(repository: Path) -> frozenset[str]:
    """Return the digests of the commits at which a shallow clone is cut: each seems to have written every file."""
    if not is_shallow(repository):
        return frozenset()
    place = git_output(repository, "rev-parse", "--git-path", "shallow").removesuffix("\n")
    try:
        return frozenset((repository / place).read_text("ascii").split())
    except (OSError, ValueError) as error:
        raise DataError(f"{repository}: its list of cut commits cannot be read: {plain_reason(error)}") from error


def tree_files(repository: Path, revision: str, *paths: str) -> Iterator[tuple[str, str, str]]:
    """Yield mode, digest and path of every file at a revision, or of those below paths; folders count for the limit.

    Raises:
        DataError: git cannot read the repository, or it names more files than its size explains.
    """
    listing = ("--literal-pathspecs", "ls-tree", "-r", "-t", "-z", "--full-tree", revision, "--", *paths)
    for line in git_records(repository, *listing):
        described, _, path = line.partition("\t")
        mode, _, digest = described.split()
        if mode != _FOLDER:
            yield mode, digest, path


def _new_side(described: str) -> tuple[str, str]:
    """Return mode and digest after a change; a merge has one colon, mode and digest for each parent.

    Raises:
        DataError: a setting or a name changed the form of the output.
    """
    fields = described.lstrip(":").split()
    parents = len(described) - len(described.lstrip(":"))
    if len(fields) < 2 * parents + 2:
        raise DataError(f"received {described[:60]!r} from git log, expected modes and digests of a change")
    return fields[parents], fields[2 * parents + 1]


def changed_files(
    repository: Path, commits: Sequence[str], folder: Path | None = None, *, seconds: float | None = None
) -> dict[str, list[str]]:
    """Return the files that commits changed, relative to the root; of a merge those that differ from all its parents.

    Of a commit at which a shallow clone is cut nobody knows what it changed, so it has none.

    Args:
        repository: its root.
        commits: digests.
        folder: only files below it; None for all.
        seconds: after which reading stops; None reads all.

    Raises:
        DataError: git cannot read the repository.
        TimeoutError: the time is over.
    """
    began = time.monotonic()
    place = [] if folder is None else ["--", folder.resolve().relative_to(repository.resolve()).as_posix()]
    files: dict[str, list[str]] = {}
    cut = _first_commits(repository)
    commits = [commit for commit in commits if commit not in cut]
    for start in range(0, len(commits), _COMMITS_A_CALL):
        left = None if seconds is None else max(seconds - (time.monotonic() - began), 0.001)
        chosen = ("--name-only", "--no-walk=unsorted", *commits[start : start + _COMMITS_A_CALL], *place)
        for commit, path in _changes(repository, *chosen, seconds=left):
            files.setdefault(commit.digest, []).append(path)
    return files


def _changes(repository: Path, *options: str, seconds: float | None = None) -> "Iterator[tuple[_Commit, str]]":
    """Yield commit and changed path (with --raw: description, NUL, path), in the order of the log."""
    shape = "--format=%x00%x01%H%x00%aN"
    # a bare repository takes its map of authors from a blob, and git ends where a partial clone lacks it
    unmapped = ("-c", "mailmap.blob=") if _is_partial(repository) else ()
    log = (
        *unmapped, "--literal-pathspecs", "log", "-z", "-c", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-show-signature", shape, *options,
    )  # fmt: skip
    commit, description = _Commit("", "", 0), ""
    records = git_records(repository, *log, seconds=seconds)
    for record in records:
        if _COMMIT.fullmatch(record):
            # git writes a line end before the first change of a commit, unless the commit is a merge
            commit = _Commit(record[1:], next(records, ""), commit.number + 1)
            record = next(records, "").removeprefix("\n")  # noqa: PLW2901
        if not record:
            continue
        if "--raw" not in options:
            yield commit, record
        elif not description:
            description = record
        else:
            yield commit, f"{description}\0{record}"
            description = ""


def _facts(web: str | None, path: str, commit: _Commit | None) -> Facts:
    url = repository = None
    if web is not None:
        host, _, repository = web.removeprefix("https://").partition("/")
        if commit is not None and host in _KNOWN_HOSTS:
            url = f"{web}/{_KNOWN_HOSTS[host]}/{commit.digest}/{path}"
        if host not in _KNOWN_HOSTS:
            repository = web.removeprefix("https://")
        url = url or web
    facts = Facts(repository=repository, url=url)
    if commit is None:
        return facts
    return replace(facts, commit=commit.digest, author=commit.author or None)


def _web_address(repository: Path) -> str | None:
    """Return https://host/owner/name of the remote `origin`, without user and password; None for a local one."""
    process = _start(repository, "config", "--get", "remote.origin.url")
    address = (process.communicate()[0]).decode("utf-8", "replace").strip()
    # user@host:path, the short form of an address of ssh
    if scp_like := re.match(r"^(?:[\w.-]+@)?([\w.-]+\.[a-z]+):(?!/)(.+)$", address):
        host, path = scp_like[1], scp_like[2]
    else:
        try:
            parts = urlsplit(address)
        except ValueError:  # half an IPv6 address
            return None
        if parts.scheme not in {"https", "http", "ssh", "git"} or not parts.hostname:
            return None
        host, path = parts.hostname, parts.path
    return f"https://{host}/{path.strip('/').removesuffix('.git')}"


class _Reader:
    """A running `git cat-file` that answers requests one by one: a process for each file would be far slower."""

    def __init__(self, repository: Path, mode: str = "--batch") -> None:
        self._process = _start(repository, "cat-file", mode, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def size(self, digest: str) -> int | None:
        """Return the size of an object in bytes; None if the repository lacks it."""
        if "\n" in digest:  # `REVISION:PATH` with a line end would be two requests
            return None
        requests = self._pipe(self._process.stdin)
        requests.write(f"{digest}\n".encode())
        requests.flush()
        fields = self._pipe(self._process.stdout).readline().split()
        # digest, type and size; of an absent object its name, which may have spaces, and "missing"
        if len(fields) != 3 or fields[2] == b"missing":  # noqa: PLR2004
            return None
        return int(fields[2])

    def read(self, digest: str, limit: int) -> bytes:
        """Return an object's first `limit` bytes.

        Raises:
            OSError: the repository lacks it.
        """
        size = self.size(digest)
        if size is None:
            raise OSError(f"object {digest} is missing")
        # the answers of one process lie one behind the other in its pipe, so each is read to its end, wanted or not
        out = self._pipe(self._process.stdout)
        content = out.read(min(size, limit))
        left = size - len(content) + 1  # the unread rest, and the line end that closes the object
        while left:
            # git ended where nothing comes: `or left` ends the loop as well
            left -= len(out.read(min(left, 1 << 20))) or left
        return content

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError):  # git ends at an object that a partial clone lacks
            self._pipe(self._process.stdin).close()
        self._pipe(self._process.stdout).close()
        self._process.wait()

    def __del__(self) -> None:
        self.close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101  opened above
        return pipe


@contextmanager
def blob_sizes(repository: Path, missing: frozenset[str] = frozenset()) -> Iterator[Callable[[str], int | None]]:
    """A function from a digest to the bytes of its object; None where the repository lacks it."""
    sizes = _Reader(repository, "--batch-check")
    try:
        yield lambda digest: None if digest in missing else sizes.size(digest)
    finally:
        sizes.close()


def _is_partial(repository: Path) -> bool:
    """Return True if the clone was made with a filter, so that objects may be missing."""
    return _succeeds(repository, "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$")


@lru_cache(maxsize=4)
def _reader(repository: Path, process: int) -> _Reader:  # noqa: ARG001  a forked process must not share its parent's pipes
    return _Reader(repository)


def _command(repository: Path, *arguments: str) -> list[str]:
    git = shutil.which("git")
    if git is None:
        raise DataError(f"{repository}: a git repository, but the program git is not installed (or: --as folder)")
    return [git, "-C", str(repository), *_SAFELY, *arguments]


def _environment() -> dict[str, str]:
    """Return the variables for git, without those that name another repository: a git hook sets GIT_DIR."""
    kept = {name: v for name, v in os.environ.items() if not name.startswith("GIT_") or name.startswith(_OF_THE_USER)}
    return kept | _ENVIRONMENT


def _start(
    repository: Path, *arguments: str, stdin: int = subprocess.DEVNULL, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(  # noqa: S603  git, with our own arguments
        _command(repository, *arguments), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=_environment()
    )
    stored = _stored_bytes(repository)
    limit_process(process.pid, seconds=_SECONDS + stored // _BYTES_A_SECOND, memory=CHILD_MEMORY + stored)
    return process


@lru_cache(maxsize=16)
def _stored_bytes(repository: Path) -> int:
    """Return the bytes of the packs of a repository and of those that it borrows objects from."""
    # the measure of all that git may use: time, memory and names grow with what the user really stored
    own = next((git for git in (repository / ".git", repository) if (git / "objects").is_dir()), None)
    if own is None:  # a further work tree, whose repository lies elsewhere
        command = _command(repository, "rev-parse", "--git-common-dir")
        printed = subprocess.run(command, capture_output=True, check=False, env=_environment()).stdout  # noqa: S603
        own = repository / os.fsdecode(printed.strip())
    places = [own / "objects"]
    with suppress(OSError):
        borrowed = (own / "objects/info/alternates").read_bytes()[:LARGEST_METADATA].splitlines()
        places += [own / "objects" / os.fsdecode(line) for line in borrowed if b"\0" not in line]
    packs = chain.from_iterable(place.glob("pack/*.pack") for place in places)
    return sum(pack.stat().st_size for pack in packs if pack.is_file())


def _succeeds(repository: Path, *arguments: str) -> bool:
    process = _start(repository, *arguments)
    process.communicate()
    return process.returncode == 0


def git_output(repository: Path, *arguments: str) -> str:
    """Return what git prints.

    Raises:
        DataError: git reports an error.
    """
    with _running(repository, *arguments) as stream:
        out = stream.read(LARGEST_UNPACKED + 1)
    if len(out) > LARGEST_UNPACKED:
        raise DataError(f"{repository}: git prints more than {LARGEST_UNPACKED:,} bytes, expected less")
    return out.decode("utf-8", "replace")


def git_records(repository: Path, *arguments: str, seconds: float | None = None) -> Iterator[str]:
    """Yield the output of git, cut at NUL bytes, as it comes; git ends when the reader stops reading.

    Args:
        repository: where git runs.
        arguments: of git.
        seconds: after which git is ended; None lets it finish.

    Raises:
        DataError: git reports an error.
        TimeoutError: the time is over; the records so far are whole.
    """
    with _running(repository, *arguments, seconds=seconds) as out:
        rest, names = b"", 0
        while chunk := out.read1(1 << 16):  # type: ignore[attr-defined]  # the pipe of a Popen is buffered
            *whole, rest = (rest + chunk).split(b"\0")
            names += len(whole)
            # in this order: packs are measured only where there are many names
            if names > MOST_NAMES and names > MOST_NAMES + _stored_bytes(repository):
                raise DataError(f"{repository}: git names more than {names:,} files, expected fewer in so few bytes")
            if len(rest) > LONGEST_RECORD:
                raise DataError(
                    f"{repository}: a name or message of more than {len(rest):,} bytes, expected a shorter one"
                )
            # escapes keep names apart that are no UTF-8
            yield from (record.decode("utf-8", "backslashreplace") for record in whole)
        if rest and seconds is None:  # a record that was cut off is none
            yield rest.decode("utf-8", "backslashreplace")


@contextmanager
def _running(repository: Path, *arguments: str, seconds: float | None = None) -> Iterator[IO[bytes]]:
    process = _start(repository, *arguments)
    assert process.stdout is not None  # noqa: S101  opened above
    assert process.stderr is not None  # noqa: S101
    expired = Event()

    def expire() -> None:
        expired.set()
        process.kill()

    # a killed git closes its pipe, which ends the reader too: one timer bounds both, and no read needs a limit
    timer = Timer(seconds or 0.0, expire)
    if seconds is not None:
        timer.start()
    try:
        yield process.stdout
        ended = process.wait()
        if expired.is_set():
            raise TimeoutError(f"{repository}: git was ended after {seconds:g} s")
        if ended:
            raise _fault(repository, process.stderr.read(), slow=ended == -SIGXCPU)
    finally:
        timer.cancel()
        process.stdout.close()
        process.stderr.close()
        if process.poll() is None:
            process.kill()
            process.wait()


def _fault(repository: Path, printed: bytes, *, slow: bool = False) -> DataError:
    lines = printed.decode("utf-8", "replace").strip().splitlines() or ["it gave no reason"]
    reason = next((line for line in lines if line.startswith("fatal: ")), lines[0]).removeprefix("fatal: ")
    stated = reason
    if "out of memory" in reason.lower():
        reason = "it needs more memory than its size explains"
    if "promisor remote" in reason:
        reason = "a partial clone, which lacks what is needed; expected a whole one"
    if slow:
        reason = "it takes more time than its size explains"
    if "dubious ownership" in reason:
        reason = (
            "it belongs to another user; git config --global --add safe.directory allows it, --as folder does without"
        )
    # what git says in its own words is about what it has stored
    kind = DamagedRepositoryError if reason == stated else DataError
    return kind(f"{repository}: git cannot read it: {reason}")
