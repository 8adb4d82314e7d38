"""Runs other people's code where it can do no harm: bubblewrap for what it sees, rlimits for what it uses.

Inside there is a read-only root with the interpreter, its libraries and the given files, a private /tmp of limited
size, no network, no home directory, no variable of the caller's environment and no process but its own. Where that
cannot be had, nothing runs: `SandboxUnavailable`.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.code.sandbox.streams import Captured, capture
from assay.errors import SandboxUnavailable

MIB = 1 << 20
WORK = "/sandbox"
_FIRST_UID, _LAST_UID = 61184, 65519  # the range that systemd takes its dynamic users from: no account lives there
_NOBODY = "65534"
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_SHELL_SIGNAL = 128  # a shell, and bubblewrap, report death by signal s as 128 + s
_LAST_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use.

    Attributes:
        wall_seconds: until the whole sandbox is killed.
        cpu_seconds: of each process; then it gets SIGXCPU, and one second later SIGKILL.
        memory: bytes of address space of EACH process; all together at most `processes` times that.
        processes: and threads at any one time, of this sandbox alone (before Linux 5.14, without root: of the user).
        file_size: bytes of each file written.
        scratch: bytes of /tmp and of /dev/shm, each.
        output: bytes of stdout and of stderr that are kept, each; what comes after is thrown away.
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 5
    memory: int = 1024 * MIB
    processes: int = 32
    file_size: int = 16 * MIB
    scratch: int = 64 * MIB
    output: int = MIB


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Execution:
    """How one program ended.

    Attributes:
        exit_code: None where a signal ended it. A program that exits with 128 + s cannot be told from one that
            signal s killed, as in a shell.
        signal: number of the signal that ended it; SIGKILL where the time was up.
        timed_out: the wall time was up.
        stdout: at most `Limits.output` bytes of it, decoded as UTF-8 with replacement characters.
        stderr: likewise.
        output_truncated: it wrote more than is kept.
        seconds: of wall time, the sandbox's own start included.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    stdout: str
    stderr: str
    output_truncated: bool
    seconds: float

    @property
    def succeeded(self) -> bool:
        """It ended by itself, with exit code 0."""
        return self.exit_code == 0


