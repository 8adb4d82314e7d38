"""The first screen of a detection: an answer and a reason for each piece, in few words."""

from dataclasses import replace

import numpy as np
import pytest

from assay.authorship import Detection
from assay.authorship.declared import Signal
from assay.authorship.describing import declared_reasons, writer_of
from assay.authorship.detecting import Scored, UnitResult
from assay.authorship.reference import Reference, ReferenceAnswer
from assay.authorship.units import CodeUnit
from support.first_screen import broken_limits

USUAL, UNUSUAL = ReferenceAnswer(0.4, 0.5, 200), ReferenceAnswer(0.005, 0.02, 200)
NO_ANSWER = ReferenceAnswer(abstained="unknown language")
PEOPLE = Reference("loss", {}, {})
DECLARED = (Signal("generator comment", "# written by ChatGPT", "a.py", 3),)


def detection(*judgements: ReferenceAnswer | None, signals: tuple[Signal, ...] = ()) -> Detection:
    count = len(judgements)
    values = np.arange(count, dtype=np.float64)
    scored = Scored("loss", values, {"loss": values}, {"loss": (None,) * count}, (), ())
    rows = tuple(
        UnitResult(CodeUnit(path, "x = 1", "python"), 50, float(at), judgement, ())
        for at, (path, judgement) in enumerate(zip(("a.py", "b.py", "c.py"), judgements, strict=False))
    )
    return Detection(rows, scored, signals, None if judgements[0] is None else PEOPLE, None)


@pytest.mark.parametrize(
    ("found", "verdict", "answers"),
    [
        (detection(None), "Cannot tell", ["cannot tell"]),
        (detection(NO_ANSWER), "Cannot tell", ["cannot tell"]),
        (detection(USUAL), "Usual style", ["usual"]),
        (detection(UNUSUAL), "Unusual style", ["unusual"]),
        (detection(USUAL, NO_ANSWER, UNUSUAL), "Unusual style", ["unusual", "cannot tell", "usual"]),
        (detection(USUAL, UNUSUAL, signals=DECLARED), "A model took part", ["a model, declared", "unusual"]),
    ],
)
def test_the_first_screen_is_an_answer_within_its_limits(found: Detection, verdict: str, answers: list[str]) -> None:
    report = found.describe()

    assert report.answer is not None
    assert report.answer.verdict == verdict
    assert not list(broken_limits(report.answer))
    assert [row.cells[1] for row in report.tables[0].rows] == answers


def test_a_commit_that_declares_a_generator_is_a_reason_for_the_files_that_it_changed() -> None:
    by_commit = Signal("commit trailer", "Co-authored-by: Claude", commit="ab12", files=("a.py",))
    found = replace(detection(USUAL), signals=(by_commit,))

    expected = ("a model, declared", "commit trailer of a commit that changed it")
    assert writer_of(found.results[0], declared_reasons(found.signals)) == expected


def test_a_record_of_lines_or_of_a_commit_says_nothing_of_other_functions_of_the_file() -> None:
    record = Signal("line record", "git-ai: lines 9-11", commit="ab12", files=("a.py",))
    trailer = Signal("commit trailer", "Co-authored-by: Claude", commit="ab12", files=("a.py",))
    assert declared_reasons([record])
    assert not declared_reasons([record, trailer], of_parts=True)


def test_the_files_of_a_commit_are_known_from_any_folder(tmp_path, monkeypatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    signal = Signal("commit trailer", "Claude", commit="ab12", files=("inner/a.py", "b.py"), root=str(tmp_path))
    first, second = detection(USUAL, USUAL).results

    assert writer_of(first, declared_reasons([signal]))[0] == "a model, declared"
    assert writer_of(second, declared_reasons([signal]))[0] == "usual"
    answer = replace(detection(USUAL), signals=(signal,)).describe().answer
    assert answer is not None
    assert answer.next_step == "--by line shows who wrote which line"


def test_an_agent_that_is_set_up_does_not_make_the_code_a_models() -> None:
    found = detection(None, signals=(Signal("agent configuration", "CLAUDE.md", "CLAUDE.md"),))
    report = found.describe()

    assert report.answer is not None
    assert report.answer.verdict == "Cannot tell"
    assert "set up here" in report.answer.measured
    assert not list(broken_limits(report.answer))


def test_a_declaration_counts_its_signals_before_what_style_says() -> None:
    found = detection(USUAL, UNUSUAL, signals=DECLARED).describe().answer
    assert found is not None
    assert found.measured == "1 declared signal; 1 of 2 texts unusual."
