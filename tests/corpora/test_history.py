"""Dates from git: of files and of their lines."""

import subprocess
from datetime import date

import pytest

from assay.corpora.commits import Age, GitHistory
from assay.corpora.dated import dated_files
from assay.corpora.open import project_named
from assay.errors import DataError
from support.dated_repository import DatedRepository

LONG = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(8))


@pytest.fixture
def repository(tmp_path):
    return DatedRepository(tmp_path / "project")


def day(text):
    return date.fromisoformat(text)


def test_a_file_has_the_days_of_its_first_and_its_last_commit(repository):
    repository.commit("2019-05-01", {"a.py": LONG})
    repository.commit("2021-06-02", {"a.py": LONG + "x = 1\n", "b.py": "y = 2\n"})
    files = GitHistory(repository.path).files
    assert files["a.py"] == Age(day("2019-05-01"), day("2021-06-02"))
    assert files["b.py"] == Age(day("2021-06-02"), day("2021-06-02"))


def test_author_and_committer_may_name_two_days(repository):
    """A commit written in 2019 and rebased in 2024 may have been public since 2019."""
    repository.commit("2019-05-01", {"a.py": LONG}, committer="2024-01-01")
    assert GitHistory(repository.path).files["a.py"] == Age(day("2019-05-01"), day("2024-01-01"))


def test_a_renamed_file_is_as_old_as_under_its_first_name(repository):
    repository.commit("2019-05-01", {"a.py": LONG})
    repository.commit("2024-01-01", {"a.py": None, "src/ä b.py": LONG})
    assert GitHistory(repository.path).files["src/ä b.py"].first == day("2019-05-01")


def test_a_file_that_comes_back_is_as_old_as_at_first(repository):
    repository.commit("2019-05-01", {"a.py": LONG, "b.py": "b = 1\n"})
    repository.commit("2020-05-01", {"a.py": None})
    repository.commit("2024-01-01", {"a.py": LONG})
    assert GitHistory(repository.path).files["a.py"].first == day("2019-05-01")


def test_each_line_has_the_day_of_the_commit_that_changed_it_last(repository):
    repository.commit("2019-05-01", {"a.py": "a = 1\nb = 2\n"})
    repository.commit("2021-06-02", {"a.py": "a = 1\nb = 3\nc = 4\n"})
    repository.commit("2023-06-02", {"a.py": "if a:\n    a = 1\nb = 3\nc = 4\n"})  # spaces do not count
    history = GitHistory(repository.path)
    assert [age.first.year for age in history.lines("a.py")] == [2023, 2019, 2021, 2021]
    (file,) = dated_files([str(repository.path)])
    assert file.age_of_lines(2, 3) == Age(day("2019-05-01"), day("2021-06-02"))


def test_a_shallow_clone_is_refused(repository, tmp_path):
    repository.commit("2019-05-01", {"a.py": LONG})
    repository.commit("2021-06-02", {"a.py": LONG + "x = 1\n"})
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repository.path}", shallow], check=True)
    with pytest.raises(DataError, match=r"a shallow clone, whose history is cut.*git fetch --unshallow"):
        GitHistory(shallow)


def test_no_setting_of_the_repository_starts_a_program(repository, tmp_path):
    repository.commit("2019-05-01", {"a.py": LONG, ".gitattributes": "*.py diff=evil\n"})
    mark = tmp_path / "mark"
    for name, value in {
        "diff.evil.textconv": f": > {mark}; cat",
        "diff.external": f": > {mark}",
        "core.fsmonitor": f": > {mark}",
        "blame.ignoreRevsFile": "missing",
    }.items():
        repository.git("config", name, value)
    history = GitHistory(repository.path)
    assert history.files["a.py"].first == day("2019-05-01")
    assert len(history.lines("a.py")) == LONG.count("\n")
    assert not mark.exists()


def test_what_has_no_history_needs_a_day_of_release(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text(LONG)
    corpus = str(tmp_path / "package")
    with pytest.raises(DataError, match=r"not a git repository.*or --released YYYY-MM-DD"):
        list(dated_files([corpus]))
    (file,) = dated_files([corpus], day("2025-03-01"))
    assert (file.age, file.repository) == (Age(day("2025-03-01"), day("2025-03-01")), "package")
    assert file.age_of_lines(1, 2) == file.age


def test_a_repository_without_a_commit_is_refused(repository):
    with pytest.raises(DataError, match="a git repository without a commit"):
        list(dated_files([str(repository.path)]))


@pytest.mark.parametrize(
    ("corpus", "project"),
    [
        ("/a/requests-2.31.0-py3-none-any.whl", "requests"),
        ("/a/my_package-0.1.0.tar.gz", "my_package"),
        ("/a/python-dateutil-2.9.0.post0.tar.gz", "python-dateutil"),
        ("/a/project", "project"),
        ("/a/node-18", "node"),
        ("/a/main.zip", "main"),
    ],
)
def test_an_archive_belongs_to_the_project_that_its_name_states(corpus, project):
    assert project_named(corpus) == project
