"""A command line that is run in this process, and its end."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from assay.cli.app import main


@dataclass
class Finished:
    code: int
    out: str
    err: str


def run_assay(*arguments) -> Finished:
    """Run `assay ARGUMENTS` with all its options, in the current folder."""
    written, reported = io.BytesIO(), io.BytesIO()
    out, err = io.TextIOWrapper(written, "utf-8"), io.TextIOWrapper(reported, "utf-8")
    with patch.object(sys, "argv", ["assay", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    out.flush()
    err.flush()
    return Finished(code, written.getvalue().decode(), reported.getvalue().decode())