def run_python(
    program: str,
    *,
    files: Mapping[str, str | bytes] | None = None,
    stdin: str = "",
    arguments: Sequence[str] = (),
    packages: Sequence[Path] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Execution:
    """One Python program under this interpreter, isolated from the caller's site packages.

    Args:
        program: the text of the main module.
        files: further files by name, relative to the working directory, which is read-only; /tmp is writable.
        stdin: what it reads.
        arguments: of the program.
        packages: folders to import from, for example a site-packages; they become visible, read-only.
        limits: what it may use.

    Raises:
        SandboxUnavailable: bubblewrap or the kernel cannot protect this machine from the program.
    """
    main = "__assay_main__.py"
    start = (
        "import runpy, site, sys\n"
        "site.setquit()\n"  # without site packages (-S) there would be no exit() either
        f"sys.path[1:1] = {[str(one.resolve()) for one in packages]!r}\n"
        "del sys.argv[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    return run(
        [str(_interpreter()), "-I", "-S", "-B", "-c", start, f"{WORK}/{main}", *arguments],
        files={**(files or {}), main: program},
        stdin=stdin,
        visible=packages,
        limits=limits,
    )


def run(
    command: Sequence[str],
    *,
    files: Mapping[str, str | bytes] | None = None,
    stdin: str = "",
    visible: Sequence[Path] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Execution:
    """One command in a fresh sandbox.

    Args:
        command: program and arguments; the program has to be visible inside.
        files: contents by name, relative to the working directory, which is read-only.
        stdin: what the command reads.
        visible: files and folders that it may read, under the names they have outside, beside the interpreter and the
            system's libraries. Where the caller is root, the command is not: it reads what everybody may read.
        limits: what it may use.

    Raises:
        SandboxUnavailable: bubblewrap or the kernel cannot protect this machine from the command.
    """
    require_sandbox()
    return _run(command, files=files or {}, stdin=stdin, visible=visible, limits=limits)


@functools.cache
def require_sandbox() -> None:
    """Raises SandboxUnavailable where the sandbox does not work: it is asked once, by running something in it."""
    if sys.platform != "linux":
        raise SandboxUnavailable(f"the sandbox needs bubblewrap on Linux, this is {sys.platform}: nothing was run")
    probe = [str(_interpreter()), "-I", "-S", "-c", "print('inside')"]
    found = _run(probe, files={}, stdin="", visible=(), limits=DEFAULT_LIMITS)
    if found.stdout != "inside\n":
        raise SandboxUnavailable(_refusal(found.stderr or f"the interpreter ended with {found.exit_code} inside"))


def _run(
    command: Sequence[str],
    *,
    files: Mapping[str, str | bytes],
    stdin: str,
    visible: Sequence[Path],
    limits: Limits,
) -> Execution:
    with tempfile.TemporaryDirectory(prefix="assay-sandbox-") as outer:
        folder = Path(outer, "work")
        _write(folder, files)
        Path(outer, "stdin").write_text(stdin, "utf-8")
        started = time.monotonic()
        captured, status = _supervised(
            [*_walls(folder, visible, limits), *_limits(limits), *command],
            Path(outer, "stdin"),
            limits,
        )
        seconds = time.monotonic() - started
    if captured.timed_out:
        return _execution(captured, None, 9, seconds)
    if status is None:  # bubblewrap reports an exit code only of what it has started
        raise SandboxUnavailable(_refusal(captured.stderr.decode("utf-8", "replace")))
    if _SHELL_SIGNAL < status <= _SHELL_SIGNAL + _LAST_SIGNAL:
        return _execution(captured, None, status - _SHELL_SIGNAL, seconds)
    return _execution(captured, status, None, seconds)


def _execution(captured: Captured, exit_code: int | None, signal: int | None, seconds: float) -> Execution:
    return Execution(
        exit_code,
        signal,
        captured.timed_out,
        captured.stdout.decode("utf-8", "replace"),
        captured.stderr.decode("utf-8", "replace"),
        captured.truncated,
        seconds,
    )


def _supervised(command: Sequence[str], stdin: Path, limits: Limits) -> tuple[Captured, int | None]:
    """What the command wrote, and its exit code as bubblewrap saw it."""
    report, reported = os.pipe()
    try:
        inserted = [command[0], "--json-status-fd", str(reported), *command[1:]]
        with stdin.open("rb") as source:
            process = subprocess.Popen(  # noqa: S603  the command is built here; what it runs is what the sandbox is for
                inserted,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[reported],
                env={},
            )
        os.close(reported)
        reported = -1
        captured = capture(process, seconds=limits.wall_seconds, limit=limits.output)
        with os.fdopen(report, "rb") as lines:
            report = -1
            status = [json.loads(line) for line in lines]
    finally:
        for left in (report, reported):
            if left >= 0:
                os.close(left)
    return captured, next((one["exit-code"] for one in status if "exit-code" in one), None)


def _walls(folder: Path, visible: Sequence[Path], limits: Limits) -> Iterator[str]:
    """What the sandbox sees."""
    yield _tool("bwrap")
    yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    if os.geteuid() == 0:
        # the limit on processes does not bind root: root becomes nobody in particular, see _limits
        yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY)
    for name, value in (("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PYTHONHASHSEED", "0")):  # noqa: S108  the sandbox's own /tmp
        yield from ("--setenv", name, value)
    yield from ("--dev", "/dev")
    for place in ("/tmp", "/dev/shm"):  # noqa: S108  the sandbox's own
        yield from ("--perms", "1777", "--size", str(limits.scratch), "--tmpfs", place)
    shown = [*map(Path, _LIBRARIES), *_of_interpreter(), Path(_tool("prlimit")), Path(_tool("setpriv"))]
    yield from _shown(dict.fromkeys([*shown, *(one.resolve() for one in visible)]))
    yield from ("--ro-bind", str(folder), WORK)
    # both are file systems in memory that bubblewrap would leave writable, without a limit
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK, "--")


def _shown(paths: Mapping[Path, None]) -> Iterator[str]:
    made = set()
    for path in paths:
        for folder in reversed(path.parents[:-1]):
            if folder not in made and not any(one in paths for one in (folder, *folder.parents)):
                yield from ("--perms", "0755", "--dir", str(folder))  # else 0700, closed to the user inside
            made.add(folder)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from ("--ro-bind-try", str(path), str(path))


def _limits(limits: Limits) -> Iterator[str]:
    """What the sandbox may use: set from inside, where neither bubblewrap nor the caller's processes count."""
    yield from (
        _tool("prlimit"),
        "--core=0",
        f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
        f"--as={limits.memory}",
    )
    yield from (f"--fsize={limits.file_size}", f"--nproc={limits.processes}", "--")
    if os.geteuid() == 0:
        user = str(
            random.SystemRandom().randint(_FIRST_UID, _LAST_UID)
        )  # its own, so that its processes are counted alone
        yield from (_tool("setpriv"), "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps", "-all", "--")


def _of_interpreter() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    base = Path(sys.base_prefix)
    shared = [base / "lib", base / "lib64"] if base != Path("/usr") else []
    return (_interpreter(), *(Path(paths[one]).resolve() for one in ("stdlib", "platstdlib")), *shared)


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


@functools.cache
def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        package = {"bwrap": "bubblewrap"}.get(name, "util-linux")
        raise SandboxUnavailable(
            f"the sandbox needs {name} (package {package}), which is not installed: nothing was run"
        )
    return str(Path(found).resolve())


def _refusal(said: str) -> str:
    line = said.strip().splitlines()[-1] if said.strip() else "no reason given"
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
        path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the caller's umask: the user inside reads them
