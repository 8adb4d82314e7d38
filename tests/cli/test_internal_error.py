"""An error of assay itself ends with 70, never with 1, which says that a rule fired."""

import re
from pathlib import Path

import pytest

from assay.cli import app


def leaves(command, path=()):
    """Return the words and the command of every command without subcommands."""
    children = getattr(command, "commands", {})
    if not children:
        return [(path, command)]
    return [leaf for name, child in children.items() for leaf in leaves(child, (*path, name))]


COMMANDS = [path for path, _ in leaves(app.command_line())]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_fault_in_a_command_is_one_line_with_the_place_of_its_traceback(words, assay, tmp_path, monkeypatch):
    def fail(**_):
        raise RuntimeError("a dependency\nfailed")

    command = dict(leaves(app.command_line()))[words]
    monkeypatch.setattr(command, "callback", fail)
    monkeypatch.setattr(command, "params", [])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = assay(*words)
    assert (done.code, done.out) == (70, "")
    (written,) = re.findall(
        r"^assay: error: this is a fault of assay, not of the input: RuntimeError: a dependency failed; "
        r"the traceback is in (.+)\n\Z",
        done.err,
    )
    assert "in fail" in Path(written).read_text("utf-8")
