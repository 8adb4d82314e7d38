"""Isolated execution of an untrusted program.

Bubblewrap limits the files, resource limits and a bound on memory the resources, a seccomp filter the system calls. A
program sees a read-only root with the interpreter, its libraries and the given files, a private /tmp of limited size,
no network, no home directory, no variable of the environment of the caller and no other process. If any of these
protections is missing, nothing is run: `SandboxUnavailable`.
"""

import functools
import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.code.sandbox.memory import Watchdog, limited
from assay.code.sandbox.streams import Captured, capture
from assay.code.sandbox.system_calls import filter_program
from assay.errors import SandboxUnavailable
from assay.guard import SIGKILL

MIB = 1 << 20
WORK = "/sandbox"
_SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108  the sandbox's own
_FIRST_UID, _LAST_UID = 61184, 65519  # the range of the dynamic users of systemd, which has no accounts
_NOBODY = "65534"
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_SHELL_SIGNAL = 128  # a shell, and bubblewrap, report death by signal s as 128 + s
_LAST_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources of one run.

    Attributes:
        wall_seconds: until the whole sandbox is killed.
        cpu_seconds: of each process; then it gets SIGXCPU, and one second later SIGKILL.
        memory: bytes of memory of all processes together, with the files in /tmp and /dev/shm. If systemd does not
            enforce it, it is sampled every 30 ms, and a program may exceed it between two samples.
        address_space: bytes that each process may reserve; None means as many as `memory`.
        processes: and threads at any one time, of this sandbox alone (before Linux 5.14, without root: of the user).
        file_size: bytes of each file written.
        open_files: of each process, pipes and sockets included, because each uses memory of the kernel.
        scratch: bytes of /tmp and of /dev/shm, each.
        output: bytes of stdout and of stderr that are kept, each; the rest is discarded.
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 5
    memory: int = 1024 * MIB
    address_space: int | None = None
    processes: int = 32
    open_files: int = 256
    file_size: int = 16 * MIB
    scratch: int = 64 * MIB
    output: int = MIB


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Execution:
    """The end and the output of one program.

    Attributes:
        exit_code: None if a signal ended it. An exit with 128 + s is reported as signal s, as in a shell.
        signal: number of the signal that ended it; SIGKILL after a timeout.
        timed_out: the wall time was exceeded.
        out_of_memory: its processes used more than `Limits.memory`, and were killed. If systemd enforces the limit, the
            kernel kills a process instead, and only `signal` reports it.
        stdout: at most `Limits.output` bytes of it, decoded as UTF-8 with replacement characters.
        stderr: the same of its standard error.
        output_truncated: there was more output than is kept.
        seconds: of wall time, including the start of the sandbox.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    out_of_memory: bool
    stdout: str
    stderr: str
    output_truncated: bool
    seconds: float


def run_python(
    program: str,
    *,
    files: Mapping[str, str | bytes] | None = None,
    stdin: str = "",
    arguments: Sequence[str] = (),
    packages: Sequence[Path] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Execution:
    """Run a Python program under this interpreter, isolated from the caller's site packages.

    Args:
        program: the text of the main module.
        files: further files by name, relative to the working directory, which is read-only; /tmp is writable.
        stdin: its standard input.
        arguments: of the program.
        packages: folders to import from, for example a site-packages; they become visible, read-only.
        limits: of its resources.

    Raises:
        SandboxUnavailable: bubblewrap or the kernel cannot protect this machine from the program.
    """
    # the program is started by another one, so that it is `__main__` and yet the paths are set before it runs
    main = "__assay_main__.py"
    start = (
        "import runpy, site, sys\n"
        "site.setquit()\n"  # without site packages (-S) there would be no exit() either
        f"sys.path[1:1] = {[str(folder.resolve()) for folder in packages]!r}\n"
        "del sys.argv[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    return run_command(
        [str(_interpreter()), "-I", "-S", "-B", "-c", start, f"{WORK}/{main}", *arguments],
        files={**(files or {}), main: program},
        stdin=stdin,
        visible=packages,
        limits=limits,
    )


def run_command(
    command: Sequence[str],
    *,
    files: Mapping[str, str | bytes] | None = None,
    stdin: str = "",
    visible: Sequence[Path] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Execution:
    """Run a command in a fresh sandbox.

    Args:
        command: program and arguments; the program has to be visible inside.
        files: contents by name, relative to the working directory, which is read-only.
        stdin: its standard input.
        visible: files and folders that it may read, under the names they have outside, beside the interpreter and the
            system's libraries. Where the caller is root, the command is not: it reads what everybody may read.
        limits: of its resources.

    Raises:
        SandboxUnavailable: bubblewrap or the kernel cannot protect this machine from the command.
    """
    require_sandbox()
    return _run(command, files=files or {}, stdin=stdin, visible=visible, limits=limits)


@functools.cache
def require_sandbox() -> None:
    """Raise SandboxUnavailable if the sandbox does not work; tested once, by running a command in it."""
    if sys.platform != "linux":
        raise SandboxUnavailable(f"the sandbox needs bubblewrap on Linux, this is {sys.platform}: nothing was run")
    probe = [str(_interpreter()), "-I", "-S", "-c", "print('inside')"]
    probed = _run(probe, files={}, stdin="", visible=(), limits=DEFAULT_LIMITS)
    if probed.stdout != "inside\n":
        raise SandboxUnavailable(_refusal(probed.stderr or f"the interpreter ended with {probed.exit_code} inside"))


def _run(
    command: Sequence[str], *, files: Mapping[str, str | bytes], stdin: str, visible: Sequence[Path], limits: Limits
) -> Execution:
    with tempfile.TemporaryDirectory(prefix="assay-sandbox-") as outer:
        folder, source = Path(outer, "work"), Path(outer, "stdin")
        _write(folder, files)
        source.write_text(stdin, "utf-8")
        started = time.monotonic()
        inside = [*_sandbox_arguments(folder, visible, limits), *_limits(limits), *command]
        captured, status = _supervised(inside, source, limits)
        seconds = time.monotonic() - started
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (captured.stdout, captured.stderr))
    # a signal ends a program without an exit code: the shell inside reports it as a status of 128 and its number
    signal = None
    if captured.timed_out or captured.out_of_memory:
        status, signal = None, SIGKILL
    elif status is None:  # bubblewrap reports an exit code only of what it has started
        raise SandboxUnavailable(_refusal(stderr))
    elif _SHELL_SIGNAL < status <= _SHELL_SIGNAL + _LAST_SIGNAL:
        signal, status = status - _SHELL_SIGNAL, None
    return Execution(
        status,
        signal,
        timed_out=captured.timed_out,
        out_of_memory=captured.out_of_memory,
        stdout=stdout,
        stderr=stderr,
        output_truncated=captured.truncated,
        seconds=seconds,
    )


def _supervised(command: Sequence[str], stdin: Path, limits: Limits) -> tuple[Captured, int | None]:
    """Return the output of the command, and its exit code as bubblewrap reports it.

    Args:
        command: bubblewrap, its options and the command inside.
        stdin: the file that the command reads.
        limits: of its resources.
    """
    # Two pipes lead into bubblewrap: it reads the filter from one, and writes on the other the number of the sandbox's
    # first process, before it starts the command, and the exit code at the end. A status on a pipe of its own cannot be
    # forged by what the program prints.
    rules, report, reported = _pipe_of(filter_program()), *os.pipe()
    try:
        options = ("--json-status-fd", str(reported), "--seccomp", str(rules))
        outer, environment = limited([command[0], *options, *command[1:]], limits.memory)
        with stdin.open("rb") as source:
            process = subprocess.Popen(  # noqa: S603  the command is built here; what it runs is what the sandbox is for
                outer,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[reported, rules],
                env=environment,
            )
    finally:
        os.close(reported)
        os.close(rules)
        lines = os.fdopen(report, "rb")
    with lines:
        first = lines.readline()  # bubblewrap writes it before it starts the command
        exceeded: Callable[[], bool] = bool
        if first:
            sandbox = json.loads(first)
            exceeded = Watchdog(
                sandbox["child-pid"], namespace=sandbox["pid-namespace"], file_systems=_SCRATCH, limit=limits.memory
            ).exceeded
        captured = capture(process, seconds=limits.wall_seconds, limit=limits.output, exceeded=exceeded)
        status = [json.loads(line) for line in lines]
    return captured, next((entry["exit-code"] for entry in status if "exit-code" in entry), None)


def _pipe_of(content: bytes) -> int:
    """Return the reading end of a pipe that holds the content, which is smaller than a pipe."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as sink:
        sink.write(content)
    return reader


