"""The study of bug benchmarks: exposure, preference, repositories, and the whole of it on the built-in model."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import DataError
from assay.models import ModelSettings
from assay.types import Sample
from assay_lab.bugs import drawn_pairs, exposures, read_repositories, study_bugs, without_empty
from assay_lab.bugs.content import content_memberships
from assay_lab.bugs.exposure import counted_exposures, own_runs
from assay_lab.bugs.pairs import SamplePair, comparable_sides, read_pairs
from assay_lab.bugs.preference import mean_of, preferences
from assay_lab.bugs.repositories import repository_membership, repository_name
from support.commands import run_assay

NAMES = ("corner", "harbour", "meadow", "lantern")


def function(name: str, sign: str) -> str:
    """A function of about fifty tokens whose sides differ in one sign."""
    return (
        f"def {name}_total(values, limit_{name}):\n    total_{name} = 0\n    for index, value in enumerate(values):\n"
        f"        if value {sign} limit_{name}:\n            total_{name} += value * index\n"
        f"        else:\n            total_{name} -= len(values) % (index + {len(name)})\n    return total_{name}\n"
    )


def pair(name: str) -> SamplePair:
    fixed, buggy = function(name, "<="), function(name, ">")
    return SamplePair(Sample(name, fixed, "python", group=name), Sample(name, buggy, "python", group=name))


def with_issue(bug: SamplePair) -> SamplePair:
    metadata = {"problem_statement": "The window crashes when the first value is larger than the limit of the list."}
    return SamplePair(*(replace(side, metadata=metadata) for side in (bug.fixed, bug.buggy)))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index that has the bug of the first pair, the fix of the second, both of the third, none of the fourth."""
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "a.py").write_text(function("corner", ">"))
    (corpus / "b.py").write_text(function("harbour", "<="))
    (corpus / "c.py").write_text(function("meadow", ">"))
    (corpus / "d.py").write_text(function("meadow", "<="))
    at = tmp_path_factory.mktemp("index") / "i"
    assay.build_index([corpus], at, encoder=None, progress=False)
    with assay.open_index(at) as opened:
        yield opened


def test_the_index_tells_which_side_of_a_bug_it_has(index):
    results = exposures([pair(name) for name in NAMES], index)
    assert [result.exposure for result in results] == ["bug", "fix", "both", "neither"]
    assert [result.buggy.document for result in results[:1]] == ["a.py"]
    assert results[1].fixed.share == 1.0
    assert results[1].buggy.share < 0.5
    assert counted_exposures(results) == {"neither": 1, "bug": 1, "fix": 1, "both": 1, "cannot tell": 0}


def test_each_text_of_a_bug_has_its_own_evidence_with_the_document(index):
    (corner, window) = exposures([pair("corner"), with_issue(pair("window"))], index)
    assert {side: content.is_present for side, content in corner.content.items()} == {"buggy": True, "fixed": True}
    assert corner.content["buggy"].document == "a.py"
    assert corner.content["buggy"].evidence.order == 1
    assert window.content["issue"].reason or not window.content["issue"].is_present
    memberships = content_memberships([corner.content, window.content], ["a", "b"])
    assert memberships["buggy"].present == 1 + window.content["buggy"].is_present
    assert memberships["issue"].judged + memberships["issue"].too_short == 1


def test_sides_that_differ_in_layout_only_cannot_be_told(index):
    text = function("corner", "<=")
    commented = Sample("x", f"{text}# a comment\n", "python")
    (result,) = exposures([SamplePair(Sample("x", text, "python"), commented)], index)
    assert result.exposure == "cannot tell"
    assert "no text of its own" in result.reason


def test_a_fix_that_only_deletes_has_runs_across_the_gap():
    buggy = function("corner", "<=")
    fixed = buggy.replace("    total_corner = 0\n", "")
    assert own_runs(fixed, buggy, "python")


@given(st.lists(st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=30))
def test_the_preference_counts_pairs_and_leaves_ties_out_of_the_share(values):
    result = preferences(np.array(values), [f"g{at}" for at in range(len(values))])["all"]
    decided = [value for value in values if value]
    assert result.pairs == len(values)
    assert result.mean.value == pytest.approx(np.mean(values))
    if decided:
        assert result.share.value == pytest.approx(np.mean([value > 0 for value in decided]))
    else:
        assert math.isnan(result.share.value)


def test_preferences_are_split_by_exposure():
    values = np.array([1.0, 2.0, -1.0, np.nan])
    split = preferences(values, ["a", "b", "c", "d"], ["fix", "fix", "neither", "neither"])
    assert {kind: each.pairs for kind, each in split.items()} == {"all": 3, "fix": 2, "neither": 1}
    assert split["fix"].share.value == 1.0


