"""`assay audit`, `calibrate`, `report`, `demo`: the run folder, the words, the exit codes."""

import json
import re

import pytest

RUN_FILES = {"manifest.json", "summary.json", "report.html", "scores.parquet", "decisions.parquet"}


@pytest.fixture
def unseen(tmp_path):
    rows = [{"text": f"def g{i}(y):\n    return y * {i}\n"} for i in range(30)]
    path = tmp_path / "unseen.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_audit_leaves_a_run_folder_and_says_where_the_report_is(assay, texts, golden, tmp_path):
    done = assay("audit", golden / "model", texts, "--scores", "loss,mid_pit", "--describe", "--out", "run")
    assert done.code == 0, done.err
    assert {path.name for path in (tmp_path / "run").iterdir()} >= RUN_FILES
    assert "run/report.html" in done.out
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["command"][:2] == ["assay", "audit"]
    assert manifest["data"]["samples"] == 24
    assert len(manifest["models"]["target"]["digest"]) == 64


def test_without_labels_and_unseen_text_nothing_is_run_unless_it_shall_only_describe(assay, unseen, golden, tmp_path):
    done = assay("audit", golden / "model", unseen, "--scores", "loss")
    *ways, error = done.err.splitlines()
    assert done.code == 2
    assert [way.partition(":")[2].partition(":")[0] for way in ways] == [" note"] * 6
    assert all(how in done.err for how in ("assay scan", "--release", "--parent", "--same-form", "--unseen"))
    assert "there will be no verdict" in error
    assert f"`assay scan CORPUS… --for {unseen}`" in done.err
    assert f"`assay unseen build REPOSITORY… --like {unseen} --after DATE -o new.jsonl`" in error
    assert not (tmp_path / "assay-runs").exists()
    assert assay("audit", golden / "model", unseen, "--scores", "loss", "--fail-on", "familiar").code == 3
    done = assay("audit", golden / "model", unseen, "--scores", "loss", "--describe")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "Cannot tell yet"
    assert "--unseen" in done.out


@pytest.mark.slow
def test_an_audit_of_too_few_projects_says_at_once_that_there_will_be_no_verdict(
    assay, texts, unseen, golden, tmp_path
):
    rows = [
        json.loads(line) | {"group": f"project {at % 4}"} for at, line in enumerate(unseen.read_text().splitlines())
    ]
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("audit", golden / "model", texts, "--columns", "group=id", "--scores", "loss", "--control", "none")
    command = (*command, "--unseen")
    done = assay(*command, few)
    assert (done.code, "there will be no verdict: the unseen text is of 4 groups" in done.err) == (2, True)
    assert "no verdict" not in assay(*command, unseen).err
    assert assay(*command, few, "--describe").code == 0


@pytest.mark.slow
def test_an_audit_and_the_demo_print_one_screen(assay, texts, unseen, golden):
    base = ("audit", golden / "model", texts, "--scores", "one-pass", "--describe")
    for options in ((), ("--unseen", unseen), ("--columns", "label=label", "--unseen", unseen)):
        done = assay(*base, *options, COLUMNS="100")
        assert done.code == 0, done.err
        lines = done.out.splitlines()
        assert len(lines) <= 8, done.out
        assert lines[0] in ("Contaminated", "No evidence", "Cannot tell yet")
        assert lines[-1].startswith("More: assay report ")
        assert all(len(line) <= 100 for line in lines[:-2])
        quiet = assay(*base, *options, "-q")
        assert (len(quiet.out.splitlines()) <= 4, quiet.err) == (True, "")


def test_cost_and_time_are_the_first_lines_and_cached_texts_cost_nothing(assay, texts, unseen, golden):
    command = ("audit", golden / "model", texts, "--scores", "loss", "--unseen", unseen, "--control", "none")
    command = (*command, "--columns", "group=id")  # enough groups for a verdict, so that no warning precedes
    first, second = (assay(*command).err.splitlines() for _ in range(2))
    assert first[6] == "assay: note: cost: 54 forward passes of one text"
    assert first[7].startswith("assay: note: time: about ")
    assert second[6] == "assay: note: cost: 0 forward passes of one text; the cache holds 54"


@pytest.mark.slow
def test_a_limit_that_saves_little_is_explained(assay, texts, unseen, golden):
    command = ("audit", golden / "model", texts, "--scores", "loss", "--unseen", unseen, "--control", "none")
    done = assay(*command, "--limit", 6, "--describe")
    assert "; 30 of 36 texts are unseen text, which --limit does not cut" in done.err