def _sandbox_arguments(folder: Path, visible: Sequence[Path], limits: Limits) -> Iterator[str]:
    """Yield bubblewrap and its options, which set up the file system, users and namespaces of the sandbox."""
    yield _tool("bwrap")
    yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    if os.geteuid() == 0:
        # the limit on processes does not bind root: root becomes nobody in particular, see _limits
        yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY)
        if _can_disable_namespaces():
            yield "--disable-userns"
    for name, value in (("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PYTHONHASHSEED", "0")):  # noqa: S108  the sandbox's own /tmp
        yield from ("--setenv", name, value)
    yield from ("--dev", "/dev")
    for place in _SCRATCH:
        yield from ("--perms", "1777", "--size", str(limits.scratch), "--tmpfs", place)
    shown = [*map(Path, _LIBRARIES), *_of_interpreter(), Path(_tool("prlimit")), Path(_tool("setpriv"))]
    yield from _shown(dict.fromkeys([*shown, *(path.resolve() for path in visible)]))
    yield from ("--ro-bind", str(folder), WORK)
    # both are file systems in memory that bubblewrap would leave writable, without a limit
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK, "--")


@functools.cache
def _can_disable_namespaces() -> bool:
    """Return whether bubblewrap has --disable-userns (0.8.0): a second lock, for the filter refuses them anyway."""
    usage = subprocess.run([_tool("bwrap"), "--help"], capture_output=True, text=True, check=False, env={})  # noqa: S603
    return "--disable-userns" in usage.stdout + usage.stderr


