"""Command lines that nobody meant: every one ends with a documented exit code and a line, none with a traceback."""

import io
import sys
import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.cli.app import command_line

STARTS_WORK = {
    ("demo",),
    ("serve",),
    ("lab", "testbed", "run"),
    ("lab", "testbed", "plant"),
}  # even without a valid argument
CREATES_PROCESSES = {"--jobs", "--workers"}
VALUES = (
    "", " ", "-", "--", "-1", "0", "1", "1e999", "nan", "999999999999999999999", "a" * 5000, "a,b,,c", "é𝄞", "\udcff",
    "\x1b[2J", "a\n::error::b", "\u202e", "[/red]", "%s%n", "{0}", "$(id)", "../../etc/passwd", "/dev/null", ".",
    "empty", "broken.json", "broken.jsonl", "broken.csv", "no-such-file", "openai:x@http://", "vllm:", "builtin:none",
)  # fmt: skip


def commands(command=None, path=()):
    """Path and names of options of every command."""
    command = command or command_line()
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from commands(below, (*path, name))
    else:
        yield path, [name for parameter in command.params for name in parameter.opts if name.startswith("-")]


COMMANDS = dict(commands())


@st.composite
def command_lines(draw):
    path = draw(st.sampled_from(sorted(COMMANDS)))
    line = list(path)
    for _ in range(draw(st.integers(0, 5))):
        name = draw(st.sampled_from([None, *COMMANDS[path]]))
        if name not in CREATES_PROCESSES:
            line += [] if name is None else [name]
            line += [draw(st.sampled_from(VALUES) | st.text(max_size=20))]
    return [*line, "--no-such-option"] if path in STARTS_WORK else line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with files that hold no data, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b""), isatty=lambda: False))
    (tmp_path / "empty").mkdir()
    for name in ("broken.json", "broken.jsonl", "broken.csv"):
        (tmp_path / name).write_bytes(b'{"id": \xff\n"')
    return tmp_path


@pytest.mark.slow
@given(command_lines())
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_command_line_of_chance_ends_in_words(folder, monkeypatch, capsys, line):
    from assay.cli.app import main

    monkeypatch.setattr(sys, "argv", ["assay", *line])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code in {0, 1, 2, 3}
    assert ended.value.code != 2 or printed.err.splitlines()[-1].startswith(("assay: error: ", "Usage: "))
    left = {unicodedata.category(character) for character in (printed.out + printed.err).replace("\n", "")}
    assert not left & {"Cc", "Zl", "Zp"}
    assert "::error::" not in printed.out + printed.err