def test_a_mean_has_an_interval_over_groups_that_holds_it():
    values = np.random.default_rng(0).normal(size=60)
    estimate = mean_of(values, [f"g{at // 3}" for at in range(60)])
    assert estimate.low < estimate.value < estimate.high
    assert estimate.groups == (20,)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("psf/black", "psf/black"),
        ("https://github.com/PSF/Black.git", "psf/black"),
        ("https://github.com/jakubroztocil/httpie/", "jakubroztocil/httpie"),
        ("git@github.com:mity/md4c.git", "mity/md4c"),
        ("no repository", None),
    ],
)
def test_a_repository_is_named_by_owner_and_name(text, name):
    assert repository_name(text) == name


def test_each_repository_counts_once(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# The corpus\npsf/black\n\nhttps://github.com/apache/commons-lang\n")
    samples = [
        Sample("1", "x", metadata={"repo": "psf/black"}),
        Sample("2", "x", metadata={"repo": "psf/black"}),
        Sample("3", "x", metadata={"project": "Lang"}),
        Sample("4", "x", metadata={"github_url": "https://github.com/a/b"}),
        Sample("5", "x"),
    ]
    membership = repository_membership(samples, read_repositories(path))
    assert membership.listed == ("apache/commons-lang", "psf/black")
    assert (membership.absent, membership.unknown) == (("a/b",), 1)
    assert membership.share == pytest.approx(2 / 3)


def test_a_line_that_is_no_repository_is_refused_with_its_number(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("psf/black\nblack\n")
    with pytest.raises(DataError, match="line 2: received 'black', expected owner/name"):
        read_repositories(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Twelve bugs in twelve groups; half of them dated before the cutoff."""
    path = tmp_path_factory.mktemp("pairs") / "bugs.jsonl"
    rows = [
        {
            "id": f"b{at}",
            "fixed": function(f"{NAMES[at % 4]}{at}", "<="),
            "buggy": function(f"{NAMES[at % 4]}{at}", ">"),
            "group": f"g{at}",
            "language": "python",
            "date": f"20{20 + at % 2 * 4}-01-01",
            "repo": "psf/black" if at < 6 else "a/b",
        }
        for at in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_whole_study_on_the_built_in_model(table, tmp_path):
    listed = tmp_path / "repositories.txt"
    listed.write_text("psf/black\n")
    control = tmp_path / "new"
    control.mkdir()
    for at in range(3):
        (control / f"{at}.py").write_text(function(f"window{at}", "=="))
    study = study_bugs(
        "builtin:small",
        [table],
        controls={"new files": control},
        repositories=listed,
        cutoff="2023-01-01",
        settings=ModelSettings(cache=False),
        progress=False,
    )
    bugs, new = study.sets
    assert (bugs.sides["fixed"].texts, new.sides["control"].texts) == (12, 3)
    assert {name: part.texts for name, part in bugs.slices.items()} == {"before": 6, "after": 6}
    assert bugs.repositories.listed == ("psf/black",)
    preference = bugs.preference["all"]
    assert preference.pairs == 12
    assert preference.mean.value == pytest.approx(np.nanmean(bugs.values))
    # NLL is the negative of the score `loss`; the ratio of a set to itself is 1
    scores = assay.score(
        "builtin:small",
        [Sample("x", function("window0", "=="))],
        "loss",
        settings=ModelSettings(cache=False),
        progress=False,
    )
    assert len(scores) == 1
    assert study.ratios()["new files", "new files"] == 1.0
    report = study.describe()
    assert {table.name for table in report.tables} >= {
        "averages",
        "preference",
        "repositories",
        "dates",
        "rates-by-date",
    }
    by_date = [bugs.rates["fix likelier"][name].value for name in ("before", "after")]
    assert np.mean(by_date) == pytest.approx(preference.share.value)
    assert "chance is 50 %" in report.statement
    assert study.to_arrow().num_rows == 12
    assert study.report(tmp_path / "report.html").read_text().count("NLL") > 3


def test_the_study_in_an_index_reports_the_texts_that_the_corpus_holds(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.py").write_text(function("corner", ">"))
    assay.build_index([corpus], tmp_path / "i", encoder=None, progress=False)
    table = tmp_path / "bugs.jsonl"
    rows = [{"id": n, "fixed": function(n, "<="), "buggy": function(n, ">"), "language": "python"} for n in NAMES[:2]]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = study_bugs(
        "builtin:small", [table], index=tmp_path / "i", settings=ModelSettings(cache=False), progress=False
    )
    assert study.sets[0].content["fixed"].judged == 2
    report = study.describe()
    assert {"content", "content-evidence", "exposure", "evidence"} <= {each.name for each in report.tables}
    assert "a.py" in study.report(tmp_path / "r.md").read_text()


def test_rewritten_sides_show_how_much_of_the_preference_rests_on_names(table):
    study = study_bugs(
        "builtin:small", [table], limit=4, variants=2, settings=ModelSettings(cache=False), progress=False
    )
    result = study.sets[0].rewritten
    assert (result.bugs, result.left_out) == (4, 0)
    assert result.drop.value == pytest.approx(result.original.mean.value - result.rewritten.mean.value)
    assert result.drop.value == pytest.approx(result.fixed_gap.value - result.buggy_gap.value)
    assert any(table.name == "rewritten" for table in study.describe().tables)


def test_probes_run_on_the_built_in_model_and_say_what_is_missing(table):
    study = study_bugs(
        "builtin:small", [table], limit=3, probes=True, settings=ModelSettings(cache=False), progress=False
    )
    probes = study.sets[0].probes
    assert {name: result.tasks for name, result in probes.items()} == {"path": 0, "function": 3, "patch": 0}
    assert {result.decision.verdict for result in probes.values()} == {"cannot tell"}
    assert any(table.name == "probes" for table in study.describe().tables)


def test_a_limit_takes_bugs_from_the_whole_benchmark_in_their_order():
    pairs = [SamplePair(Sample(str(at), "x"), Sample(str(at), "y")) for at in range(100)]
    drawn = [int(pair.id) for pair in drawn_pairs(pairs, 20)]
    assert len(drawn) == 20
    assert drawn == sorted(drawn)
    assert drawn[-1] > 50
    assert drawn_pairs(pairs, 20) == drawn_pairs(pairs, 20)
    assert drawn_pairs(pairs, None) == tuple(pairs)


def test_bugs_without_a_text_are_left_out_with_a_note_each():
    def bug(name, fixed, buggy):
        return SamplePair(Sample(name, fixed), Sample(name, buggy))

    kept, notes = without_empty(
        [bug("1", "", ""), bug("2", "x", ""), bug("3", "", "x"), bug("4", "x", "y")], benchmark="b"
    )
    assert [pair.id for pair in kept] == ["2", "3", "4"]
    assert [note.partition(":")[0] for note in notes] == ["b"] * 3
    assert "1 of 4 left out: the patch is empty" in notes[0]
    assert "only adds lines" in notes[1]
    with pytest.raises(DataError, match="no bug of b has a text: every patch is empty"):
        without_empty([bug("1", "", " ")], benchmark="b")


def test_words_that_only_one_side_has_are_removed_and_counted():
    shared = "def f(a):\n    # both sides\n    return a {} 1\n"
    described = 'import os\n\n"""\nAdds one.\n"""\n' + shared
    one = SamplePair(Sample("1", shared.format("+"), "python"), Sample("1", described.format("-"), "python"))
    two = SamplePair(Sample("2", shared.format("+"), "python"), Sample("2", shared.format("-"), "python"))
    kept, notes = comparable_sides([one, two], "b")
    assert kept[1] == two
    assert kept[0].fixed == one.fixed
    assert kept[0].buggy.text == shared.format("-").strip("\n")
    assert notes[0].startswith("b: 1 of 2 bugs have comments, docstrings or headers on one side only")


def test_a_bug_with_two_fixes_is_two_pairs_of_one_group(tmp_path):
    path = tmp_path / "two.jsonl"
    rows = [{"id": "a", "fixed": "x + 1", "buggy": "x"}, {"id": "a", "fixed": "x + 2", "buggy": "x"}]
    rows.append({"id": "b", "fixed": "y", "buggy": ""})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = read_pairs(path)
    assert [(pair.id, pair.fixed.group) for pair in both.pairs] == [("a", "a"), ("a#2", "a"), ("b", None)]
    assert [pair.fixed.text for pair in both.pairs] == ["x + 1", "x + 2", "y"]
    assert any("repeat an id" in note for note in both.fixed.notes)
    assert not any("empty" in note for note in both.buggy.notes)


@pytest.mark.slow
def test_the_command_prints_json_and_refuses_bad_input_in_one_line(table):
    result = run_assay(
        "lab", "study", "bugs", "builtin:small", table, "--json", "--limit", "2", "--model-option", "cache=false"
    )
    assert result.code == 0, result.err
    assert json.loads(result.out)["model"] == "builtin:small"
    for arguments, message in (
        (["--data", "a=1", "--data", "b"], "expected NAME=PATH"),
        (["--data", "a=1", "--data", "a=2"], "--data a is given twice: 1 and 2; expected one path"),
        (["--control", "a=1", "--control", "a=2"], "--control a is given twice"),
        (["--index", "nowhere"], "nowhere"),
        (["--cutoff", "March"], "cutoff 'March': expected a day as YYYY-MM-DD"),
        (["--data", "quixbugs=x"], "not among the benchmarks"),
        (["--variants", "100000"], "received 100,000 variants, expected 0 to 1,000"),
        (["--out", "study.xls"], "expected a name that ends in .html, .md, .tex, .json"),
        (["--out", "nowhere/study.md"], "the folder nowhere does not exist"),
    ):
        refused = run_assay("lab", "study", "bugs", "builtin:small", table, *arguments)
        assert (refused.code, message in refused.err) == (2, True), refused.err