def _shown(paths: Mapping[Path, None]) -> Iterator[str]:
    created = set()
    for path in paths:
        # bubblewrap makes a missing parent itself, but closed to others; one below a shown folder is there already
        for folder in reversed(path.parents[:-1]):
            if folder not in created and not any(parent in paths for parent in (folder, *folder.parents)):
                yield from ("--perms", "0755", "--dir", str(folder))  # else 0700, closed to the user inside
            created.add(folder)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from ("--ro-bind-try", str(path), str(path))


def _limits(limits: Limits) -> Iterator[str]:
    """Yield the programs that set the limits inside, where neither bubblewrap nor the caller's processes count."""
    address_space = limits.memory if limits.address_space is None else limits.address_space
    yield from (_tool("prlimit"), "--core=0", f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}")
    yield from (f"--as={address_space}", f"--nofile={limits.open_files}", f"--fsize={limits.file_size}")
    yield from (f"--nproc={limits.processes}", "--")
    if os.geteuid() == 0:
        # its own, so that its processes are counted alone
        user = str(random.SystemRandom().randint(_FIRST_UID, _LAST_UID))
        yield from (_tool("setpriv"), "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps", "-all", "--")


def _of_interpreter() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    base = Path(sys.base_prefix)
    shared = [base / "lib", base / "lib64"] if base != Path("/usr") else []
    return (_interpreter(), *(Path(paths[name]).resolve() for name in ("stdlib", "platstdlib")), *shared)


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


@functools.cache
def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        package = {"bwrap": "bubblewrap"}.get(name, "util-linux")
        raise SandboxUnavailable(
            f"the sandbox needs {name} (package {package}), which is not installed: nothing was run"
        )
    return str(Path(path).resolve())


def _refusal(output: str) -> str:
    line = next(reversed(output.strip().splitlines()), "no reason given")
    return f"bubblewrap cannot make a sandbox here, nothing was run unprotected: {line}"


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ValueError(f"received the file name {name!r}, expected one below the working directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o644 | 0o111 * path.is_dir())  # whatever the caller's umask: the user inside reads them
