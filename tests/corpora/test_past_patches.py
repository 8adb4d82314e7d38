"""Commits before a day, with the files as they leave them."""

from datetime import date

import pytest

from assay.corpora import patches_before
from assay.errors import DataError
from support.dated_repository import DatedRepository


@pytest.fixture
def repository(tmp_path):
    own = DatedRepository(tmp_path / "project")
    own.commit("2015-02-03", {"a.py": "x = 1\n"})
    own.commit("2016-02-03", {"a.py": "x = 1\ny = 2\n", "b.py": "z = 3\n"})
    own.commit("2018-02-03", {"a.py": "x = 0\ny = 2\n", "b.py": None})
    own.commit("2016-05-06", {"a.py": "rebased\n"}, committer="2024-05-06")
    return own.path


def test_the_day_of_the_committer_counts(repository):
    past = list(patches_before(repository, date(2020, 1, 1)))
    assert len(past) == 3
    assert not any("rebased" in patch.patch for patch in past)
    (later,) = patches_before(repository, date(2020, 1, 1), after=date(2017, 1, 1))
    assert "+x = 0" in later.patch
    assert len(list(patches_before(repository, date(2020, 1, 1), most=2))) == 2


def test_a_file_is_as_the_commit_leaves_it(repository):
    (past,) = patches_before(repository, date(2017, 1, 1), after=date(2016, 1, 1))
    assert past.file("a.py") == "x = 1\ny = 2\n"
    assert past.file("b.py") == "z = 3\n"
    assert past.file("absent.py") is None


def test_without_older_commits_the_day_is_refused(repository, tmp_path):
    with pytest.raises(DataError, match="no commit before 2010-01-01"):
        list(patches_before(repository, date(2010, 1, 1)))
    with pytest.raises(DataError, match="not a git repository"):
        list(patches_before(tmp_path, date(2020, 1, 1)))
