"""Tests of the values that every part of assay shares."""

import pytest

from assay.types import Decision, Undecided, Verdict


def test_only_a_verdict_that_cannot_tell_has_a_reason():
    assert Decision(Verdict.CANNOT_TELL, "No unseen text.", Undecided.NO_UNSEEN_TEXT).reason == "no unseen text"
    assert Decision(Verdict.CONTAMINATED, "40 % flagged.").reason is None
    with pytest.raises(ValueError, match="only 'cannot tell' has a reason"):
        Decision(Verdict.CANNOT_TELL, "Nothing.")
    with pytest.raises(ValueError, match="only 'cannot tell' has a reason"):
        Decision(Verdict.NO_EVIDENCE, "3 % flagged.", Undecided.TOO_FEW)
