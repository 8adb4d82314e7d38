"""A bound on the memory of all processes in a sandbox together.

Resource limits count the address space of each process, so they leave out how many processes there are and what lies
in /tmp. Where systemd keeps a memory controller for this user, the kernel enforces the bound. Everywhere, a watchdog
measures the memory of the sandbox, and the caller ends a sandbox that uses too much. The watchdog samples: between two
samples a program can exceed the bound.
"""

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# A page that several processes share is counted once in total: the kernel divides it by the number of its users (Pss).
# Huge pages are in no other line.
_MEMORY = re.compile(rb"^(?:Pss|SwapPss|Shared_Hugetlb|Private_Hugetlb):\s+(\d+) kB$", re.MULTILINE)
_KIB = 1 << 10
_INODE = _KIB  # an empty file takes no block of a tmpfs, but about this much of the kernel's memory
_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_PROBE_LIMIT = 256 << 20
_PROBE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Watchdog:
    """The memory of one running sandbox, compared with its limit.

    Attributes:
        process: number of the sandbox's first process, outside.
        namespace: inode of the sandbox's process namespace: every process in it counts, whoever started it.
        file_systems: paths of the file systems in memory, inside.
        limit: in bytes.
    """

    process: int
    namespace: int
    file_systems: Sequence[str]
    limit: int

    def exceeded(self) -> bool:
        """Return True if the sandbox uses more than its limit now, or a process of it cannot be read."""
        try:
            return self._files() + sum(map(_resident, self._processes())) > self.limit
        except PermissionError:  # a living process that hides its memory counts as over the limit
            return True

    def _processes(self) -> Iterator[Path]:
        for entry in Path("/proc").glob("[0-9]*"):
            if any(_is_in(thread, self.namespace) for thread in _threads(entry)) or self._hides(entry):
                yield entry

    def _hides(self, entry: Path) -> bool:
        """Return True for a process whose namespace may not be read although the first process is its ancestor.

        A process that is not dumpable shows its parent alone. An orphan gets the first process of the namespace as its
        parent, so the line of parents never leaves the sandbox.
        """
        try:
            (entry / "ns/pid").stat()
        except OSError as fault:  # any other than of permission: it has ended
            return isinstance(fault, PermissionError) and self.process in _ancestors(entry)
        return False

    def _files(self) -> int:
        # /proc/PID/root is the file system as that process sees it: the limits of its own /tmp, not of ours
        root = Path(f"/proc/{self.process}/root")
        total = 0
        try:
            if root.stat().st_dev == Path("/").stat().st_dev:  # the sandbox does not have its own root yet
                return 0
            for state in map(os.statvfs, [f"{root}{place}" for place in self.file_systems]):
                total += (state.f_blocks - state.f_bfree) * state.f_frsize + (state.f_files - state.f_ffree) * _INODE
        except OSError:  # the sandbox has ended, or is not set up yet
            return 0
        return total


def limited(command: Sequence[str], limit: int) -> tuple[list[str], Mapping[str, str]]:
    """Return a command that runs the given command under the kernel's memory limit, and the environment it needs.

    Where systemd offers no such limit here, it is the command itself, in an empty environment.

    Args:
        command: program and arguments; it gets an empty environment.
        limit: bytes of memory; swap space is not used.
    """
    if not _has_scopes():
        return list(command), {}
    return _scope(command, limit), {name: os.environ[name] for name in _BUS if name in os.environ}


@functools.cache
def _has_scopes() -> bool:
    """Return whether a memory limit of systemd's takes effect and leaves open files open, as bubblewrap needs.

    Tried once: a command in a scope reads its limit and writes it to a file that it inherits.
    """
    if shutil.which("systemd-run") is None or not Path("/run/systemd/system").is_dir():
        return False
    with tempfile.TemporaryFile() as answer:
        path = f"/proc/self/fd/{answer.fileno()}"
        reading = f'cat "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/memory.max" >{path}'
        try:
            subprocess.run(  # noqa: S603  our own arguments
                _scope(["/bin/sh", "-c", reading], _PROBE_LIMIT),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
                pass_fds=[answer.fileno()],
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        answer.seek(0)
        return answer.read().strip() == str(_PROBE_LIMIT).encode()


def _scope(command: Sequence[str], limit: int) -> list[str]:
    # the manager of the system limits memory for root, that of the session for everybody else
    manager = ["--user"] * (os.geteuid() != 0)
    properties = [f"--property=MemoryMax={limit}", "--property=MemorySwapMax=0"]
    program = shutil.which("systemd-run") or "systemd-run"
    return [program, *manager, "--scope", "--quiet", "--collect", *properties, "--", "/usr/bin/env", "-i", *command]


def _threads(process: Path) -> list[Path]:
    """Return the process and its further threads: a main thread may end before the others, which keep the memory."""
    try:
        return [process, *(thread for thread in (process / "task").iterdir() if thread.name != process.name)]
    except OSError:  # it has ended
        return []


def _is_in(thread: Path, namespace: int) -> bool:
    try:
        return (thread / "ns/pid").stat().st_ino == namespace
    except OSError:  # it has ended, or belongs to another user
        return False


def _ancestors(process: Path) -> Iterator[int]:
    """Yield the numbers of the process, its parent, the parent's parent and so on, as far as they can be read."""
    number = int(process.name)
    while number > 1:
        yield number
        try:
            # the name of a program may contain spaces and brackets, so the fields are counted from the last bracket
            after_name = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2]
        except OSError:  # it has ended
            return
        number = int(after_name.split()[1])


def _resident(process: Path) -> int:
    """Return the bytes of memory of a process, read from the first thread that still has any.

    Raises:
        PermissionError: they may not be read.
    """
    for thread in _threads(process):
        try:
            text = (thread / "smaps_rollup").read_bytes()
        except PermissionError:
            raise
        except OSError:  # the thread has ended; another one may live on with the memory of all
            continue
        if text:
            return sum(map(int, _MEMORY.findall(text))) * _KIB
    return 0
