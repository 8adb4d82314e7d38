"""The command `python -m builtin` as a person meets it."""

import sys

import pytest

from builtin.__main__ import main
from support.commands import Finished


@pytest.fixture
def builtin(tmp_path, monkeypatch, capsys):
    """Run `python -m builtin ARGUMENTS` in an empty folder, in this process."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "argv", ["builtin", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Finished(ended.value.code, printed.out, printed.err)

    return run
