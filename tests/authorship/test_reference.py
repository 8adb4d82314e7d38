"""A reference flags at most the nominal share of code of its own kind, and abstains where it is too small."""

import json

import numpy as np
import pytest
from scipy.stats import beta

from assay.authorship import ADVISED, FEWEST, Code, Kind, length_class
from assay.authorship.normalising import Token
from assay.authorship.reference import BOUND_LEVEL, Reference, judged_rows
from assay.errors import DataError


def reference(m=ADVISED, seed=0, language="python", tokens=100):
    scores = np.random.default_rng(seed).normal(size=m)
    return Reference.of("d", scores.tolist(), [language] * m, [tokens] * m, [str(i) for i in range(m)])


@pytest.mark.slow
def test_the_bound_holds_with_its_confidence_over_reference_sets():
    """The true share above the threshold exceeds 5 % for at most 10 % of the reference sets."""
    from scipy.stats import norm

    exceeded = []
    for seed in range(400):
        own = reference(seed=seed)
        scores = own.cells["python", "30 to 199 tokens"]
        flagged = [s for s in scores if own.judge(float(np.nextafter(s, 10)), "python", 100).unusual]
        exceeded.append(norm.sf(min(flagged)) > 0.05)
    assert np.mean(exceeded) <= 1 - BOUND_LEVEL + 0.04


def test_the_bound_is_the_quantile_of_a_beta_distribution():
    own = reference(m=100)
    scores = own.cells["python", "30 to 199 tokens"]
    answer = own.judge(float(scores[-3]), "python", 100)
    assert answer.p_value == pytest.approx(4 / 101)
    assert answer.bound == pytest.approx(beta.ppf(BOUND_LEVEL, 4, 97))


def test_a_text_of_the_reference_is_compared_with_the_others_alone(tmp_path):
    scores = np.arange(60.0)
    digests = [f"d{i}" for i in range(60)]
    own = Reference.of("d", scores.tolist(), ["c"] * 60, [100] * 60, digests, digests=digests)
    own.save(tmp_path / "reference.json")
    own = Reference.load(tmp_path / "reference.json")
    assert own.judge(59.0, "c", 100).p_value == pytest.approx(2 / 61)
    answer = own.judge(59.0, "c", 100, digest="d59")
    assert (answer.p_value, answer.compared) == (pytest.approx(1 / 60), 59)
    assert own.judge(59.0, "c", 100, digest="another").compared == 60


def test_another_detector_is_refused():
    own = Reference("loss 12ab", {}, {})
    own.check("loss")
    own.check("loss 12ab")
    for other in ("rank", "loss 34cd"):
        with pytest.raises(DataError, match="calibrate again"):
            own.check(other)


def test_fewer_texts_than_needed_abstain_with_a_reason():
    own = Reference.of("d", [0.0] * 60, ["python"] * 50 + ["java"] * 10, [100] * 60, [str(i) for i in range(60)])
    assert "10 texts of people in java" in (own.judge(1.0, "java", 100).abstained or "")
    assert own.judge(1.0, "python", 100).abstained is None


def test_small_neighbouring_classes_are_compared_together():
    tokens = [100] * 100 + [500] * 39 + [2000] * 5 + [100] * 60 + [500] * 40 + [2000] * 6
    languages = ["go"] * 144 + ["java"] * 106
    own = Reference.of("d", [0.0] * 250, languages, tokens, [str(i) for i in range(250)])
    compared = {(language, n): own.judge(1.0, language, n).compared for language in ("go", "java") for n in (99, 999)}
    assert compared == {("go", 99): 144, ("go", 999): 144, ("java", 99): 60, ("java", 999): 46}


def test_no_more_than_the_nominal_share_is_flagged_where_the_score_rises_with_the_length():
    """One text in ten is long, and every long text scores higher than most short ones."""
    generator = np.random.default_rng(0)

    def drawn(count):
        long = generator.random(count) < 0.1
        return (generator.normal(size=count) + 2 * long).tolist(), np.where(long, 500, 100).tolist()

    shares = []
    for _ in range(60):
        own = Reference.of("d", (past := drawn(150))[0], ["go"] * 150, past[1], [str(i) for i in range(150)])
        later = [own.judge(value, "go", tokens).unusual for value, tokens in zip(*drawn(500), strict=True)]
        shares.append(np.mean(later))
    assert np.mean(shares) <= 0.05
    assert np.mean(np.array(shares) > 0.05) <= 1 - BOUND_LEVEL + 0.06


def test_the_smallest_reference_can_flag_at_five_per_cent():
    assert reference(m=FEWEST).judge(100.0, "python", 100).unusual
    with pytest.raises(DataError, match="expected at least 45"):
        reference(m=FEWEST - 1)


@pytest.mark.parametrize(
    ("tokens", "name"), [(29, None), (30, "30 to 199 tokens"), (200, "200 to 999 tokens"), (20_001, None)]
)
def test_length_classes(tokens, name):
    assert length_class(tokens) == name


