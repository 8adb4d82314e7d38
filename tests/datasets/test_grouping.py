"""Groups of samples whose table names none."""

import pytest

from assay.datasets.columns import inferred_groups, leading_parts
from assay.datasets.loading import read_dataset


def rows(**columns: list[object]) -> list[dict[str, object]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def groups_of(ids: str | None = None, **columns: list[object]) -> tuple[str, list[str | None]] | None:
    return inferred_groups(rows(**columns), tuple(columns), ids)


def test_a_column_of_repositories_gives_the_groups():
    assert groups_of(Repo=["a", "a", "b", None], path=["x", "y", "z", "z"]) == ("Repo", ["a", "a", "b", None])


@pytest.mark.parametrize("repositories", [["a", "a", "a"], ["a", "b", "c"]], ids=["all the same", "all different"])
def test_a_column_that_groups_nothing_is_not_taken(repositories: list[object]):
    assert groups_of(repo=repositories) is None


def test_paths_are_cut_where_they_give_enough_groups():
    paths = [f"src/package{i % 12}/module{i}.py" for i in range(36)]
    assert leading_parts(paths) == [f"src/package{i % 12}" for i in range(36)]


def test_paths_of_few_directories_group_by_file():
    paths = ["a/x.py", "a/x.py", "b/y.py"]
    assert groups_of(path=paths) == ("path", paths)


def test_ids_that_are_names_of_code_files_are_paths():
    ids = [f"package{i % 11}/module{i}.py" for i in range(22)]
    assert groups_of("id", id=ids, text=ids) == ("id", [f"package{i % 11}" for i in range(22)])
    assert groups_of("id", id=[f"HumanEval/{i}" for i in range(22)]) is None


def test_a_table_without_a_group_column_is_grouped_and_says_so(tmp_path):
    lines = "".join(f'{{"text": "def f{i}(): pass", "repo": "r{i % 3}"}}\n' for i in range(9))
    (tmp_path / "table.jsonl").write_text(lines)
    dataset = read_dataset(tmp_path / "table.jsonl")
    assert [sample.group for sample in dataset.samples] == [f"r{i % 3}" for i in range(9)]
    assert any("taken from the column 'repo' (3 groups)" in note for note in dataset.notes)
