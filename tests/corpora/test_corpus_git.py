"""A repository gives what it has committed, under the commit and author that brought it, and fetches nothing."""

import os
import subprocess
from datetime import date

import pytest

from assay.corpora.commits import patches_before
from assay.corpora.entry import Entry, Skipped
from assay.corpora.git import GitRepository, changed_files, is_repository
from assay.errors import DataError


@pytest.fixture
def repository(tmp_path):
    """A function that commits files as an author; deletes those whose text is None."""
    root = tmp_path / "repository"
    root.mkdir()

    def git(*arguments, **environment):
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false", *arguments],
            cwd=root,
            env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(author, **files):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text)
        who = {
            f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in author_of(author).items()
        }
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", "change", **who)
        return git("rev-parse", "HEAD")

    git("init", "-q")
    commit.git, commit.root = git, root
    return commit


def author_of(name):
    return {"NAME": name, "EMAIL": f"{name}@example.org", "DATE": "2020-01-01T00:00:00Z"}


def entries(repository, **options):
    return [file for file in GitRepository(repository.root, "r", **options).files() if isinstance(file, Entry)]


def test_each_file_at_head_stands_under_the_last_commit_that_touched_it(repository):
    first = repository("Ann", **{"a.py": "a = 1\n", "d/b.py": "b = 1\n"})
    repository("Nobody")
    second = repository("Bob", **{"d/b.py": "b = 2\n"})
    found = {entry.path: entry for entry in entries(repository)}
    assert {path: (entry.facts.author, entry.facts.commit) for path, entry in found.items()} == {
        "a.py": ("Ann", first),
        "d/b.py": ("Bob", second),
    }
    assert found["d/b.py"].content.read(100) == b"b = 2\n"
    assert found["d/b.py"].content.read(1) == b"b"
    assert found["a.py"].content.read(100) == b"a = 1\n"
    assert found["d/b.py"].size == 6


def test_what_is_not_committed_is_not_there(repository):
    repository("Ann", **{"a.py": "a = 1\n"})
    (repository.root / "a.py").write_text("changed\n")
    (repository.root / "new.py").write_text("new\n")
    assert [entry.content.read(100) for entry in entries(repository)] == [b"a = 1\n"]


def test_all_history_gives_every_version_once_under_the_commit_that_brought_it(repository):
    first = repository("Ann", **{"a.py": "a = 1\n"})
    second = repository("Bob", **{"a.py": "a = 2\n"})
    repository("Cid", **{"a.py": None})
    fourth = repository("Dan", **{"a.py": "a = 1\n", "b.py": "b\n"})
    found = entries(repository, all_history=True)
    assert [(entry.path, entry.content.read(9), entry.facts.commit) for entry in found] == [
        ("a.py", b"a = 1\n", first),
        ("a.py", b"a = 2\n", second),
        ("b.py", b"b\n", fourth),
    ]
    assert len({entry.key for entry in found}) == 3


