"""The rule of the verdict gives, to six digits, what it gave when it became the only one."""

import json

import pytest

from assay.types import Undecided, Verdict
from support.known_truth import CASES, DOSES, PER_DOSE, PINNED, audited, outcome, texts

CONTENT = json.loads(PINNED.read_text("utf-8"))
VERDICTS = {name: case["verdict"] for name, case in CONTENT["cases"].items()}


@pytest.fixture(scope="module")
def known():
    found = texts()
    if found.digest != CONTENT["texts"]:
        pytest.skip(f"this standard library has other functions than that of Python {CONTENT['python']}")
    return found


@pytest.mark.slow
def test_every_case_has_its_verdict_its_reason_and_its_figures(known):
    """One test, not one for each case: the cases share texts, and each text is scored once."""
    differing = []
    for name, case in CASES.items():
        found, pinned = outcome(audited(case, known)), CONTENT["cases"][name]
        same = found.keys() == pinned.keys() and all(
            found[key] == (pytest.approx(value, rel=1e-5, abs=1e-6) if is_figure(value) else value)
            for key, value in pinned.items()
        )
        if not same:
            differing.append(f"{name}: {found}; expected {pinned}")
    assert not differing, "\n".join(differing)


def is_figure(value):
    return isinstance(value, float) or (isinstance(value, list) and None not in value)


def test_the_file_has_every_case_and_no_other():
    assert list(CONTENT["cases"]) == list(CASES)


def test_every_verdict_occurs_and_most_reasons():
    """The others are among the cases of `test_verdict.py`."""
    reasons = {case["reason"] for case in CONTENT["cases"].values()}
    assert set(VERDICTS.values()) == {verdict.value for verdict in Verdict}
    assert reasons >= {None, Undecided.NO_UNSEEN_TEXT, Undecided.UNFIT_SCORE, Undecided.NOT_MEASURED, Undecided.TOO_FEW}
    assert reasons & {Undecided.FORM, Undecided.OUTSIDE, Undecided.EASIER}


def test_never_seen_texts_are_never_accused():
    clean = [name for name in VERDICTS if name.startswith(("never seen", "seen by no model", "seen 32 times by the"))]
    assert len(clean) > 8
    assert not [name for name in clean if VERDICTS[name] in (Verdict.FAMILIAR, Verdict.CONTAMINATED)]


def test_seen_texts_are_found_from_four_times_on_and_never_called_clean():
    by_dose = {dose: VERDICTS[f"seen {dose} times, {PER_DOSE} texts"] for dose in DOSES}
    assert [dose for dose, verdict in by_dose.items() if verdict == Verdict.FAMILIAR.value] == [4, 8, 32]
    assert Verdict.NO_EVIDENCE.value not in by_dose.values()
