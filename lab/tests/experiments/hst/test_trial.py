"""The trial of provenance: its fragments are what they claim to be, and its figures follow from the ranks."""

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest

from assay.corpora import Document, Origin
from assay.errors import DataError
from assay.provenance import CodeIndex
from assay.retrieval.encoding import open_encoder
from assay_lab.evaluation.retrieval import gains, reciprocal_rank_gain, retrieval_quality
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.catalogue import experiment_named
from assay_lab.papers.hst import trial as trial_module
from assay_lab.papers.hst.corpus import package_of, search_space
from assay_lab.papers.hst.queries import ALTERATIONS, queries
from assay_lab.papers.hst.retrieval import space_of
from assay_lab.papers.hst.search import WAYS, answers, first_right
from assay_lab.papers.hst.trial import RankFile, Ranks, Size, run_trial

SIZE = Size((20,), (15, 40), targets=8, most=6, timed=2)


def function(number):
    """A function with a structure of its own."""
    draw = random.Random(number)
    names = [f"{word}_{number}" for word in ("total", "rate", "price", "count")]
    shapes = [
        "{0} = {1} {op} {2}({3}, {n})",
        "if {0} {op} {n}:\n        {1} = {2}[{3}]",
        "for {0} in {1}.items():\n        {2}.append({3} {op} {n})",
        "{0}, {1} = {2}.split({n}) or [{3}]",
        "return {0}[{n}:{1}] {op} {2}.get({3})",
    ]
    lines = [
        draw.choice(shapes).format(
            *draw.sample(names, 4), op=draw.choice(["+", "-", "*", "//", "%"]), n=draw.randrange(99)
        )
        for _ in range(14)
    ]
    return f"def compute_{number}(values, start):\n    " + "\n    ".join(lines) + "\n"


def documents(count=30):
    places = [f"packages/some/module_{at}.py" if at % 3 == 0 else f"module_{at}/part.py" for at in range(count)]
    return [
        Document(function(at), "python", "function", f"compute_{at}", (Origin("installed", place),))
        for at, place in enumerate(places)
    ]


@pytest.fixture(scope="module")
def space():
    return search_space(documents(), smallest=20, targets=8, long=60, seed=0)