def test_all_history_reads_every_branch_and_what_a_merge_itself_brought(repository):
    repository("Ann", **{"a.py": "a = 1\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository("Bob", **{"a.py": "a = 2\n"})
    repository.git("checkout", "-q", "main")
    repository("Cid", **{"a.py": "a = 3\n"})
    subprocess.run(["git", "merge", "-q", "side"], cwd=repository.root, capture_output=True, check=False)
    merge = repository("Dan", **{"a.py": "a = 4\n"})
    found = {entry.content.read(9): entry.facts for entry in entries(repository, all_history=True)}
    assert {text: facts.author for text, facts in found.items()} == {
        b"a = 1\n": "Ann", b"a = 2\n": "Bob", b"a = 3\n": "Cid", b"a = 4\n": "Dan",
    }  # fmt: skip
    assert entries(repository)[0].facts.commit == merge


def test_names_that_git_would_quote_come_as_they_are(repository):
    names = ["ä b.py", 'quo"te.py', "line\nend.py", "tab\t.py", ":colon.py"]
    repository("Ann", **dict.fromkeys(names, "x = 1\n"))
    for history in (False, True):
        found = entries(repository, all_history=history)
        assert {entry.path for entry in found} == set(names)
        assert {entry.facts.author for entry in found} == {"Ann"}


def test_links_and_submodules_are_counted(repository):
    repository("Ann", **{"a.py": "x"})
    (repository.root / "link.py").symlink_to("a.py")
    repository("Ann")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repository.git(
        "commit",
        "-q",
        "-m",
        "sub",
        **{f"GIT_{r}_{k}": v for r in ("AUTHOR", "COMMITTER") for k, v in author_of("Ann").items()},
    )
    found = list(GitRepository(repository.root, "r").files())
    assert {entry.path: entry.reason for entry in found if isinstance(entry, Skipped)} == {
        "link.py": "link to a judged file",
        "sub": "submodule",
    }


def test_the_licence_is_that_of_the_commit(repository):
    repository("Ann", **{"a.py": "x", "pyproject.toml": '[project]\nlicense = "MIT"\n'})
    (repository.root / "pyproject.toml").write_text('[project]\nlicense = "0BSD"\n')
    assert {entry.facts.nearest for entry in entries(repository)} == {"MIT"}


@pytest.mark.parametrize(
    ("remote", "repository_name", "url"),
    [
        ("https://user:secret@github.com/o/r.git", "o/r", "https://github.com/o/r/blob/{}/a.py"),
        ("git@gitlab.com:group/sub/r.git", "group/sub/r", "https://gitlab.com/group/sub/r/-/blob/{}/a.py"),
        ("ssh://git@example.org:22/o/r", "example.org/o/r", "https://example.org/o/r"),
        ("/somewhere/local", None, None),
    ],
)
def test_the_address_is_that_of_the_remote_without_its_password(repository, remote, repository_name, url):
    commit = repository("Ann", **{"a.py": "x"})
    repository.git("remote", "add", "origin", remote)
    (entry,) = entries(repository)
    assert entry.facts.repository == repository_name
    assert entry.facts.url == (url and url.format(commit))


def test_a_new_commit_changes_the_stamp(repository):
    repository("Ann", **{"a.py": "x"})
    before = GitRepository(repository.root, "r").stamp
    repository("Ann", **{"a.py": "y"})
    assert GitRepository(repository.root, "r").stamp != before


def test_a_bare_repository_is_one(repository, tmp_path):
    repository("Ann", **{"a.py": "x"})
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    assert is_repository(tmp_path / "bare")
    assert [file.path for file in GitRepository(tmp_path / "bare", "b").files()] == ["a.py"]


def test_no_commit_no_repository_no_git_are_one_line_each(repository, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="without a commit"):
        list(GitRepository(repository.root, "r").files())
    (tmp_path / "plain" / ".git").mkdir(parents=True)
    with pytest.raises(DataError, match="git cannot read it: not a git repository"):
        list(GitRepository(tmp_path / "plain", "r").files())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="git is not installed"):
        list(GitRepository(repository.root, "r").files())


def test_a_missing_object_cannot_be_read(repository):
    repository("Ann", **{"a.py": "x"})
    (entry,) = entries(repository)
    digest = entry.content.digest
    (repository.root / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    with pytest.raises(OSError, match="missing"):
        entry.content.read(10)


def test_settings_of_the_repository_start_no_program(repository, tmp_path):
    repository("Ann", **{"a.py": "x", ".gitattributes": "*.py diff=evil\n"})
    trap = tmp_path / "ran"
    for name in (
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "diff.external",
    ):
        repository.git("config", name, f": > {trap}")
    repository.git("config", "log.showSignature", "true")
    for history in (False, True):
        for entry in entries(repository, all_history=history):
            entry.content.read(10)
    assert not trap.exists()


def missing_of(clone):
    """The objects that a clone lacks."""
    listed = subprocess.run(
        ["git", "rev-list", "--objects", "--missing=print", "--all"],
        cwd=clone,
        env=os.environ | {"GIT_NO_LAZY_FETCH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line[1:] for line in listed.stdout.splitlines() if line.startswith("?")}


@pytest.fixture
def partial_clone(repository, tmp_path):
    """A function that clones without blobs: the origin is at hand, and the configuration allows to fetch from it."""
    repository("Ann", **{"a.py": "a = 1\n", "LICENSE": "MIT License\n", ".mailmap": "Ann A <Ann@example.org>\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository("Bob", **{"a.py": "a = 2\n"})
    repository.git("checkout", "-q", "-")
    repository("Cid", **{"a.py": "a = 3\n"})
    subprocess.run(["git", "merge", "-q", "side"], cwd=repository.root, capture_output=True, check=False)
    repository("Dan", **{"a.py": "a = 4\n"})
    repository.git("config", "uploadpack.allowFilter", "true")

    def clone(name, *options):
        origin = f"file://{repository.root}"
        repository.git("clone", "-q", "--filter=blob:none", *options, origin, str(tmp_path / name))
        repository.git("-C", str(tmp_path / name), "config", "protocol.file.allow", "always")
        return tmp_path / name

    return clone


@pytest.mark.parametrize("all_history", [False, True])
@pytest.mark.parametrize("options", [["--no-checkout"], ["--bare"]])
def test_files_that_a_partial_clone_lacks_are_counted_and_not_fetched(partial_clone, options, all_history):
    clone = partial_clone("clone", *options)
    before = missing_of(clone)
    found = list(GitRepository(clone, "r", all_history).files())
    assert found == [Skipped(entry.path, "missing from the repository") for entry in found]
    assert {entry.path for entry in found} == {"a.py", "LICENSE", ".mailmap"}
    assert len(before) == 6
    assert missing_of(clone) == before


def test_the_files_that_a_partial_clone_has_are_read(partial_clone, repository):
    clone = partial_clone("clone")  # git fetches what it checks out
    (clone / "b.py").write_text("b = 1\n")
    repository.git("-C", str(clone), "add", "b.py")
    repository.git("-C", str(clone), "-c", "user.name=Eve", "-c", "user.email=e", "commit", "-q", "-m", "more")
    found = {file.path: file.content.read(100) for file in GitRepository(clone, "r").files() if isinstance(file, Entry)}
    assert (found["a.py"], found["b.py"]) == (b"a = 4\n", b"b = 1\n")
    history = [file for file in GitRepository(clone, "r", all_history=True).files() if isinstance(file, Skipped)]
    assert [(entry.path, entry.reason) for entry in history] == [("a.py", "missing from the repository")] * 3


def test_a_partial_clone_is_looked_at_again_because_its_missing_files_may_have_arrived(partial_clone, repository):
    assert GitRepository(partial_clone("clone", "--no-checkout"), "r").stamp is None
    assert GitRepository(repository.root, "r").stamp


def test_a_blob_that_was_lost_is_counted(repository):
    repository("Ann", **{"a.py": "x", "b.py": "y"})
    digest = repository.git("rev-parse", "HEAD:a.py")
    (repository.root / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    for history in (False, True):
        found = list(GitRepository(repository.root, "r", history).files())
        assert [entry for entry in found if isinstance(entry, Skipped)] == [
            Skipped("a.py", "missing from the repository")
        ]
        assert [entry.path for entry in found if isinstance(entry, Entry)] == ["b.py"]


def test_a_shallow_clone_names_no_author_of_what_it_cannot_date_and_has_no_whole_history(repository, tmp_path):
    """The commit at which a clone is cut seems to have written every file; its author need not have written one."""
    repository("Ann", **{"a.py": "a = 1\n"})
    repository("Bob", **{"b.py": "b = 1\n"})
    repository("Eve", **{"c.py": "c = 1\n"})
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth", "2", f"file://{repository.root}", str(clone))
    found = [file for file in GitRepository(clone, "r").files() if isinstance(file, Entry)]
    assert {entry.path: entry.facts.author for entry in found} == {"a.py": None, "b.py": None, "c.py": "Eve"}
    cut, last = repository.git("rev-list", "--max-count=2", "HEAD").split()[::-1]
    assert changed_files(clone, [last, cut]) == {last: ["c.py"]}
    with pytest.raises(DataError, match=r"a shallow clone, .*git fetch --unshallow"):
        list(GitRepository(clone, "r", all_history=True).files())
    with pytest.raises(DataError, match=r"a shallow clone"):
        list(patches_before(clone, date(2030, 1, 1)))
