"""`assay unseen build` as a person meets it."""

import json

import pytest

from support.dated_repository import DatedRepository

TEXT = '''def total_weight(baskets, empty=0):
    """Return the weight of all baskets together, without what the empty baskets weigh."""
    return sum(basket.weight for basket in baskets) - empty * len(baskets)
'''


@pytest.fixture
def repository(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2025-06-01", {"a.py": TEXT})
    return repository.path


def test_it_writes_a_file_and_says_what_is_in_it(assay, repository, tmp_path):
    done = assay("unseen", "build", repository, "--after", "2025-02-01", "-o", "new.jsonl")
    assert done.code == 0, done.err
    assert "1 text of 1 repository, not before 2025-02-01, is in new.jsonl." in done.out
    assert "Give more" in done.out
    (row,) = map(json.loads, (tmp_path / "new.jsonl").read_text().splitlines())
    assert (row["text"], row["group"], row["date"]) == (TEXT, "project", "2025-06-01")


def test_a_dash_is_standard_output(assay, repository, tmp_path):
    done = assay("unseen", "build", repository, "-o", "-")
    assert json.loads(done.out)["text"] == TEXT
    assert "1 text of 1 repository" in done.err
    assert "9 are missing" in done.err
    assert assay("unseen", "build", repository, "-o", "-", "-q").err == ""
    assert not (tmp_path / "-").exists()


def test_texts_go_to_standard_output_and_a_summary_in_json_to_standard_error(assay, repository):
    done = assay("unseen", "build", repository, "-o", "-", "--json")
    assert json.loads(done.out)["text"] == TEXT
    assert json.loads(done.err)["texts"] == 1


def test_the_summary_is_json_on_request(assay, repository):
    done = assay("unseen", "build", repository, "-o", "new.jsonl", "--json")
    assert json.loads(done.out)["texts"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--after", "someday"), "after 'someday': expected a day as YYYY-MM-DD"),
        (("--after", "9999-01-01"), "after 9999-01-01: expected a day that is not in the future"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(assay, repository, arguments, message):
    done = assay("unseen", "build", repository, *arguments, "-o", "new.jsonl")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_folder_without_a_history_needs_a_day(assay, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.py").write_text(TEXT)
    done = assay("unseen", "build", "folder", "-o", "new.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--released YYYY-MM-DD" in done.err


def test_a_package_is_downloaded_on_request_alone(assay, tmp_path):
    done = assay("unseen", "build", "numpy==2.1", "-o", "new.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "numpy==2.1: no such file or folder; packages are downloaded with --download only" in done.err


def test_reading_stops_at_the_number_of_projects_that_is_asked_for(assay, tmp_path):
    for name in ("first", "second"):
        DatedRepository(tmp_path / name).commit("2025-06-01", {"a.py": TEXT.replace("total", name)})
    done = assay("unseen", "build", "first", "second", "--groups", "1", "-o", "new.jsonl")
    assert "1 text of 1 repository" in done.out
    assert "corpora not read: there were enough projects" in done.out
