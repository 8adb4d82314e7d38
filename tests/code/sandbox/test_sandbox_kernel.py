"""Programs that use the kernel's interface against the sandbox: memory, namespaces, sockets, keyrings."""

# ruff: noqa: S108  the sandbox's own /tmp

import ctypes
import ctypes.util
import signal
import subprocess
from pathlib import Path

import pytest

from assay.code.sandbox import execution, memory, system_calls
from assay.code.sandbox.execution import MIB, Limits, require_sandbox, run_python
from assay.code.sandbox.memory import Watchdog, limited
from assay.code.sandbox.streams import capture
from assay.errors import SandboxUnavailable

SHORT = Limits(wall_seconds=8, cpu_seconds=2, memory=256 * MIB, processes=12, file_size=MIB, scratch=4 * MIB)
HOG = Limits(
    wall_seconds=8, cpu_seconds=5, memory=160 * MIB, address_space=128 * MIB, processes=12, scratch=256 * MIB,
    file_size=256 * MIB,
)  # fmt: skip
pytestmark = pytest.mark.usefixtures("sandbox")

CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def outcome(name, *arguments):
    ctypes.set_errno(0)
    return "done" if getattr(libc, name)(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def numbers() -> dict[str, int]:
    """Of this machine's system calls that the filter refuses whatever their arguments."""
    library = ctypes.CDLL(ctypes.util.find_library("seccomp"))
    resolved = {name: library.seccomp_syscall_resolve_name(name.encode()) for name in system_calls._REFUSED}
    return {name: number for name, number in resolved.items() if number >= 0}


def test_every_refused_call_looks_as_if_the_kernel_did_not_have_it():
    calls = numbers()
    assert {"memfd_create", "shmget", "clone3", "mount", "keyctl", "ptrace", "bpf", "io_uring_setup"} <= set(calls)
    program = (
        f"{CALL}\nfor name, number in {calls!r}.items():\n    print(name, outcome('syscall', number, 0, 0, 0, 0, 0))"
    )
    ended = run_python(program, limits=SHORT)
    assert ended.stderr == ""
    assert dict(line.split() for line in ended.stdout.splitlines()) == dict.fromkeys(calls, "ENOSYS")


@pytest.mark.parametrize(
    ("attack", "error"),
    [
        ("outcome('memfd_create', b'a', 0)", "ENOSYS"),
        ("outcome('shmget', 0, 1 << 20, 0o1600)", "ENOSYS"),
        ("outcome('unshare', 0x10000000)", "EPERM"),  # CLONE_NEWUSER
        ("outcome('unshare', 0x00020000)", "EPERM"),  # CLONE_NEWNS
        ("outcome('mount', b'none', b'/tmp', b'tmpfs', 0, 0)", "ENOSYS"),
        ("outcome('ptrace', 16, 1, 0, 0)", "ENOSYS"),
        ("outcome('ioctl', 0, 0x5412, b'a')", "EPERM"),  # TIOCSTI
        ("outcome('ioctl', 0, 1 << 40 | 0x5412, b'a')", "EPERM"),  # the kernel reads the lower half
    ],
)
def test_a_call_of_the_c_library_is_refused(attack, error):
    assert run_python(f"{CALL}\nprint({attack})", limits=SHORT).stdout == f"{error}\n"


@pytest.mark.parametrize("flag", system_calls._NAMESPACES.values(), ids=list(system_calls._NAMESPACES))
def test_no_namespace_is_created_inside(flag):
    """Neither by unshare nor, where clone has the flag, by clone."""
    number = ctypes.CDLL(ctypes.util.find_library("seccomp")).seccomp_syscall_resolve_name(b"clone")
    clone = (
        f"print(outcome('syscall', {number}, {flag | signal.SIGCHLD}, 0, 0, 0, 0))" if flag > 0xFF else "print('EPERM')"
    )
    assert run_python(f"{CALL}\nprint(outcome('unshare', {flag}))\n{clone}", limits=SHORT).stdout == "EPERM\nEPERM\n"


def test_only_internet_and_unix_sockets_are_there():
    """AF_VSOCK reaches the host of a virtual machine from any network namespace."""
    program = """
import errno, socket
opened = []
for family in (*range(64), 1 << 32 | 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            opened.append(family)
        except OverflowError:
            pass
        except OSError as error:
            assert error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT), (family, error)
print(sorted(set(opened)))
"""
    ended = run_python(program, limits=SHORT)
    assert ended.stderr == ""
    assert set(eval(ended.stdout)) <= {1, 2, 10}  # noqa: S307  a list of numbers


def test_what_programs_need_is_left():
    """Threads, processes, pools, shared memory of the limited kind, asyncio's socket pair and sockets to oneself."""
    program = """
import asyncio, multiprocessing, socket, subprocess, sys, threading
from multiprocessing import shared_memory
if __name__ == "__main__":
    threading.Thread(target=print, args=["thread"]).start()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(abs, [-1, -2])))
    block = shared_memory.SharedMemory(create=True, size=1000)
    block.close()
    block.unlink()
    asyncio.run(asyncio.sleep(0))
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()
    print(subprocess.run([sys.executable, "-I", "-S", "-c", "print('child')"], capture_output=True, text=True).stdout)
"""
    ended = run_python(program, limits=Limits(processes=32))
    assert (ended.stdout, ended.stderr) == ("thread\n3\nchild\n\n", "")


def test_a_call_of_another_architecture_kills():
    """Numbers of the x32 interface lie beside those of x86-64: 0x40000000 + 319 is memfd_create again."""
    ended = run_python(f"{CALL}\nprint(outcome('syscall', 0x40000000 + 319, b'a', 0))", limits=SHORT)
    assert ended.signal == signal.SIGSYS or ended.stdout == "ENOSYS\n"


@pytest.mark.parametrize(
    "hold",
    [
        "data = bytearray(os.urandom(1 << 20)) * 60",
        "area = mmap.mmap(-1, 60 << 20); [area.write(bytes(1 << 20)) for _ in range(60)]",  # shared, anonymous
    ],
    ids=["private", "shared"],
)
def test_processes_together_stay_within_the_memory(hold):
    """Each is far below its own limit; six of them are above that of the sandbox."""
    program = f"""
import mmap, os, time
for _ in range(6):
    if os.fork() == 0:
        {hold}
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
    ended = run_python(program, limits=HOG)
    assert ended.signal == signal.SIGKILL
    assert not ended.timed_out


LEADERLESS = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
EXIT = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
def hold(ready):
    block = bytearray(os.urandom(2**20)) * 60
    ready.set()
    time.sleep(60)
def child():
    HIDE
    ready = threading.Event()
    threading.Thread(target=hold, args=(ready,)).start()
    ready.wait()
    libc.syscall(EXIT, 0)  # the main thread alone ends; the other one keeps the memory
for _ in range(4):
    if os.fork() == 0:
        child()
time.sleep(60)
"""


@pytest.mark.parametrize("hidden", [False, True], ids=["main thread gone", "main thread gone and not dumpable"])
def test_threads_whose_main_thread_has_ended_count(hidden):
    """Four processes hold 60 MiB each, and none has a main thread whose memory could be read."""
    program = LEADERLESS.replace("HIDE", "libc.prctl(4, 0, 0, 0, 0)" if hidden else "pass")
    ended = run_python(program, limits=HOG)
    assert (ended.signal, ended.timed_out) == (signal.SIGKILL, False), ended


def test_files_in_memory_count():
    program = """
import time
for number in range(200):
    with open(f"/tmp/{number}" if number % 2 else f"/dev/shm/{number}", "wb") as file:
        file.write(bytes(1 << 20))
time.sleep(60)
"""
    ended = run_python(program, limits=HOG)
    assert (ended.out_of_memory or ended.signal == signal.SIGKILL, ended.timed_out) == (True, False)


def test_empty_files_count():
    """They fill no block of /tmp, only memory of the kernel."""
    program = "import os, time\nfor number in range(20_000):\n    os.mkdir(f'/tmp/{number}')\ntime.sleep(60)"
    ended = run_python(program, limits=Limits(wall_seconds=8, memory=24 * MIB, address_space=128 * MIB))
    assert ended.signal == signal.SIGKILL
    assert not ended.timed_out


def test_a_program_that_closes_its_output_is_still_watched():
    program = """
import os, time
os.close(1)
os.close(2)
for _ in range(6):
    if os.fork() == 0:
        data = bytearray(os.urandom(1 << 20)) * 60
        time.sleep(60)
time.sleep(60)
"""
    ended = run_python(program, limits=HOG)
    assert ended.signal == signal.SIGKILL
    assert not ended.timed_out


def test_pages_that_processes_share_count_once():
    """Eleven processes see the same 60 MiB: that is 60 MiB, not 660."""
    program = """
import os, time
data = bytearray(os.urandom(1 << 20)) * 60
for _ in range(10):
    if os.fork() == 0:
        time.sleep(0.4)
        os._exit(0)
for _ in range(10):
    os.wait()
print("whole")
"""
    ended = run_python(program, limits=HOG)
    assert (ended.stdout, ended.out_of_memory) == ("whole\n", False)


def test_open_files_are_limited():
    program = """
import os
try:
    while True:
        os.pipe()
except OSError as error:
    print(error.strerror)
"""
    assert run_python(program, limits=SHORT).stdout == "Too many open files\n"


def test_a_key_does_not_survive_the_run():
    """The kernel keeps a user's keyring until the machine stops; inside, there is none."""
    program = f"{CALL}\nprint(outcome('syscall', {numbers()['add_key']}, b'user', b'assay-test', b'secret', 6, -4))"
    assert run_python(program, limits=SHORT).stdout == "ENOSYS\n"
    keys = Path("/proc/keys")
    assert not keys.exists() or "assay-test" not in keys.read_text()


def test_without_libseccomp_nothing_runs(monkeypatch):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(system_calls.ctypes, "CDLL", absent)
    system_calls.filter_program.cache_clear()
    require_sandbox.cache_clear()
    try:
        with pytest.raises(SandboxUnavailable, match=r"needs libseccomp .*, which is not installed: nothing was run$"):
            run_python("print('ran')")
    finally:
        system_calls.filter_program.cache_clear()
        require_sandbox.cache_clear()


def test_a_rule_that_libseccomp_does_not_take_is_no_sandbox(monkeypatch):
    """A filter with a hole is never used."""
    monkeypatch.setattr(system_calls, "_GREATER", 99)
    system_calls.filter_program.cache_clear()
    require_sandbox.cache_clear()
    try:
        with pytest.raises(SandboxUnavailable, match=r"refused the rule for socket \(error \d+\): nothing was run$"):
            run_python("print('ran')")
    finally:
        system_calls.filter_program.cache_clear()
        require_sandbox.cache_clear()


SCOPE = """#!/bin/sh
printf '%s\\n' "$@" >>{log}
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def systemd(monkeypatch, tmp_path):
    """A systemd-run that writes down its arguments and runs the command; the log of what it was asked."""
    program, log = tmp_path / "systemd-run", tmp_path / "log"
    program.write_text(SCOPE.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    scopes = memory._has_scopes
    scopes.cache_clear()
    yield log
    scopes.cache_clear()


def test_where_systemd_limits_memory_the_sandbox_runs_in_a_scope(monkeypatch, systemd):
    monkeypatch.setattr(memory, "_has_scopes", lambda: True)
    ended = run_python("import os; print(sorted(os.environ))", limits=SHORT)
    assert ended.stdout == "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONHASHSEED']\n"
    asked = systemd.read_text().splitlines()
    assert {"--scope", f"--property=MemoryMax={SHORT.memory}", "--property=MemorySwapMax=0"} <= set(asked)


def test_a_limit_of_systemd_that_does_not_take_effect_is_not_relied_on(monkeypatch, systemd):
    """It is read back: this one sets nothing, and the watchdog is left."""
    monkeypatch.setattr(memory.Path, "is_dir", lambda _path: True)
    command, environment = limited(["/bin/true"], MIB)
    assert "--scope" in systemd.read_text()
    assert (command, environment) == (["/bin/true"], {})


def test_a_process_that_has_ended_holds_nothing():
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()
    assert not Watchdog(process.pid, 0, ["/tmp"], 0).exceeded()


def test_the_memory_is_asked_for_until_the_process_ends():
    """And the reason to stop it is kept."""
    answers = iter([False, True])
    with subprocess.Popen(["/bin/sleep", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        captured = capture(process, seconds=60, limit=10, exceeded=lambda: next(answers))
    assert (captured.timed_out, captured.out_of_memory) == (False, True)


def test_bubblewrap_forbids_namespaces_where_it_can(monkeypatch):
    """Not as root: the option needs a namespace of users, in which the limit on processes would not bind root."""
    monkeypatch.setattr(execution.os, "geteuid", lambda: 1000)
    arguments = list(execution._sandbox_arguments(Path("/nowhere"), (), SHORT))
    assert ("--disable-userns" in arguments) == execution._can_disable_namespaces()
    assert "--unshare-user" in arguments
