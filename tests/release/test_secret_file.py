"""The secret file: private, whole, and silent."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.release import read_secret, rotate_release, run_release_test
from assay.release.lot import salted_digest
from assay.release.secret_file import write_secret
from assay.release.secret_values import LoggedTest, SpentCopies

ENTRY = LoggedTest("2126-01-01", "m", "names of version 1", "gray", 0.5, placebo=False)


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
        (lambda c: {**c, "versions": [{**c["versions"][0], "number": 2}]}, "is damaged"),
        (lambda c: {**c, "versions": []}, "is damaged"),
        (lambda c: {**c, "versions": [{**c["versions"][0], "number": n + 1} for n in range(30)]}, "is damaged"),
        (damaged, "is damaged"),
        (lambda c: {k: v for k, v in c.items() if k != "tests"}, "is damaged"),
        (lambda c: {**c, "committed": {**c["committed"], "key": "zz"}}, "changed after the commitment"),
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


@pytest.fixture
def logged(secret):
    """A secret with a version, three tests and two tranches in its log."""
    for entry in (ENTRY, SpentCopies("2126-01-02", "server", 1), replace(ENTRY, day="2126-01-02")):
        secret = secret.logged(entry)
    return secret.logged(SpentCopies("2126-01-03", "server", 2)).logged(replace(ENTRY, day="2126-01-03"))


def test_the_log_of_one_secret_is_full(logged, secret, secret_path):
    assert secret.log_state.is_full
    assert logged.log_state.is_full
    assert logged.log_state.entries == 6
    assert logged.log_state.digest == logged.tests[-1].digest
    assert not logged.log_state.backward
    write_secret(secret_path, logged)
    assert read_secret(secret_path).log_state == logged.log_state


@pytest.mark.parametrize(
    "attack",
    [
        lambda s: replace(s, tests=s.tests[1:]),
        lambda s: replace(s, tests=s.tests[:-1]),
        lambda s: replace(s, tests=()),
        lambda s: replace(s, tests=(s.tests[0], s.tests[2])),
        lambda s: replace(s, tests=(s.tests[0], replace(s.tests[1], p_value=0.9), s.tests[2])),
        lambda s: replace(s, tests=(*s.tests[:2], replace(s.tests[2], day="2125-01-01"))),
        lambda s: replace(s, tests=(*s.tests[:2], replace(s.tests[2], placebo=True))),
        lambda s: replace(s, versions=(replace(s.versions[0], day="2020-01-01"),)),
        lambda s: replace(s, spent=s.spent[:1]),
        lambda s: replace(s, spent=()),
        lambda s: replace(s, spent=(replace(s.spent[0], server="other"), s.spent[1])),
        lambda s: replace(s, spent=(replace(s.spent[0], day="2125-01-01"), s.spent[1])),
        lambda s: replace(s, seal=""),
        lambda s: replace(s, tests=s.tests[:-1], seal=s.tests[-2].digest),
        lambda s: replace(s, tests=s.tests[:-1], seal=s.spent[-1].digest),
        lambda s: replace(s, tests=(), spent=(), seal=s.versions[0].digest),
    ],
)
def test_a_log_that_was_shortened_or_edited_is_never_full_again(attack, logged, secret_path):
    attacked = attack(logged)
    assert not attacked.log_state.is_full
    write_secret(secret_path, attacked)
    later = read_secret(secret_path).logged(ENTRY)
    assert not later.log_state.is_full
    assert not later.logged(ENTRY).log_state.is_full


def test_a_secret_of_the_first_version_is_read_and_its_log_sealed(secret, secret_path):
    digest = secret.commitment
    for number in range(2):
        test = {"day": "2126-01-01", "model": f"m{number}", "subject": "names of version 1", "settings": "gray"}
        test |= {"p_value": 0.5, "placebo": False, "digest": ""}
        text = digest + json.dumps(test, sort_keys=True, separators=(",", ":"))
        digest = salted_digest(secret.committed.key, text)
        secret = replace(secret, tests=(*secret.tests, LoggedTest(**{**test, "digest": digest})))
    write_secret(secret_path, secret)
    old = json.loads(secret_path.read_text())
    del old["seal"]
    for entry in (*old["versions"], *old["tests"]):
        del entry["place"]
    secret_path.write_text(json.dumps({**old, "version": 1}))
    renewed = read_secret(secret_path)
    assert renewed.log_state.is_full
    assert renewed.log_state.entries == 3
    write_secret(secret_path, renewed)
    assert read_secret(secret_path) == renewed
    del old["tests"][0]
    secret_path.write_text(json.dumps({**old, "version": 1}))
    assert not read_secret(secret_path).log_state.is_full


def test_a_clock_in_the_past_is_named(logged):
    later = logged.logged(replace(ENTRY, day="2026-01-01"))
    assert later.log_state.is_full
    assert later.log_state.backward == ("2126-01-03", "2026-01-01")


def test_a_hard_link_to_a_secret_is_refused(secret_path, tmp_path):
    os.link(secret_path, tmp_path / "second.json")
    for path in (secret_path, tmp_path / "second.json"):
        with pytest.raises(DataError, match=r"one file under 2 names \(hard links\), whose logs would part; expected"):
            read_secret(path)
    (tmp_path / "second.json").unlink()
    read_secret(secret_path)


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(DataError, match="is not a plain file, expected the secret file"):
            read_secret(path)


@pytest.mark.parametrize(
    "content",
    [None, b"", b'{"format": "assay release', b"{}", b'{"format": "assay release secret", "version": 9}'],
)
@pytest.mark.parametrize("use", [lambda path: run_release_test("none", path), lambda path: rotate_release(path, "out")])
def test_what_is_no_secret_is_refused_without_a_lock(content, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "secret.json"
    if content is not None:
        path.write_bytes(content)
    before = list(tmp_path.iterdir())
    with pytest.raises(DataError, match=r"expected the secret file|expected 2"):
        use(path)
    assert list(tmp_path.iterdir()) == before


def test_a_file_that_is_too_large_for_a_secret_is_refused_before_it_is_read(secret_path):
    os.truncate(secret_path, 10**11)
    with pytest.raises(DataError, match="100,000,000,000 bytes, expected 268,435,456 at most"):
        read_secret(secret_path)


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
