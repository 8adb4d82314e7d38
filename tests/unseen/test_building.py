"""Unseen text from repositories and archives, end to end."""

import json
import zipfile
from collections import Counter
from datetime import date
from random import Random

import pytest

import assay
from assay.errors import DataError
from assay.reports import describe
from support.dated_repository import DatedRepository

WORDS = [
    "alpha", "bravo", "carol", "delta", "eagle", "fancy", "globe", "hotel", "india", "joker", "koala", "lemon", "mango",
    "noble", "ocean", "piano", "queen", "river", "sugar", "tiger",
]  # fmt: skip


def statements(n, pattern):
    """Lines that hardly any two texts share."""
    random = Random(n)
    return "".join(pattern.format(*random.sample(WORDS, 5), random.randrange(1000)) for _ in range(6))


def function(n, style="plain"):
    """A documented function; by its words alone it is of one of two styles."""
    words = Random(n).sample(WORDS, 4)
    if style == "shouting":
        body = statements(n, "    X['{0}'] = [{5}, '{1}', '{2}', '{3}'] ; del X['{4}']\n").upper()
        return f"def {words[0].upper()}_{n}(X):\n    '''{words[1].upper()}!'''\n{body}    return {{X: {n} << 2}}\n"
    body = statements(n, "    {0} = {1}({2}, {3}) - {4} * {5}\n")
    return (
        f'def {words[0]}_{n}({words[1]}, {words[2]}):\n    """Return the {words[0]} of a {words[3]}."""\n{body}'
        f"    return {words[0]}\n"
    )


def benchmark(amount=40):
    return [assay.Sample(f"b{n}", function(n), "python", group=f"b{n}") for n in range(1000, 1000 + amount)]


