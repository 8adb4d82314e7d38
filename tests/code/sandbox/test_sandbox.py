"""Programs that mean harm, and what becomes of them."""

# ruff: noqa: S108  the sandbox's own /tmp

import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest

from assay.code.sandbox import execution as sandbox
from assay.code.sandbox.execution import MIB, Limits, require_sandbox, run_command, run_python
from assay.errors import AssayError, SandboxUnavailable

pytestmark = pytest.mark.usefixtures("sandbox")

SHORT = Limits(
    wall_seconds=8, cpu_seconds=1, memory=256 * MIB, processes=12, file_size=MIB, scratch=4 * MIB, output=10_000
)


def test_a_program_says_what_it_has_to_say_and_ends_with_its_own_code():
    done = run_python("import sys; print(input()); print('b', file=sys.stderr); sys.exit(3)", stdin="a\n")
    assert (done.exit_code, done.signal, done.stdout, done.stderr) == (3, None, "a\n", "b\n")
    assert not done.timed_out
    assert not done.output_truncated


def test_files_lie_in_the_working_directory_and_cannot_be_changed():
    program = "print(open('deep/a.txt').read()); open('deep/a.txt', 'w')"
    done = run_python(program, files={"deep/a.txt": "text", "b.bin": b"\0"}, limits=SHORT)
    assert done.stdout == "text\n"
    assert "Read-only file system" in done.stderr


def test_a_file_cannot_be_put_outside():
    with pytest.raises(ValueError, match="below the working directory"):
        run_python("", files={"../a": ""})


def test_any_visible_command_runs():
    folder = Path(shutil.which("cat")).resolve()
    assert run_command([str(folder), "a"], files={"a": "é"}, visible=[folder], limits=SHORT).stdout == "é"


def test_a_command_that_is_not_visible_is_not_found():
    done = run_command(["/usr/bin/env"], limits=SHORT)
    assert done.exit_code != 0
    assert "No such file" in done.stderr


def test_packages_are_importable_only_where_given(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "mine.py").write_text("A = 1")
    assert run_python("import mine; print(mine.A)", packages=[tmp_path], limits=SHORT).stdout == "1\n"
    assert "No module named 'mine'" in run_python("import mine", limits=SHORT).stderr


def test_a_fork_bomb_meets_the_limit_on_processes():
    program = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError as error:
    print(made, type(error).__name__, flush=True)
    os._exit(0)
