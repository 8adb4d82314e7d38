"""`assay lab build-authorship` as a person meets it."""

import json

import pytest

from assay.models import builtin_folder
from support.dated_repository import DatedRepository
from support.openai_server import answer, served

LOCAL = builtin_folder("small")
"""A folder is any local model."""

CODE = """# SPDX-License-Identifier: MIT
def total_weight(baskets, empty=0):
    total = 0
    for basket in baskets:
        if basket.weight > empty:
            total += basket.weight - empty
    return total, len(baskets), [basket.name for basket in baskets]
"""


@pytest.fixture
def repository(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2019-06-01", {"a.py": CODE})
    return repository.path


def test_it_writes_the_data_sets_and_prints_table_1(assay, repository, tmp_path):
    with served(lambda *_: answer(CODE.replace("basket", "item"))) as (_, url):
        done = assay(
            "lab",
            "build-authorship",
            repository,
            "--generator",
            f"m=openai-chat:m@{url}",
            "--model-option",
            "price=3",
            "-o",
            "data",
        )
    assert done.code == 0, done.err
    assert "1 text of people and 0 rewritings by 1 generator, in data." in done.out
    assert "too similar to the original" in done.out
    assert "m: at most about 1 requests" in done.err
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text())
    assert manifest["settings"]["collection"]["period"]["before"] == "2020-01-01"
    assert manifest["table_1"]["binary"]["languages"] == {"python": [1, 0]}
    other = assay(
        "lab", "build-authorship", repository, "--generator", f"m=openai-chat:m@{url}", "--tokens", "9-99", "-o", "data"
    )
    assert (other.code, "other settings (collection)" in other.err, "--force" in other.err) == (2, True, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--generator is missing"),
        (("--generator", "m=builtin:small", "--tokens", "many"), "expected FEWEST-MOST, as 50-950"),
        (("--generator", "m=builtin:small", "--before", "someday"), "expected a day as YYYY-MM-DD"),
        (("--generator", "m=builtin:small", "--after", "2021-01-01"), "no day is both"),
        (("--generator", "m=builtin:small", "--language", "perl"), "language 'perl'"),
        (("--generator", "m=builtin:small", "--allow-licence", "GPL"), "licence 'GPL'"),
        (("--generator", "m=builtin:small", "--generator", "m=builtin:small"), "two generators with the name 'm'"),
        (("--generator", "m=builtin:smal"), "no built-in model 'smal'"),
        (("--generator", "m=builtin:small"), "only continues text and follows no instructions: expected openai-chat:"),
        (("--generator", "human=builtin:small"), "the label of people"),
        (("--generator", "m=builtin:small", "--model-option", "cache=false"), "always kept in the folder"),
        (("--generator", f"m={LOCAL}", "--before", "2001-01-01"), "no text of a person is left"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(assay, repository, tmp_path, arguments, message):
    done = assay("lab", "build-authorship", repository, *arguments, "-o", "data")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_folder_of_other_files_is_left_alone(assay, repository, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x")
    done = assay("lab", "build-authorship", repository, "--generator", LOCAL, "-o", "thesis")
    assert (done.code, "holds other files" in done.err) == (2, True)
