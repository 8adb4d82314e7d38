"""The experiments of DECo on texts that the test makes, the paper's values beside ours."""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from assay.code import lexemes
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.scores import request
from assay.types import Sample
from assay_lab.experiments import all_experiments, experiment_named
from assay_lab.experiments.bench import Bench
from assay_lab.papers.deco import classifiers, collections, figures, tables
from assay_lab.papers.deco.collections import HUMAN, PAPER, AuthorTexts, _limited, collection
from assay_lab.papers.deco.tables import mean_over
from support.table_model import TableModel

NAMES = [*(f"deco/figure-{n}" for n in range(19, 24)), *(f"deco/table-{n}" for n in range(2, 10))]


def text(author, task):
    """People abbreviate and comment, a generator spells out."""
    if author == HUMAN:
        return f"# quick hack {task}\ndef f{task}(a, b):\n    r = a * {task}\n    return r - b  # done\n" * 2
    body = f"    result_{author} = first + second * {task}\n    return result_{author}\n"
    return f"def compute_{task}(first, second):\n{body}" * 2


TEXTS = AuthorTexts(
    tuple(
        Sample(f"{language}/{task}/{author}", text(author, task), language, author, f"{language}/{task}")
        for language in ("python", "java")
        for task in range(24)
        for author in (HUMAN, "first", "second")
    ),
    ("Texts of a test.",),
)


@dataclass
class Settings:
    model: str = "builtin:small"


@pytest.fixture
def bench(monkeypatch, tmp_path):
    model = TableModel.trained([sample.text for sample in TEXTS.samples[:30]], order=2)
    for module in (tables, classifiers, figures):
        monkeypatch.setattr(module, "collection", lambda *_: TEXTS)
    monkeypatch.setattr(tables, "open_model", lambda _: model)
    opener = SimpleNamespace(scorer=lambda _: model, generator=lambda _: model)
    monkeypatch.setattr(tables, "Opener", lambda: opener)
    monkeypatch.setattr(classifiers, "SEEDS", 2)
    monkeypatch.setattr(classifiers, "STRENGTHS", (3.0,))
    return Bench(tmp_path, (Settings(),), (0,), scale="smoke")


def test_the_tables_and_figures_of_the_paper_are_declared():
    assert set(NAMES) <= set(all_experiments())


@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_figure_is_made_beside_the_values_of_the_paper(name, bench):
    finding = experiment_named(name).run(bench)
    assert finding.name == name
    assert all(len(row.values) == len(table.columns) for table in finding.tables for row in table.rows)
    assert any(value is not None for row in finding.tables[0].rows for value in row.values)
    assert "Texts of a test." in finding.notes


def rows_of(finding, table=0):
    return {
        row.name: dict(zip(finding.tables[table].columns, row.values, strict=True))
        for row in finding.tables[table].rows
    }


def test_every_row_of_table_2_names_a_detector():
    assert all(request(method).definition for method in PAPER.methods.values())
    assert set(PAPER.tables["table-2"].values) <= {*PAPER.methods, tables.FOR_CODE}


def test_table_2_says_which_rows_lack_their_models(bench):
    finding = experiment_named("deco/table-2").run(bench)
    rows = rows_of(finding)
    assert rows["Binoculars"]["Python"] is None
    assert rows["Binoculars"]["Python (paper)"] == pytest.approx(0.4692)
    assert isinstance(rows["NPR"]["Python"], Estimate)
    assert any("Binoculars, BARTScore-CNN" in note for note in finding.notes)


def test_attribution_finds_authors_of_distinct_style_and_prints_the_paper(bench):
    rows = rows_of(experiment_named("deco/table-5").run(bench), table=1)
    assert rows["linear, characters (ours), O"]["Python"].value > 0.5
    assert rows["CodeBERT, X"]["Overall (paper)"] == pytest.approx(0.3019)


def test_density_counts_distinct_tokens_among_all(bench):
    rows = rows_of(experiment_named("deco/table-4").run(bench))
    human = TEXTS.of("Python", HUMAN)
    tokens = [token for sample in human for token in lexemes(sample.text)]
    assert rows["Python"][HUMAN] == pytest.approx(100 * len(set(tokens)) / len(tokens))
    assert rows["Python"]["Human (paper)"] == 21.84


def test_without_comments_people_have_fewer_tokens(bench):
    whole = rows_of(experiment_named("deco/table-7").run(bench), table=1)
    bare = rows_of(experiment_named("deco/table-8").run(bench), table=1)
    assert bare["Python"][HUMAN] < whole["Python"][HUMAN]
    assert bare["Python"]["first"] == whole["Python"]["first"]


def test_authors_are_alike_symmetrically(bench):
    rows = rows_of(experiment_named("deco/figure-19").run(bench))
    assert rows["first"]["second"] == rows["second"]["first"]
    assert rows["first"]["second"].value > rows[HUMAN]["first"].value


def test_authors_are_compared_on_the_tasks_that_all_solved():
    part = AuthorTexts(tuple(s for s in TEXTS.samples if s.id != "python/3/first"), ()).comparable()
    assert {len(part.of("Python", author)) for author in part.authors} == {23}
    assert {len(part.of("Java", author)) for author in part.authors} == {24}


def test_without_tasks_every_author_has_as_many_texts():
    rows = [("a", 3), ("b", 5)]
    texts = tuple(Sample(f"{author}{i}", "x", "python", author) for author, n in rows for i in range(n))
    part = AuthorTexts(texts, ()).comparable()
    assert [len(part.of("Python", author)) for author in part.authors] == [3, 3]


