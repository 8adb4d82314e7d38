"""The command `assay lab builtin` as a person meets it."""

import sys

import pytest

from assay.cli.app import main
from support.commands import Finished


@pytest.fixture
def builtin(tmp_path, monkeypatch, capsys):
    """Run `assay lab builtin ARGUMENTS` in an empty folder, in this process."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "argv", ["assay", "lab", "builtin", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Finished(ended.value.code, printed.out, printed.err)

    return run
