"""Training in several processes starts a command of this program once for each."""

import pytest

from assay.cli.app import command_line
from assay.errors import AssayError
from assay_lab.testbed import running


def test_the_command_of_each_process_exists():
    command = command_line()
    for word in running.TRAIN_COMMAND:
        command = command.commands[word]
    assert [argument.name for argument in command.params if argument.param_type_name == "argument"] == ["folder"]


@pytest.mark.slow
def test_a_training_that_ends_with_an_error_is_one_line(tmp_path, monkeypatch):
    """The folder is none of a run, so each process refuses it."""
    monkeypatch.setattr(running, "configuration_in", lambda _: running.Configuration())
    monkeypatch.setattr(running, "_cuda", lambda: False)
    with pytest.raises(AssayError, match="training in 1 processes ended with code"):
        running._launch(tmp_path, 1)
    assert not list(tmp_path.iterdir())