def test_rewritings_and_scores_of_methods_in_the_cache_cost_nothing(assay, tmp_path, golden):
    for name, first in (("texts", 0), ("unseen", 50)):
        rows = [
            {"id": f"{n}", "text": f"def total(x, y):\n    total = x * {n} + y\n    return total\n"}
            for n in range(first, first + 24)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("audit", golden / "model", "texts.jsonl", "--unseen", "unseen.jsonl", "--columns", "group=id")
    command = (*command, "--scores", "loss,sr_gray", "--control", "none", "--methods", "mean")
    first, second = (assay(*command).err.splitlines() for _ in range(2))
    assert first[6] == "assay: note: cost: 528 forward passes of one text"  # 48 texts, ten rewritings of each
    assert second[6] == "assay: note: cost: 0 forward passes of one text; the cache holds 528"


def test_the_model_has_a_name_for_people(assay, texts, golden, tmp_path):
    command = ("audit", golden / "model", texts, "--scores", "loss", "--describe", "--json")
    assert json.loads(assay(*command).out)["model"] == "model"
    assert json.loads(assay(*command, "--model-name", "Our model").out)["model"] == "Our model"


def test_a_report_can_be_drawn_again_without_the_model(assay, texts, golden, tmp_path):
    first = assay("audit", golden / "model", texts, "--scores", "loss", "--describe", "--out", "run", "-v")
    page = (tmp_path / "run" / "report.html").read_text()
    (tmp_path / "run" / "report.html").unlink()
    again = assay("report", "run", "-v")
    assert (again.code, again.out) == (0, first.out)
    assert (tmp_path / "run" / "report.html").read_text() == page


@pytest.mark.slow
def test_the_tables_come_as_markdown_with_their_captions(assay, texts, golden):
    assay("audit", golden / "model", texts, "--columns", "label=label", "--scores", "loss,zlib", "--out", "run")
    done = assay("report", "run", "--format", "markdown")
    assert done.code == 0, done.err
    rows = [line for line in done.out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows[:3]] == ["| score", "| **`loss`**", "| `zlib`"]
    assert "Chance: .5 for AUROC" in done.out
    assert assay("report", "run", "--format", "markdown", "--json").code == 2


def test_json_on_standard_output_is_the_summary(assay, texts, golden):
    done = assay("audit", golden / "model", texts, "--scores", "loss", "--describe", "--json", "--out", "run")
    assert json.loads(done.out)["schema"] == 3


@pytest.mark.slow
def test_a_rule_ends_with_1_if_it_fires_with_0_if_not_and_with_3_if_it_cannot_be_decided(
    assay, unseen, golden, tmp_path
):
    rows = [{"text": f"class C{i}:\n    limit = {i}\n"} for i in range(30)]
    (tmp_path / "classes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = ("audit", golden / "model", "classes.jsonl", "--scores", "mid_pit", "--unseen", unseen, "--force")
    base += ("--out", "run", "--describe")
    fired = assay(*base, "--fail-on", "coverage>0.5", "--fail-on", "discoveries>999", "--json")
    assert fired.code == 1
    assert "assay: finding: coverage>0.5" in fired.err.splitlines()
    summary = json.loads(fired.out)
    assert summary["decision"]["verdict"] == "cannot tell"
    assert not {"discoveries", "seen_at_least"} & summary["summaries"][0]["calibration"].keys()
    undecided = assay(*base, "--fail-on", "discoveries>999")
    assert undecided.code == 3
    assert f"assay: cannot tell: discoveries>999: {summary['decision']['reason']}" in undecided.err
    passed = assay(*base, "--fail-on", "discoveries>999", "--allow-confounded")
    assert passed.code == 0
    assert re.search(r"assay: passed: discoveries>999: \d+, by the numbers alone \(--allow-confounded\)", passed.err)
    assert assay(*base).code == 0


def test_a_rule_on_unseen_text_cannot_be_decided_without_any(assay, texts, golden, tmp_path):
    done = assay("audit", golden / "model", texts, "--scores", "mid_pit", "--fail-on", "flagged.p<0.05")
    assert done.code == 3
    assert "no unseen text" in done.err
    assert "--unseen" in done.err
    assert "Nothing was run." in done.err
    assert not (tmp_path / "assay-runs").exists()


@pytest.mark.slow
def test_a_calibration_file_decides_as_the_text_does(assay, texts, unseen, golden, tmp_path):
    assert assay("calibrate", golden / "model", unseen, "-o", "known.json", "--scores", "loss").code == 0
    base = ("audit", golden / "model", texts, "--scores", "loss", "--json", "--describe")
    from_text = json.loads(assay(*base, "--unseen", unseen).out)
    from_file = json.loads(assay(*base, "--calibration", "known.json").out)
    rates = [
        json.dumps(found["summaries"][0]["calibration"]["flagged"], sort_keys=True) for found in (from_text, from_file)
    ]
    assert rates[0] == rates[1]
    assert "unseen" not in (tmp_path / "known.json").read_text().split('"values"')[1]


def test_a_second_model_gives_the_reference_score(assay, texts, golden):
    done = assay("score", golden / "model", texts, "--scores", "reference", "--reference", golden / "reference")
    assert done.code == 0, done.err
    assert set(json.loads(done.out.splitlines()[0])["scores"]) == {"reference"}


def test_a_frequency_table_makes_dc_pdd_computable(assay, texts, golden):
    built = assay("frequencies", golden / "model", texts, "-o", "table.npz")
    assert built.code == 0, built.err
    done = assay("score", golden / "model", texts, "--scores", "dc_pdd", "--frequencies", "table.npz")
    assert set(json.loads(done.out.splitlines()[0])["scores"]) == {"dc_pdd"}


def test_a_list_of_scores_leaves_out_what_cannot_be_computed_and_says_so(assay, texts, golden):
    done = assay("score", golden / "model", texts, "--scores", "all", "--limit", "2")
    assert done.code == 0, done.err
    assert "dc_pdd was left out" in done.err
    assert "reference was left out" in done.err
    assert "dc_pdd" not in json.loads(done.out.splitlines()[0])["scores"]


def test_the_cache_can_be_looked_at_and_emptied(assay, texts, golden):
    assay("score", golden / "model", texts, "--scores", "loss")
    assert json.loads(assay("cache", "info", "--json").out)["entries"] == 24
    assert "24 texts" in assay("cache", "info").out
    assert "24 texts removed" in assay("cache", "clear").out
    assert json.loads(assay("cache", "info", "--json").out)["entries"] == 0


def test_every_benchmark_of_the_list_can_be_shown(assay):
    names = [info["name"] for info in json.loads(assay("benchmarks", "list", "--json").out)]
    assert {"humaneval", "mbpp", "apps", "bigcodebench", "wikimia"} <= set(names)
    for name in ("humaneval", "wikimia"):
        assert json.loads(assay("benchmarks", "show", name, "--json").out)["name"] == name
    assert "sanitized: sanitized-mbpp.json, sanitized/*.parquet" in assay("benchmarks", "show", "mbpp").out


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["demo"],
        ["audit"],
        ["calibrate"],
        ["score"],
        ["report"],
        ["benchmarks", "show"],
        ["frequencies"],
        ["cache", "info"],
        ["lab", "testbed", "plant"],
    ],
)
def test_every_command_has_help_with_an_example(assay, command):
    done = assay(*command, "--help")
    assert done.code == 0
    assert "assay " in done.out
    if command:
        assert "Example" in done.out