@pytest.fixture
def repository(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    old = "\n\n".join(function(n) for n in range(5))
    repository.commit("2020-01-01", {"old.py": old, "LICENSE": "MIT License\n"})
    repository.commit(
        "2025-06-01", {"old.py": f"{old}\n\n{function(50)}", "new.py": function(60) + "\n\n" + function(61)}
    )
    return repository


def names(result):
    return sorted(sample.text.split("(")[0].split("_")[-1] for sample in result.samples)


def test_only_functions_of_which_no_line_is_older_are_taken(repository):
    result = assay.build_unseen(repository.path, after="2025-01-01")
    assert names(result) == ["50", "60", "61"]
    assert result.counts["of another time"] == 5
    (sample,) = [sample for sample in result.samples if "_50(" in sample.text]
    assert sample.group == "project"
    assert sample.metadata["date"] == "2025-06-01"
    assert sample.metadata["path"] == "old.py"


def test_only_functions_that_are_as_they_were_are_taken(repository):
    assert names(assay.build_unseen(repository.path, before="2021-01-01")) == ["0", "1", "2", "3", "4"]


def test_a_unit_may_be_a_file(repository):
    result = assay.build_unseen(repository.path, after=date(2025, 1, 1), unit="file")
    assert [sample.metadata["path"] for sample in result.samples] == ["new.py"]


def test_archives_have_the_day_of_their_release(tmp_path):
    with zipfile.ZipFile(tmp_path / "pkg-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("pkg/a.py", function(3))
    archive = tmp_path / "pkg-1.0-py3-none-any.whl"
    result = assay.build_unseen(archive, after="2025-01-01", released="2025-02-03")
    assert [(s.group, s.metadata["date"]) for s in result.samples] == [("pkg", "2025-02-03")]
    with pytest.raises(DataError, match=r"no function left: .*files of another time 1"):
        assay.build_unseen(archive, before="2025-01-01", released="2025-02-03")
    java = [assay.Sample(str(n), "class A {\n  int f(int x) {\n    return x + 1;\n  }\n}\n", "java") for n in range(3)]
    with pytest.raises(DataError, match="no function left: nothing was read in java, as the benchmark is"):
        assay.build_unseen(archive, released="2025-02-03", like=java)


@pytest.mark.parametrize("unit", ["function", "file"])
def test_line_ends_are_those_of_a_benchmark(tmp_path, unit):
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "a.py").write_bytes(function(1).replace("\n", "\r\n").encode())
    (sample,) = assay.build_unseen(tmp_path / "windows", released="2025-06-01", unit=unit).samples
    assert "\r" not in sample.text
    assert sample.text.strip() == function(1).strip()


def test_copies_of_the_benchmark_and_of_each_other_are_left_out(tmp_path):
    like = benchmark()
    repository = DatedRepository(tmp_path / "project")
    repository.commit(
        "2025-06-01", {"a.py": f"{like[0].text}\n\n{function(3007)}", "b.py": function(3007), "c.py": function(3008)}
    )
    result = assay.build_unseen(repository.path, like=like)
    assert names(result) == ["3007", "3008"]
    assert result.counts["near-duplicates of the benchmark"] == 1
    assert result.counts["repeated"] == 1


@pytest.mark.slow
def test_matching_keeps_what_looks_like_the_benchmark(tmp_path):
    """Half of the candidates shout; the texts alone tell those from the benchmark, and matching leaves them out."""
    corpora = []
    for project in range(24):
        repository = DatedRepository(tmp_path / f"project{project}")
        files = {f"{n}.py": function(3000 + 40 * project + n, "shouting" if n % 2 else "plain") for n in range(20)}
        repository.commit("2025-06-01", files)
        corpora.append(repository.path)
    like = [assay.Sample(f"b{n}", function(n), "python", group=f"b{n}") for n in range(2000, 2120)]
    result = assay.build_unseen(corpora, like=like, out=tmp_path / "new.jsonl")
    assert result.after.ranking.auroc.value < result.before.ranking.auroc.value
    assert len(result.samples) >= 100
    assert sum("'''" in sample.text for sample in result.samples) < 0.05 * len(result.samples)
    report = describe(result, path="new.jsonl")
    assert "in the form of samples" in report.title
    assert json.loads(json.dumps(report.data))["blind_auroc_after"]["value"] == result.after.ranking.auroc.value


def test_at_most_as_many_texts_as_asked_for_come_evenly_from_the_repositories(tmp_path):
    for project, size, start in (("large", 30, 3000), ("small", 4, 3100), ("tiny", 1, 3200)):
        DatedRepository(tmp_path / project).commit("2025-06-01", {f"{n}.py": function(start + n) for n in range(size)})
    corpora = [tmp_path / name for name in ("large", "small", "tiny")]
    result = assay.build_unseen(corpora, most=9)
    assert Counter(sample.group.rsplit("/")[-1] for sample in result.samples) == {"large": 4, "small": 4, "tiny": 1}
    assert result.counts["not needed"] == 26
    assert assay.build_unseen(corpora, most=9, seed=1).samples != result.samples
    assert len(assay.build_unseen(corpora, most=None).samples) == 35


def test_the_report_says_that_no_day_was_given_and_that_nothing_was_matched(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    repository.commit("2025-06-01", {f"{n}.py": function(n) for n in range(3007, 3010)})
    result = assay.build_unseen(repository.path, like=benchmark())
    report = describe(result, path="new.jsonl")
    assert " are in new.jsonl." in report.statement
    assert ", are in" not in report.statement
    assert any("give --after DATE" in sentence for sentence in report.details)
    (table,) = (table for table in report.tables if table.name == "match")
    assert [row.cells[0] for row in table.rows] == ["before matching"]


def test_the_file_is_read_without_options(repository, tmp_path):
    result = assay.build_unseen(repository.path, after="2025-01-01", out=tmp_path / "new.jsonl")
    again = assay.load(tmp_path / "new.jsonl")
    assert [(s.id, s.text, s.group, s.language) for s in again.samples] == [
        (s.id, s.text, s.group, s.language) for s in result.samples
    ]
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert {"id", "text", "group", "date", "path", "licence"} <= set(rows[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"after": "yesterday"}, r"after 'yesterday': expected a day as YYYY-MM-DD"),
        ({"after": "2025-01-01", "before": "2024-01-01"}, "no day is both"),
        ({"after": "9999-01-01"}, "after 9999-01-01: expected a day that is not in the future"),
        ({"after": "2025-03-01", "released": "2025-02-28"}, "expected a day that is not before 2025-03-01"),
        ({"most": 0}, "most 0: expected at least 1 text"),
        (
            {"like": [assay.Sample("a", "print(1)", "python")]},
            r"fewer than half of its texts hold a function.*--unit file",
        ),
    ],
)
def test_wrong_input_is_one_line(repository, options, message):
    with pytest.raises(DataError, match=message) as caught:
        assay.build_unseen(repository.path, **options)
    assert "\n" not in str(caught.value)


EIGHT = {
    "a.py": ("def tally(x):\n", "    {} = {} * {} + {} / {}\n", "    return x\n"),
    "A.java": ("class A {\n int count(int x) {\n", "  long {} = {} * {} + {} / {};\n", "  return x;\n }\n}\n"),
    "a.c": ("int total(int x) {\n", "    int {} = {} * {} + {} / {};\n", "    return x;\n}\n"),
    "a.cpp": ("int Add::sum(int x) {\n", "    auto {} = {} * {} + {} / {};\n", "    return x;\n}\n"),
    "a.js": ("function plus(x) {\n", "    let {} = {} * {} + {} / {};\n", "    return x;\n}\n"),
    "a.ts": ("function more(x: number) {\n", "    const {} = {} * {} + {} / {};\n", "    return x;\n}\n"),
    "a.go": ("package a\n\nfunc Whole(x int) int {\n", "    var {} = {} * {} + {} / {}\n", "    return x\n}\n"),
    "a.rs": ("fn whole(x: i64) -> i64 {\n", "    let {} = {} * {} + {} / {};\n", "    x\n}\n"),
}


def test_functions_of_eight_languages_are_read(tmp_path):
    repository = DatedRepository(tmp_path / "project")
    files = {
        name: first + statements(turn, line) + last for turn, (name, (first, line, last)) in enumerate(EIGHT.items())
    }
    repository.commit("2025-06-01", files)
    result = assay.build_unseen(repository.path, after="2025-01-01")
    languages = ["c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"]
    assert sorted(sample.language for sample in result.samples) == languages
