"""The gate by language: alterations of a function in every language, and the experiment at its smallest."""

import ast
import re

import pytest

from assay.code import parses
from assay_lab.experiments import all_measurements
from assay_lab.provenance.alterations import ALTERATIONS, pasted

PYTHON = '''def total(rows, limit):
    """Add the rows."""
    count = 0
    known = {}
    for row in rows:
        name = row.name  # of the row
        value = row.value
        known[name] = value
        count += value
    if count > limit:
        raise ValueError(count)
    return count
'''
C = """int total(struct row *rows, int n, int limit) {
    int count = 0; /* of all */
    int at = 0;
    int last = n - 1;
    while (at <= last) {
        count += rows[at].value;
        at += 1;
    }
    if (count > limit) {
        report("too many {", count);
    }
    return count;
}
"""
TEXTS = {"python": PYTHON, "c": C, "java": C.replace("struct row *", "Row "), "go": C.replace(";", "")}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", list(ALTERATIONS))
def test_an_alteration_changes_what_it_says(kind, language):
    text = TEXTS[language]
    altered = ALTERATIONS[kind](text, language, 3)
    assert (altered == text) == (kind == "verbatim")
    assert bool(re.search(r"\bcount\b", altered)) == ("renamed" not in kind)
    if kind == "lines joined":
        assert altered.count("\n") < text.count("\n") - 3
    if kind == "comments removed":
        assert "of all" not in altered
        assert "Add the rows" not in altered
    if language in {"python", "c"}:
        assert parses(altered, language)


def test_reformatting_and_joining_keep_the_program():
    for kind in ("reformatted", "lines joined"):
        assert ast.dump(ast.parse(ALTERATIONS[kind](PYTHON, "python", 0))) == ast.dump(ast.parse(PYTHON))


@pytest.mark.parametrize("language", ["python", "c"])
def test_pasted_lines_lie_within_the_host(language):
    text = TEXTS[language]
    found = pasted(text, language, text, 4, seed=1)
    assert found is not None
    altered, lines = found
    assert len(lines) == 4
    assert parses(altered, language)
    inside = altered.splitlines()[lines.start - 1 : lines.stop - 1]
    assert {line.strip() for line in inside} <= {line.strip() for line in text.splitlines()}
    rest = altered.splitlines()[: lines.start - 1] + altered.splitlines()[lines.stop - 1 :]
    assert rest == text.splitlines()


@pytest.mark.slow
def test_the_experiment_finds_verbatim_copies_in_seconds():
    experiment = all_measurements()["provenance/licence_gate_languages"]
    rows = experiment.run(experiment.scales["smoke"], 0, {}).rows
    verbatim = [row for row in rows if row["kind"] == "verbatim" and row["lines"] != "6-14"]
    assert sum(row["denied"] for row in verbatim) == sum(row["planted"] for row in verbatim) > 0
    assert sum(row["first"] for row in verbatim) > 0
    (clean,) = [row for row in rows if row["kind"] == "clean"]
    assert clean["functions"] > 0
    assert len(clean["listed"]) == clean["alarms"]
