"""The secret file: private, whole, and silent."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.release import read_secret
from assay.release.secret_file import LoggedTest, write_secret

ENTRY = LoggedTest("2026-01-01", "m", "names of version 1", "gray", 0.5, placebo=False)


def test_the_file_comes_back_as_it_was_with_mode_600(secret, secret_path):
    assert secret_path.stat().st_mode & 0o777 == 0o600
    write_secret(secret_path, secret)
    assert read_secret(secret_path) == secret
    assert secret_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_secret_that_others_can_read_is_refused(secret_path, mode):
    secret_path.chmod(mode)
    with pytest.raises(DataError, match=r"can be read by others .* chmod 600"):
        read_secret(secret_path)


def damaged(content: dict) -> dict:
    content["committed"]["tasks"][0]["copies"] = 7
    return content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: [], "received other JSON"),
        (lambda c: {**c, "format": "x"}, "received other JSON"),
        (lambda c: {**c, "version": 9}, "has version 9"),
        (lambda c: {**c, "versions": [{**c["versions"][0], "number": 2}]}, "versions are damaged"),
        (lambda c: {**c, "versions": [{**c["versions"][0], "number": n + 1} for n in range(30)]}, "versions are"),
        (damaged, "is damaged"),
        (lambda c: {k: v for k, v in c.items() if k != "tests"}, "is damaged"),
        (lambda c: {**c, "committed": {**c["committed"], "key": "zz"}}, "is damaged"),
        (lambda c: {**c, "committed": {**c["committed"], "first": 3}}, "changed after the commitment"),
    ],
)
def test_a_wrong_file_is_one_line_without_its_content(secret_path, change, words):
    content = json.loads(secret_path.read_text())
    key = content["committed"]["key"]
    secret_path.write_text(json.dumps(change(content)))
    with pytest.raises(DataError, match=words) as raised:
        read_secret(secret_path)
    assert "\n" not in str(raised.value)
    assert key not in str(raised.value)
    # neither may a traceback show it: there is no chained error with the content
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_missing_or_binary_file_is_one_line(tmp_path):
    with pytest.raises(DataError, match="expected the secret file"):
        read_secret(tmp_path / "none.json")
    path = tmp_path / "half.json"
    path.write_bytes(b'{"format": "assay rel')
    path.chmod(0o600)
    with pytest.raises(DataError, match="not a JSON file"):
        read_secret(path)


def test_its_text_for_people_has_nothing_secret(secret):
    text = repr(secret) + str(secret) + repr(secret.committed) + repr(secret.committed.tasks[0])
    assert secret.committed.key not in text
    assert secret.committed.tasks[0].words[0][0] not in text


def test_the_log_is_a_chain(secret):
    logged = secret
    for _ in range(3):
        logged = replace(logged, tests=(*logged.tests, logged.chained(ENTRY)))
    assert logged.full_log
    assert not replace(logged, tests=logged.tests[1:]).full_log
    assert not replace(logged, tests=(logged.tests[0], logged.tests[2])).full_log
    changed = replace(logged.tests[1], p_value=0.9)
    assert not replace(logged, tests=(logged.tests[0], changed, logged.tests[2])).full_log


def test_a_killed_writer_leaves_the_old_file(secret_path):
    before = secret_path.read_bytes()
    program = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from assay.release.secret_file import read_secret, write_secret\n"
        "path = Path(sys.argv[1])\nsecret = read_secret(path)\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nwrite_secret(path, secret)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program, str(secret_path)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert secret_path.read_bytes() == before
    # what is left of the attempt can be read by nobody else
    assert all(path.stat().st_mode & 0o077 == 0 for path in secret_path.parent.glob(".*unfinished"))


def test_a_full_disk_is_one_line(secret, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_secret(tmp_path / "missing" / "secret.json", secret)


def test_versions_and_twins_never_share_a_copy(secret):
    later = replace(secret, versions=tuple(replace(secret.versions[0], number=n, beacon=str(n)) for n in (1, 2, 3)))
    for task in later.committed.tasks:
        copies = [later.twin(task.cluster), *(later.lot(task.cluster, number) for number in (1, 2, 3))]
        assert len(set(copies)) == 4
        for number in (1, 2, 3):
            members = later.set_of(task, number)
            assert later.lot(task.cluster, number) in members
            assert len(members) == later.committed.first - 3
            assert not set(members) & ({*copies} - {later.lot(task.cluster, number)})