def test_texts_without_a_score_or_too_short_abstain():
    own = reference()
    assert own.judge(float("nan"), "python", 100).abstained == "the text has no score"
    assert "10 tokens" in (own.judge(1.0, "python", 10).abstained or "")


def test_the_realised_rate_stays_near_the_nominal():
    realised = reference(m=1000).realised()
    assert realised is not None
    assert realised.samples == 1000
    assert realised.rate.value <= 0.07


def test_a_reference_survives_its_file(tmp_path):
    own = reference()
    own.save(tmp_path / "past.json")
    read = Reference.load(tmp_path / "past.json")
    assert read.detector == own.detector
    np.testing.assert_array_equal(read.cells["python", "30 to 199 tokens"], own.cells["python", "30 to 199 tokens"])


@pytest.mark.parametrize("content", ["", "{}", '{"format": 99}', "[1]"])
def test_other_files_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "past.json").write_text(content)
    with pytest.raises(DataError):
        Reference.load(tmp_path / "past.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": [10**400]},
        {"scores": [2.0, 1.0], "groups": ["a", "b"], "digests": ["", ""]},
        {"scores": [float("nan"), 1.0], "groups": ["a", "b"], "digests": ["", ""]},
        {"scores": [[1.0]]},
        {"scores": [float("nan")]},
        {"scores": [float("inf")]},
        {"scores": [True]},
        {"scores": ["1.0"]},
        {"language": None},
        {"groups": []},
        {"groups": [[1]]},
        {"digests": ["", ""]},
        {"length": "long"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_forged_reference_is_refused_in_one_line(tmp_path, changes):
    cell = {"language": "python", "length": "30 to 199 tokens", "scores": [1.0], "groups": ["a"], "digests": [""]}
    about = {"format": 3, "detector": "d", "source": "", "before": None, "checks": []}
    path = tmp_path / "past.json"
    path.write_text(json.dumps({**about, "cells": [cell]}))
    assert len(Reference.load(path)) == 1
    path.write_text(json.dumps({**about, "cells": [cell | changes]}))
    with pytest.raises(DataError, match="expected a file of") as ended:
        Reference.load(path)
    assert len(str(ended.value)) < 300


CHECK = {"project": "p", "language": "c", "newer": 45, "at_nominal": 3, "flagged": 2, "level": 0.05} | {
    "low": None,
    "high": None,
    "effect": 1.0,
}


@pytest.mark.parametrize(
    "changes",
    [
        *({"newer": value} for value in (0, -1, 44, 10**30)),
        *({"at_nominal": value} for value in (1, 46)),
        *({"flagged": value} for value in (-1, 4)),
        *({"level": value} for value in (float("nan"), float("inf"), 0, -1, 1.0, True, "0.05")),
        *({"low": value} for value in (float("nan"), -0.1, 2)),
        *({"high": value} for value in (float("nan"), float("inf"), -1)),
        *({"effect": value} for value in (0, -1, 1e-300, float("nan"), float("inf"), None)),
        {"language": "go"},
    ],
    ids=str,
)
def test_a_forged_check_of_newer_code_is_refused_in_one_line(tmp_path, changes):
    """Without this, a zero among its figures ends the answer with a division by zero."""
    own, path = reference(m=60, language="c"), tmp_path / "past.json"
    own.save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"checks": [CHECK]}))
    assert Reference.load(path).checks[0].newer == 45
    path.write_text(json.dumps(content | {"checks": [CHECK | changes]}))
    with pytest.raises(DataError, match="expected a file of"):
        Reference.load(path)


def test_a_class_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "past.json"
    reference().save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"cells": content["cells"] * 2}))
    with pytest.raises(DataError, match="stands twice"):
        Reference.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"source": [1]},
        {"before": 7},
        {"before": "yesterday"},
        {"unit": ["file"]},
        {"checks": [None]},
        {"detector": ["d"]},
        {"cells": {}},
    ],
    ids=str,
)
def test_a_forged_statement_of_a_reference_is_refused(tmp_path, changes):
    path = tmp_path / "past.json"
    about = {"format": 3, "detector": "d", "source": "", "before": None, "checks": [], "cells": []}
    path.write_text(json.dumps(about | changes))
    with pytest.raises(DataError, match="expected a file of"):
        Reference.load(path)


def code(tokens, language="python", per_line=10):
    return Code(tuple(Token("x", Kind.NAME, at // per_line) for at in range(tokens)), language)


def test_texts_of_no_length_class_are_not_scored():
    assert judged_rows([code(29), code(30), code(20_000), code(20_001)], None) == [1, 2]


def test_minified_texts_are_not_scored():
    assert judged_rows([code(200, per_line=60), code(200, per_line=200)], None) == [0]


def test_each_language_and_length_class_has_its_own_limit():
    codes = [code(50)] * 9 + [code(50, "java")] * 9 + [code(300)] * 2
    chosen = judged_rows(codes, 4)
    assert [sum(row in part for row in chosen) for part in (range(9), range(9, 18), range(18, 20))] == [4, 4, 2]
    assert chosen == judged_rows(codes, 4)
