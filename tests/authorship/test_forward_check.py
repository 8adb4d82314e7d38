"""Newer code of the same people is flagged as announced, or the level falls, or there is no answer."""

import numpy as np
import pytest

from assay.authorship import NOMINAL, expected_flags
from assay.authorship.forward import FEWEST_NEWER, NewerPieces, forward_checks
from assay.authorship.reference import STYLE_CHANGES, Reference


def reference(old, new, files=1):
    """A reference whose older scores and newer scores are given, with so many pieces a file."""
    scores = [*old, *new]
    names = [f"{'old' if at < len(old) else 'new'}{at // files}" for at in range(len(scores))]
    digests = [str(at) for at in range(len(scores))]
    own = Reference.of("d", scores, ["c"] * len(scores), [100] * len(scores), names, digests=digests)
    return own.checked({str(at): "project" for at in range(len(old), len(scores))})


def drawn(mean, count, seed=0):
    return np.random.default_rng(seed).normal(mean, size=count).tolist()


def test_a_style_that_stays_keeps_the_nominal_level():
    (check,) = reference(drawn(0, 300), drawn(0, 200, 1)).checks
    assert (check.level, check.newer) == (NOMINAL, 200)
    assert check.flagged == check.at_nominal <= 10
    assert check.low <= check.flagged / check.newer <= check.high


def test_a_style_that_shifts_lowers_the_level_until_the_share_holds(tmp_path):
    own = reference(drawn(0, 300), drawn(0.7, 200, 1))
    (check,) = own.checks
    assert check.at_nominal > 10 >= check.flagged
    assert 0 < check.level < NOMINAL
    own.save(tmp_path / "past.json")
    assert Reference.load(tmp_path / "past.json").checks == own.checks
    assert own.judge(99.0, "c", 100, digest="x").level == check.level


def test_a_style_that_changes_altogether_gives_no_answer():
    own = reference(drawn(0, 300), drawn(5, 200, 1))
    assert own.checks[0].level is None
    assert own.judge(9.0, "c", 100).abstained == STYLE_CHANGES


def test_newer_pieces_of_one_file_have_no_interval_and_survive_the_file(tmp_path):
    own = reference(drawn(0, 300), drawn(0, 200, 1), files=500)
    assert (own.checks[0].low, own.checks[0].high) == (None, None)
    own.save(tmp_path / "past.json")
    assert Reference.load(tmp_path / "past.json").checks == own.checks
    assert expected_flags(own.checks, 40)[0] <= 2


def test_a_few_newer_pieces_conclude_nothing():
    own = reference(drawn(0, 300), drawn(5, FEWEST_NEWER - 1, 1))
    assert own.checks == ()
    assert own.judge(99.0, "c", 100).unusual


def test_all_projects_of_a_language_have_the_level_of_the_strictest():
    calm, shifted = np.linspace(0.01, 1, 100), np.concatenate([np.linspace(0.01, 0.04, 20), np.linspace(0.1, 1, 80)])
    files, cuts = [str(at) for at in range(100)], np.full(100, 0.03)
    checks = forward_checks([NewerPieces(name, "c", p, cuts, files) for name, p in (("a", calm), ("b", shifted))])
    assert checks[0].level == checks[1].level < 0.02
    assert all(check.flagged <= 5 for check in checks)


@pytest.mark.parametrize("files", [1, 5])
def test_the_number_of_flags_lies_in_its_interval(files):
    """95 % of the later sets of the same share, drawn with as much dependence within files, lie inside."""
    draw = np.random.default_rng(0)
    inside = []
    for _ in range(300):
        hits = np.repeat(draw.random(200 // files) < 0.04, files)
        names = np.repeat(np.arange(200 // files), files).astype(str).tolist()
        (check,) = forward_checks([NewerPieces("p", "c", np.where(hits, 0.03, 0.5), np.full(200, 0.04), names)])
        later = np.repeat(draw.random(40 // files) < 0.04, files).sum()
        if check.level is not None:
            _, low, high = expected_flags([check], 40)
            inside.append(low <= later <= high)
    assert np.mean(inside) >= 0.93
