"""A path that leads nowhere: an empty text (for Python the current folder), a removed folder, and a named pipe."""

import os

import pytest
import typer

from assay.cli.app import command_line
from assay.cli.common import leaves_by_words

COMMANDS = dict(leaves_by_words(command_line()))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_argument_and_no_option_takes_an_empty_text(command):
    leaf = COMMANDS[command]
    for parameter in leaf.params:
        if getattr(parameter, "is_flag", False) or not parameter.expose_value or parameter.default == "":
            continue
        empty = ["a", ""] if parameter.nargs != 1 or parameter.multiple else ""
        with pytest.raises(typer.BadParameter, match="received an empty text"):
            parameter.process_value(typer.Context(leaf), empty)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_argument_and_no_option_waits_for_a_named_pipe(command, tmp_path):
    leaf, pipe = COMMANDS[command], str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for parameter in leaf.params:
        if getattr(parameter, "is_flag", False) or not parameter.expose_value:
            continue
        with pytest.raises(typer.BadParameter, match="received the named pipe"):
            parameter.process_value(typer.Context(leaf), ["a", pipe] if parameter.nargs != 1 else pipe)


def test_a_pipe_of_the_shell_is_read(assay):
    reader, writer = os.pipe()
    os.write(writer, b"x = 1\n")
    os.close(writer)
    assert assay("detect", f"/dev/fd/{reader}", "--language", "python").code == 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["pairs", ""], "FOLDER|ZIP|FILE"),
        (["index", "build", "", "--index", "i"], "CORPUS"),
        (["scan", "a.jsonl", "", "--for", "humaneval"], "CORPUS"),
        (["trace", "a.py", "--index", ""], "--index"),
        (["detect", "a.py", "-o", ""], "--output"),
        (["annotate", "a.json", "--tasks="], "--tasks"),
    ],
)
def test_the_line_names_the_parameter(assay, arguments, name):
    done = assay(*arguments)
    assert (done.code, done.err) == (2, f"assay: error: {name}: received an empty text, expected a value\n")


def test_an_empty_path_in_a_file_is_refused_too(assay, tmp_path):
    (tmp_path / "own.toml").write_text('[trace]\nindex = ""\n')
    done = assay("trace", "a.py", "--config", "own.toml", "-q")
    assert (done.code, done.err) == (2, "assay: error: --index: received an empty text, expected a value\n")


@pytest.mark.parametrize("command", ["check", "pairs .", "config allow", "scan a --for b", "report x"])
def test_a_working_folder_that_was_removed_is_one_line(capsys, monkeypatch, tmp_path, command):
    from assay.cli.app import main

    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr("sys.argv", ["assay", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    expected = "assay: error: the current folder: No such file or directory, expected one that exists\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, expected)
