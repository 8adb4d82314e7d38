"""What macOS and Windows lack, taken away here: what is promised there is imported, and used, without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

WITHOUT = {
    "macOS": "import resource\ndel resource.prlimit\n",
    "Windows": """
import os, signal
for module in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[module] = None
for name in ("fork", "forkpty", "getuid", "geteuid", "getgid", "O_NOFOLLOW", "killpg", "register_at_fork"):
    vars(os).pop(name, None)
for name in ("SIGXCPU", "SIGKILL", "SIGALRM", "SIGHUP", "alarm", "setitimer"):
    vars(signal).pop(name, None)
""",
}
USED = """
import assay.api, assay.annotation, assay.authorship, assay.checking, assay.code, assay.leakage, assay.models
import assay.code.sandbox.execution, assay.release, assay.service.app, assay.service.connections
from assay.service.connections import Connections
assert Connections().most >= 64
from assay.cli.app import main
for command in (
    "index build corpus --index i --jobs 1", "trace corpus/a.py --index i --min-confidence 0", "config trace",
):
    sys.argv = ["assay", *command.split()]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", WITHOUT)
def test_what_is_promised_elsewhere_needs_nothing_of_linux(tmp_path, system):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("def total(prices):\n    return sum(price * 2 for price in prices)\n")
    (tmp_path / "assay.toml").write_text('format = "table"\n')
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "ASSAY_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{WITHOUT[system]}{USED}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "a.py" in done.stdout