@pytest.mark.slow
def test_the_demo_tells_the_whole_story(assay, tmp_path):
    done = assay("demo", "--per-dose", "10", COLUMNS="80")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) <= 25, done.out
    assert "standard-library functions of known dose" in assay("report", "assay-demo", "-v").out
    summary = json.loads((tmp_path / "assay-demo" / "summary.json").read_text())
    found = {entry["score"]: entry for entry in summary["summaries"]}
    assert [point["dose"] for point in found["mid_pit"]["doses"]] == [1, 2, 4, 8, 16, 32]
    assert found["mid_pit"]["calibration"]["by_dose"]
    assert "dc_pdd" in found
    assert (tmp_path / "assay-demo" / "report.html").is_file()


@pytest.mark.slow
def test_the_demo_traces_a_renamed_function_and_leaves_what_is_needed_to_do_it_again(assay):
    done = assay("demo", "--per-dose", "10")
    assert done.code == 0, done.err
    origin, found = re.search(r"Traced: (\S+), its .*\n  1\. (\S+): 100% of it", done.out).groups()
    assert found == origin
    again = assay("trace", "assay-demo/renamed.py", "--index", "assay-demo/functions.index", "--json")
    assert again.code == 0, again.err
    assert origin in again.out


@pytest.mark.slow
def test_runs_are_compared_without_a_model(assay, texts, unseen, golden):
    for name, data in (("one", texts), ("two", unseen)):
        assay("audit", golden / "model", data, "--scores", "loss", "--describe", "--out", name)
    shown = assay("report", "one", "two", "--figure", "coverage")
    assert (shown.code, shown.out.count("100\u00a0%")) == (0, 2), shown.err
    found = json.loads(assay("report", "one", "two", "--figure", "flagged", "--json").out)
    assert [(cell["run"], cell["value"]) for cell in found] == [("one", None), ("two", None)]
    assert "| model |" in assay("report", "one", "two", "--format", "markdown").out
    assert assay("report", "nowhere", "one").code == 2


@pytest.mark.parametrize(
    ("groups", "seen", "advice"),
    [
        (
            ["one"] * 12,
            "of 1 group (12 texts)",
            "; audit more of it, or name another column of groups (--columns group=",
        ),
        (list("abcd"), "of 4 groups (4 texts)", "; audit more of it\n"),
    ],
)
def test_too_few_groups_of_many_texts_are_told_from_few_texts(assay, unseen, tmp_path, groups, seen, advice):
    """A column of groups may hold something else than its reader thinks; a small benchmark is just small."""
    table = tmp_path / "table.jsonl"
    rows = [{"text": f"def f{at}(x):\n    return x + {at}\n", "group": group} for at, group in enumerate(groups)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = assay("audit", "builtin:small", table, "--unseen", unseen)
    assert (done.code, f"the benchmark is {seen}" in done.err, advice in done.err) == (2, True, True)