@pytest.fixture(scope="module")
def trial(space, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    return run_trial(space, SIZE, open_encoder(), folder, seed=0), folder


def test_only_what_the_encoder_cannot_have_seen_is_searched_for(space):
    assert len(space.targets) == 8
    for target in space.targets:
        assert not space.documents[target.at].origins[0].path.startswith("packages/")
        assert target.at < 20


def test_a_function_and_its_near_duplicates_count_as_found():
    def stored(text, path):
        return Document(text, "python", "function", "compute", (Origin("installed", path),))

    text = function(1)
    twin = text.replace("start", "begin", 1)
    other = stored(function(2), "packages/some/other.py")
    corpus = [stored(text, "module.py"), stored(twin, "packages/some/copy.py"), other]
    result = search_space(corpus, smallest=3, targets=1, long=10**6, seed=1)
    (target,) = result.targets
    assert {result.documents[at].text for at in result.right[target.at]} == {text, twin}


def test_groups_are_packages_and_modules():
    result = documents(2)
    assert [package_of(document) for document in result] == ["some", "module_1"]


@pytest.mark.parametrize("window", [7, 15, 60])
def test_an_unaltered_fragment_stands_in_its_function_and_has_the_length_asked_for(space, window):
    for query in queries(space, window, "type 1", most=8, seed=3):
        assert query.text in space.documents[query.target].text
        assert not query.changed


def test_kinds_are_compared_on_fragments_of_the_same_functions(space):
    requested = {kind: [query.target for query in queries(space, 40, kind, most=6, seed=3)] for kind in ALTERATIONS}
    assert len({tuple(targets) for targets in requested.values()}) == 1


def test_the_same_seed_asks_the_same(space):
    first, second = (queries(space, 40, "type 3", most=6, seed=3) for _ in range(2))
    assert first == second
    assert first != queries(space, 40, "type 3", most=6, seed=4)


def test_every_name_of_a_renamed_fragment_is_another(space):
    for query in queries(space, 40, "renamed", most=6, seed=3):
        names = set(re.findall(r"[a-z]+_\d+", space.documents[query.target].text))
        assert not names & set(re.findall(r"\w+", query.text))


def test_the_rank_is_that_of_the_first_right_answer():
    assert first_right(np.array([7, 3, 5]), frozenset({5, 3})) == 2
    assert first_right(np.array([7, 3]), frozenset({9})) == 0


def test_of_equal_answers_the_one_searched_for_does_not_come_first_by_its_number(tmp_path):
    body = "\n    ".join(f"total = total * {at} + values[{at}]" for at in range(20))
    twins = [
        Document(f"def twin_{at}(values, total):\n    {body}\n", "python", "function", None, (Origin("s", f"{at}.py"),))
        for at in range(30)
    ]
    with CodeIndex.create(tmp_path / "index") as index:
        index.add(twins)
        index.commit()
        result = answers(body, "python", index, method="winnowing").tolist()
    assert sorted(result) == list(range(1, 31))
    assert result != sorted(result)
    assert result.index(1) > 0


def test_gains_are_recall_and_reciprocal_rank():
    result = gains([1, 4, 0])
    assert result["recall@1"].tolist() == [1, 0, 0]
    assert result["recall@5"].tolist() == [1, 1, 0]
    assert result["mrr"].tolist() == [1, 0.25, 0]


def test_an_interval_holds_the_mean_and_pairs_cancel_what_is_common():
    ranks, groups = [1, 2, 0, 1, 3, 1, 2, 1] * 3, [i // 2 for i in range(24)]
    result = retrieval_quality(ranks, groups)["mrr"]
    assert result.low <= result.value <= result.high
    assert result.value == pytest.approx(np.mean([1, 0.5, 0, 1, 1 / 3, 1, 0.5, 1]))
    gain = reciprocal_rank_gain(ranks, {"same": ranks}, groups)["same"]
    assert (gain.value, gain.low, gain.high) == (0, 0, 0)


def test_every_way_of_ours_finds_a_copy_of_forty_tokens(trial):
    """The paper's drops what stands in more than 0.5 % of the documents: of twenty documents, everything."""
    result, _ = trial
    cells = {cell.way: cell for cell in result.cells if cell.window == 40 and cell.kind == "type 1"}
    assert set(cells) == set(WAYS)
    ours = [cell for way, cell in cells.items() if "paper" not in way]
    assert all(cell.quality["recall@10"].value == 1 for cell in ours)
    assert cells["winnowing (paper)"].quality["recall@100"].value == 0


def test_the_characters_of_the_paper_do_not_survive_renaming_and_ours_do(trial):
    result, _ = trial
    quality = {
        cell.way: cell.quality["mrr"].value for cell in result.cells if (cell.window, cell.kind) == (40, "renamed")
    }
    assert quality["winnowing"] > quality["winnowing (paper)"]


def test_a_trial_that_was_killed_goes_on_behind_its_last_cell(trial, space, monkeypatch):
    result, folder = trial
    (ranks,) = folder.glob("ranks-*.jsonl")
    lines = list(filter(None, ranks.read_text().splitlines()))
    assert len(lines) == len(SIZE.windows) * len(ALTERATIONS)
    ranks.write_text("\n".join(lines[:3]) + "\n" + lines[3][:40])
    requested = []
    module = "assay_lab.papers.hst.trial.ranks_of"
    from assay_lab.papers.hst.trial import ranks_of as original

    monkeypatch.setattr(module, lambda *values, **named: requested.append(values[2:4]) or original(*values, **named))
    again = run_trial(space, SIZE, open_encoder(), folder, seed=0)
    assert len(requested) == len(lines) - 3
    assert again.cells == result.cells


@pytest.mark.slow
def test_the_experiment_runs_at_the_smoke_scale_for_every_seed(tmp_path, monkeypatch):
    """The corpus is small; the rest is as `assay lab testbed run hst/retrieval --scale smoke` has it."""
    monkeypatch.setattr("assay_lab.papers.hst.retrieval.installed_functions", lambda: iter(documents(240)))
    monkeypatch.setitem(trial_module.SIZES, "smoke", replace(trial_module.SIZES["smoke"], targets=10, most=6, timed=2))
    finding = experiment_named("hst/retrieval").run(Bench.of_scale("smoke", tmp_path, (0, 1)))
    assert [table.name for table in finding.tables] == [
        *(f"mrr-200-{kind.replace(' ', '-')}" for kind in ALTERATIONS),
        *(f"recall-200-{kind.replace(' ', '-')}" for kind in ALTERATIONS),
        "cost-p50",
        "cost-p95",
        "cost-index",
    ]
    for table in finding.tables:
        if table.name.startswith("recall"):
            assert table.rows[0].name == "union, recall@1"
        else:
            assert [row.name for row in table.rows][: len(WAYS)] == list(WAYS)
        assert all(len(row.values) == len(table.columns) for row in table.rows)
    for seed in (0, 1):
        content = json.loads((tmp_path / "runs" / f"retrieval-smoke-seed-{seed}" / "trial.json").read_text())
        assert content["seed"] == seed
        assert len(content["cells"]) == 2 * len(ALTERATIONS) * len(WAYS)


def test_an_unknown_scale_of_the_trial_is_refused_with_the_list(tmp_path):
    with pytest.raises(DataError, match="'large': expected one of smoke, full, paper, or a configuration file"):
        experiment_named("hst/retrieval").run(Bench(tmp_path, (), (0,), scale="large"))


def test_the_file_holds_every_number(trial):
    result, _ = trial
    assert len(json.loads(result.as_json())["cells"]) == len(result.cells)


def test_a_corpus_of_the_user_is_searched_in_its_own_languages(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for at in range(25):
        (corpus / f"file_{at}.py").write_text(function(at), "utf-8")
    (corpus / "main.go").write_text("func main() {\n" + "\ttotal := step(total, 3)\n" * 20 + "}\n", "utf-8")
    space = space_of(Bench(tmp_path, (), (0,), {"corpus": corpus}, scale="smoke"), SIZE, 0)
    assert {document.language for document in space.documents} == {"python", "go"}
    assert len(space.targets) == 8
    asked = queries(space, 15, "renamed", most=8, seed=0)
    assert {query.language for query in asked} <= {"python", "go"}


def test_a_corpus_without_functions_of_the_length_is_refused(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("x = 1\n", "utf-8")
    bench = Bench(tmp_path, (), (0,), {"corpus": tmp_path / "corpus"}, scale="smoke")
    with pytest.raises(DataError, match="received 1 functions; expected some of 7 tokens"):
        space_of(bench, SIZE, 0)


def test_a_cell_behind_a_line_that_a_kill_cut_is_kept(tmp_path):
    path, ranks = (
        tmp_path / "ranks.jsonl",
        Ranks(20, 15, next(iter(ALTERATIONS)), ["g"], changed=0.5, ranks={"way": [1]}),
    )
    path.write_text('{"space": 20, "win')
    RankFile(path).add(ranks)
    assert RankFile(path).get(20, 15, next(iter(ALTERATIONS))) == ranks
