"""Memory, disk and open files at their limit, and streams that are closed, are one line, and no fault of assay."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.refusals import as_refusals
from assay.errors import DataError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_a_limit_of_the_system_is_one_line(number):
    with (
        pytest.raises(DataError, match=r"^a\.jsonl: .*, expected more room, or a higher limit \(ulimit\)$"),
        as_refusals(),
    ):
        raise OSError(number, os.strerror(number), "a.jsonl")


def test_a_full_memory_is_one_line():
    with pytest.raises(DataError, match=r"memory .* is full, expected more"), as_refusals():
        raise MemoryError


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libarrow.so: failed to map segment from shared object"),
        OSError("libllvmlite.so: cannot allocate memory in static TLS block"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_library_or_thread_without_memory_is_the_same_line_also_behind_another_error(error):
    with pytest.raises(DataError, match=r"memory .* is full, expected more"), as_refusals():
        raise error

    def load():
        try:
            raise error
        except type(error):
            raise OSError("Could not find/load shared object file")  # noqa: B904  as llvmlite does

    with pytest.raises(DataError, match=r"memory .* is full, expected more"), as_refusals():
        load()


def run(*words, start=None, **streams):
    command = [sys.executable, "-m", "assay", *map(str, words)]
    done = subprocess.run(command, preexec_fn=start, check=False, timeout=300, **streams)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [300, 400])
def test_a_command_in_a_small_space_of_addresses_is_one_line_and_never_waits(tmp_path, megabytes):
    (tmp_path / "a.jsonl").write_text('{"text": "a = 1"}\n')

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))

    code, err = run(
        "score", "builtin:small", tmp_path / "a.jsonl", "--scores", "loss", start=limit, stderr=subprocess.PIPE
    )
    assert (code, err.count("\n")) == (2, 1), err
    assert "emory" in err


@pytest.mark.slow
def test_closed_and_full_streams_change_no_exit_code(tmp_path):
    assert run("benchmarks", "list", start=lambda: os.close(1), stderr=subprocess.PIPE) == (0, "")
    for number in (0, 2):
        closing = {"stdout": subprocess.DEVNULL, "start": lambda number=number: os.close(number)}
        assert run("benchmarks", "list", **closing)[0] == 0
        assert run("scan", tmp_path / "none", "--for", "humaneval", **closing)[0] == 2
    with Path("/dev/full").open("wb") as full:
        assert run("scan", tmp_path / "none", "--for", "humaneval", stderr=full)[0] == 2
        code, err = run("benchmarks", "list", stdout=full, stderr=subprocess.PIPE)
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("benchmarks", "list"), ("scan", "--help")])
def test_a_reader_that_goes_away_is_no_rule_that_fired(words):
    reader, writer = os.pipe()
    os.close(reader)
    assert run(*words, stdout=writer, stderr=subprocess.PIPE) == (0, "")
    os.close(writer)


def test_ctrl_c_while_modules_are_imported_is_quiet():
    code = """
import os, signal, sys
from assay.__main__ import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

class Interrupting:
    def find_spec(self, name, *_):
        if name == "assay.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
main()
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")
