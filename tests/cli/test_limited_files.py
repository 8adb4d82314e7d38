"""A file system that takes no more bytes: one line, exit code 2, and the file that was there stays whole."""

import json
import resource
import signal
import subprocess
import sys

import pytest

ROWS = "".join(json.dumps({"id": f"t{i}", "text": f"def f{i}(x):\n    return x + {i}\n"}) + "\n" for i in range(40))
COMMANDS = {
    "scores": (["score", "builtin:small", "d.jsonl", "--scores", "loss", "-o", "old", "--force"], "old"),
    "a table of frequencies": (["frequencies", "builtin:small", "d.jsonl", "-o", "old.npz", "--force"], "old.npz"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_file_that_cannot_grow_is_one_line_and_the_old_one_stays(tmp_path, environment, what):
    words, name = COMMANDS[what]
    (tmp_path / "d.jsonl").write_text(ROWS)
    (tmp_path / name).write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [sys.executable, "-P", "-m", "assay", *words]
    # a limited process would leave cut files of bytecode behind, which break whoever reads them
    settings = environment | {"ASSAY_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, env=settings, cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("assay: error: ")
    assert "Traceback" not in done.stderr
    assert (tmp_path / name).read_text() == "old"
    assert not [left for left in tmp_path.iterdir() if "unfinished" in left.name]