def test_texts_of_two_data_sets_are_not_compared(tmp_path, monkeypatch):
    for name in ("one", "two"):
        rows = [{"id": a, "text": "x", "label": a, "group": "1", "language": "python"} for a in (HUMAN, name)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {name: tmp_path / f"{name}.jsonl" for name in ("one", "two")}
    found = collection(Bench(tmp_path, (), (0,), data, scale="smoke"))
    assert found.strata == ("one, Python", "two, Python")
    assert [len(found.tasks(stratum)) for stratum in found.strata] == [1, 1]
    monkeypatch.setattr(tables, "open_model", lambda _: TableModel.uniform(9))
    rows = rows_of(tables.deco_table_4(Bench(tmp_path, (Settings(),), (0,), data, scale="smoke")))
    assert rows["two, Python"]["Human (paper)"] == 21.84
    assert rows["two, Python"]["one"] is None
    assert rows["Overall"]["one"] is None


def test_the_mean_over_languages_adds_their_variances():
    mean = mean_over([Estimate(0.6, 0.5, 0.7), None, Estimate(0.8, 0.7, 0.9)])
    assert mean.value == pytest.approx(0.7)
    assert mean.high - mean.low == pytest.approx(2 * (0.02**0.5) / 2)
    assert mean_over([None]) is None


def test_data_with_a_column_of_authors_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {
            "id": f"{task}-{author}",
            "text": text(author, task),
            "label": author,
            "group": str(task),
            "language": "python",
        }
        for task in range(50)
        for author in (HUMAN, "x", "y", "z")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = collection(Bench(tmp_path, (), (0,), {"mine": path}, scale="smoke"))
    assert found.authors == (HUMAN, "x", "y")
    tasks = collections.SCALES["smoke"].tasks
    assert len(found.of("Python", "x")) == tasks
    assert len(found.comparable().samples) == 3 * tasks


def test_a_folder_of_solutions_is_read(tmp_path):
    folder = tmp_path / "tasks" / "model-a"
    folder.mkdir(parents=True)
    rows = [
        {
            "task_id": "1",
            "prompt": "def f():\n",
            "canonical_solution": "    return 1\n",
            "solution": "def f():\n    return 2",
        },
        {
            "task_id": "2",
            "prompt": "Add.",
            "canonical_solution": "def g():\n    return 1\n",
            "solution": "def g(): pass",
        },
    ]
    (folder / "seed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = collection(Bench(tmp_path, (), (0,), {"mine": tmp_path / "tasks"}, scale="smoke"))
    assert [s.text for s in found.of("Python", HUMAN)] == ["def f():\n    return 1\n", "def g():\n    return 1\n"]
    (folder / "seed.jsonl").write_text('{"task_id": 1}\n')
    with pytest.raises(DataError, match="without task_id, solution"):
        collection(Bench(tmp_path, (), (0,), {"mine": tmp_path / "tasks"}, scale="smoke"))


def test_data_without_authors_and_the_scale_of_the_paper_without_data_are_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x"}\n')
    with pytest.raises(DataError, match="no column of authors"):
        collection(Bench(tmp_path, (), (0,), {"mine": tmp_path / "a.jsonl"}, scale="smoke"))
    (tmp_path / "b.jsonl").write_text('{"id": "1", "text": "x", "label": "human", "language": "python"}\n')
    with pytest.raises(DataError, match="texts of one author, expected at least 2 authors"):
        collection(Bench(tmp_path, (), (0,), {"mine": tmp_path / "b.jsonl"}, scale="smoke"))
    with pytest.raises(DataError, match="expected --data"):
        collection(Bench(tmp_path, (), (0,), scale="paper"))


def test_without_data_the_standard_library_and_the_model_of_the_bench_are_authors(tmp_path, monkeypatch):
    monkeypatch.setattr(collections, "open_model", lambda _: TableModel.trained([text("x", 1)], order=2))
    found = collection(Bench(tmp_path, (Settings(),), (0,), scale="smoke"))
    assert found.authors == (HUMAN, "builtin:small at 0.4", "builtin:small at 1")
    assert len(found.tasks("Python")) == collections.SCALES["smoke"].tasks
    assert all(len(task) == 3 for task in found.tasks("Python"))
    monkeypatch.setattr(TableModel, "generate", lambda *_, **__: pytest.fail("wrote the same texts again"))
    assert collection(Bench(tmp_path, (Settings(),), (0,), scale="smoke")).samples == found.samples


def test_the_generators_with_most_texts_stay():
    samples = [Sample(f"{a}{i}", "x", "python", a, str(i)) for a, n in (("a", 3), ("b", 9), ("c", 5)) for i in range(n)]
    kept = _limited(samples, collections.SCALES["smoke"])
    assert {s.label for s in kept} == {"b", "c"}


def result(seed, value):
    return classifiers.Result(seed=seed, f1=value, accuracy=value, confusion=np.eye(2))


def test_overall_is_over_the_seeds_of_all_languages():
    measured = {"python": [result(0, 0.2), result(1, 0.4), result(2, 0.9)], "java": [result(1, 0.6), result(2, 0.7)]}
    python, java, c, overall = classifiers.estimates(measured, "Accuracy", ["python", "java", "c"])
    assert [python.value, java.value] == pytest.approx([0.5, 0.65])
    assert c is None
    assert overall.value == pytest.approx((0.5 + 0.8) / 2)


def test_a_language_that_lacks_a_seed_is_named():
    of_python = [result(seed, 0.5) for seed in range(classifiers.SEEDS)]
    assert not classifiers.lacking_note({"python": of_python})
    (note,) = classifiers.lacking_note({"python": of_python, "java": of_python[1:]})
    assert "Java 4" in note
    assert "Python" not in note
