"""Places that hold foreign text, and the state of the files while a run is followed.

a path in site-packages, node_modules …      another installation
a path outside the repository                a file outside, unless the agent wrote it
a test file                                  the tests
"""

import posixpath
import re
from dataclasses import dataclass, field
from typing import Literal

ReadingChannel = Literal[
    "history beyond the base commit",
    "network",
    "another installation of the package",
    "a file outside the repository",
    "the tests",
    "the working tree",
]
HISTORY: ReadingChannel = "history beyond the base commit"
NETWORK: ReadingChannel = "network"
INSTALLED: ReadingChannel = "another installation of the package"
OUTSIDE: ReadingChannel = "a file outside the repository"
TESTS: ReadingChannel = "the tests"
TREE: ReadingChannel = "the working tree"
# by weight: of several places that one output may come from, the first in this order counts
CHANNELS: tuple[ReadingChannel, ...] = (HISTORY, NETWORK, INSTALLED, OUTSIDE, TESTS, TREE)

# "/path/file.py:12:" of `grep -n`, and "/path/file.py-13-" of the lines around a match
_NAMED = re.compile(r"(/[^\s:]+\.\w+)[:-]\d+[:-]")
_INSTALLED = re.compile(
    r"site-packages|dist-packages|node_modules/|\.cargo/registry|/\.cache/(?:uv|pip)/|/pkg/mod/|/\.m2/|/gems/|/lib/python\d|/lib/ruby/|"
    r"/pkgs/|/conda-meta/|\.(?:whl|egg|tar\.gz|tgz|zip|jar|crate|gem)/?$"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?)/|(?:^|/)(?:tests?_[^/]*|[^/]*_tests?\.\w+|[^/]*\.(?:test|spec)\.\w+|"
    r"tests?\.\w+|conftest\.py|[A-Z]\w*Tests?\.\w+)$"
)


@dataclass(frozen=True, slots=True)
class ForeignPlace:
    """A place that a call reads, outside of what the working tree held at first.

    Attributes:
        channel: of the place.
        place: path, address or revision.
        sign: of the lines of a diff that come from there; "" for any.
    """

    channel: ReadingChannel
    place: str
    sign: str = ""


@dataclass(slots=True)
class FileState:
    """State of the files during a run.

    Attributes:
        root: folder of the repository; "" where unknown.
        folder: the working folder.
        written: paths that the agent wrote.
        origins: path or folder → channel of its text.
        messages: of the agent's own commits.
    """

    root: str = ""
    folder: str = ""
    written: set[str] = field(default_factory=set)
    origins: dict[str, ReadingChannel] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def absolute(self, path: str) -> str:
        """Return a path without dots, from the root of the file system where that is known."""
        if path.startswith("~"):
            # agents mostly run as root of a container, and the files do not name the user
            return "/root" + path[1:]
        return posixpath.normpath(posixpath.join(self.folder or self.root, path))

    def channel_of(self, path: str) -> ReadingChannel | None:
        """Return the channel of a file; None for a file of the working tree, or one that the agent wrote."""
        full = self.absolute(path)
        # what the agent wrote is its own wherever it lies; then counts what a command brought there, and last the name
        if full in self.written:
            return None
        for place, channel in self.origins.items():
            if full == place or full.startswith(place + "/"):
                return channel
        if _INSTALLED.search(full + "/"):
            return INSTALLED
        outside = full.startswith(("/", "..")) and bool(self.root) and not (full + "/").startswith(self.root + "/")
        # devices and programs of the system hold no text of a fix
        if outside and full.startswith(("/dev/", "/proc/", "/sys/", "/bin/", "/usr/bin/")):
            return None
        if _TESTS.search(full.removeprefix(self.root)):
            return TESTS
        return OUTSIDE if outside else None

    def write(self, path: str, channel: ReadingChannel | None = None) -> None:
        """Note that a file was written by the agent, or filled through a channel."""
        full = self.absolute(path)
        if channel is None:
            self.written.add(full)
            self.origins.pop(full, None)
        else:
            self.origins[full] = channel
            self.written.discard(full)

    def in_tree(self, path: str) -> bool:
        """Return True for a path in the repository."""
        full = self.absolute(path)
        # the images of SWE-bench have the repository at /testbed
        return not full.startswith(("/", "..")) or (full + "/").startswith((self.root or "/testbed") + "/")


def foreign_part(output: str, state: FileState) -> tuple[str, ForeignPlace | None]:
    """Return an output without the lines that name a file of the working tree before them, as grep does.

    The place is the first foreign file that is named so; None without one.
    """
    rows, place = [], None
    for row in output.splitlines():
        match = _NAMED.match(row)
        channel = match and state.channel_of(match[1])
        if match is None or channel is not None:
            rows.append(row)
        if match and channel and place is None:
            place = ForeignPlace(channel, match[1])
    return "\n".join(rows), place