"""
    made, error = run_python(program, limits=SHORT).stdout.split()
    assert 0 < int(made) < SHORT.processes
    assert error == "BlockingIOError"


def test_a_fork_bomb_that_does_not_give_up_ends_with_the_time():
    program = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    done = run_python(program, limits=Limits(wall_seconds=1.5, processes=8))
    assert done.timed_out
    assert done.signal == signal.SIGKILL


def test_two_fork_bombs_do_not_count_each_others_processes():
    """Each sandbox has the whole limit: here one starts inside the life of the other."""
    program = (
        "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        time.sleep(60)\nprint('all', flush=True)"
    )
    import threading

    results = []
    limits = Limits(processes=10, wall_seconds=1.5)
    held = threading.Thread(target=lambda: results.append(run_python(program + "\ntime.sleep(60)", limits=limits)))
    held.start()
    results.append(run_python(program, limits=limits))
    held.join()
    assert [result.stdout for result in results] == ["all\n", "all\n"]


def test_an_endless_loop_ends_with_the_processor_time():
    done = run_python("while True: pass", limits=SHORT)
    assert (done.exit_code, done.signal, done.timed_out) == (None, signal.SIGXCPU, False)


def test_a_loop_that_ignores_the_signal_is_killed_a_second_later():
    program = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert run_python(program, limits=SHORT).signal == signal.SIGKILL


def test_sleeping_ends_with_the_wall_time():
    done = run_python("import time; print('a', flush=True); time.sleep(60)", limits=Limits(wall_seconds=0.7))
    assert (done.timed_out, done.signal, done.stdout) == (True, signal.SIGKILL, "a\n")


def test_a_memory_hog_gets_a_memory_error():
    done = run_python("a = bytearray(10 ** 9)", limits=SHORT)
    assert done.stderr.endswith("MemoryError\n")


def test_huge_output_is_cut_and_the_program_still_ends_by_itself():
    program = "import sys\nfor _ in range(200): sys.stdout.write('x' * 10000); sys.stderr.write('y' * 10)\nsys.exit(5)"
    done = run_python(program, limits=SHORT)
    assert done.stdout == "x" * SHORT.output
    assert len(done.stderr) == 2000
    assert done.output_truncated
    assert done.exit_code == 5


def test_os_exit_is_an_exit():
    assert run_python("import os; os._exit(7)", limits=SHORT).exit_code == 7


def test_a_crash_is_a_signal():
    assert run_python("import os; os.kill(os.getpid(), 11)", limits=SHORT).signal == signal.SIGSEGV


def test_a_background_child_does_not_outlive_the_run(tmp_path):
    """It holds stdout open for a minute; the run ends at once, and takes the child with it."""
    program = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('parent')"
    done = run_python(program, limits=SHORT)
    assert (done.exit_code, done.stdout, done.timed_out) == (0, "parent\n", False)


@pytest.mark.parametrize(
    "place", ["/", "/sandbox", "/usr/lib", "/dev", "/root", "/home", "/etc", str(Path(sys.base_prefix, "lib"))]
)
def test_nothing_outside_tmp_can_be_written(place):
    done = run_python(f"open({place!r} + '/mark', 'w')", limits=SHORT)
    assert done.exit_code == 1
    assert not Path(place, "mark").exists()
    assert any(word in done.stderr for word in ("Read-only file system", "Permission denied", "No such file"))


def test_the_private_tmp_is_writable_limited_and_gone_afterwards():
    program = "open('/tmp/assay-mark', 'w').write('a'); open('/tmp/large', 'w').write('a' * 2_000_000)"
    assert "File too large" in run_python(program, limits=SHORT).stderr or not Path("/tmp/large").exists()
    assert not Path("/tmp/assay-mark").exists()


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_many_small_files_fill_the_scratch_space_not_the_machine(place):
    program = f"for i in range(1000): open(f'{place}/{{i}}', 'w').write('a' * 100_000)"
    assert "No space left on device" in run_python(program, limits=SHORT).stderr


def test_the_home_directory_is_not_there():
    """All that may be seen below it is the way to the interpreter, where that lies there."""
    home = Path.home()
    done = run_python(f"import os; print(os.path.exists({str(home)!r}) and os.listdir({str(home)!r}))", limits=SHORT)
    interpreter = Path(sys.executable).resolve()
    way = [interpreter.relative_to(home).parts[0]] if interpreter.is_relative_to(home) else False
    assert done.stdout == f"{way}\n"
    assert run_python("import os; print(os.path.expanduser('~'))", limits=SHORT).stdout == "/tmp\n"


def test_files_of_the_machine_are_not_there(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for path in (secret, Path("/etc/passwd"), Path(__file__), Path("/proc/self/environ")):
        assert "No such file" in run_python(f"print(open({str(path)!r}).read())", limits=SHORT).stderr


def test_the_environment_of_the_caller_is_not_there(monkeypatch):
    monkeypatch.setenv("ASSAY_SECRET", "secret")
    done = run_python("import os; print(sorted(os.environ))", limits=SHORT)
    assert done.stdout == "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONHASHSEED']\n"


def test_a_socket_reaches_no_one():
    """Neither the world nor a server on this machine; a listener is there, and hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        program = f"""
import socket
for address in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=2)
    except OSError as error:
        print(error.strerror)
"""
        done = run_python(program, limits=SHORT)
        assert done.stdout == "Connection refused\nNetwork is unreachable\n"
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_process_outside_can_be_seen_or_signalled():
    program = f"""
import os
for number in ({os.getpid()}, {os.getppid()}):
    try:
        os.kill(number, 0)
        print("seen")
    except OSError as error:
        print(type(error).__name__)
print(os.getpid() < 10)
"""
    assert run_python(program, limits=SHORT).stdout == "ProcessLookupError\nProcessLookupError\nTrue\n"


def test_no_privilege_comes_back():
    program = """
import os
for act in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
    try:
        act()
        print("done")
    except OSError as error:
        print(type(error).__name__)
print(os.getuid() != 0, os.getgroups() in ([], [os.getgid()]))
"""
    *refused, last = run_python(program, limits=SHORT).stdout.splitlines()
    assert set(refused) <= {"PermissionError", "OSError"}  # EINVAL where root has no number in the namespace of users
    assert last == "True True"


def test_no_open_file_is_inherited():
    program = """
import os
open_files = []
for number in range(3, 200):
    try:
        os.fstat(number)
        open_files.append(number)
    except OSError:
        pass
print(open_files)
"""
    assert run_python(program, limits=SHORT).stdout == "[]\n"


def test_a_limit_cannot_be_raised():
    program = "import resource as r\nr.setrlimit(r.RLIMIT_AS, (r.RLIM_INFINITY,) * 2)"
    assert "not allowed to raise maximum limit" in run_python(program, limits=SHORT).stderr


def test_without_bubblewrap_nothing_runs(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda _name: None)
    sandbox._tool.cache_clear()
    require_sandbox.cache_clear()
    try:
        with pytest.raises(
            SandboxUnavailable, match=r"needs bwrap \(package bubblewrap\), which is not installed: nothing"
        ) as one:
            run_python("print('ran')")
        assert isinstance(one.value, AssayError)
        assert "\n" not in str(one.value)
    finally:
        sandbox._tool.cache_clear()
        require_sandbox.cache_clear()


def test_where_namespaces_are_forbidden_nothing_runs(monkeypatch, tmp_path):
    """A bubblewrap that fails as it does in a container without user namespaces."""
    failing = tmp_path / "bwrap"
    failing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sandbox, "_tool", lambda name: str(failing) if name == "bwrap" else f"/usr/bin/{name}")
    require_sandbox.cache_clear()
    try:
        with pytest.raises(SandboxUnavailable, match=r"unprotected: bwrap: No permissions to create new namespace$"):
            run_python("print('ran')")
    finally:
        require_sandbox.cache_clear()
