"""Derivations of texts, as a plug-in declares them: asked for by a type, made once, passed on to the score."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from assay.errors import MissingCapability
from assay.scores import Count, Derivation, Derived, LogProbs, score
from assay.scores.registry import ScoreRequest
from assay.scoring import plan, score_samples
from assay.types import Rejected, Sample
from support.table_model import TableModel

MODEL = TableModel.trained(["a b c a b c"], order=1)


@dataclass
class Lengths:
    """The length of each text, n times; nothing of one without a c."""

    calls: int = 0
    digest: str = "lengths"

    def __call__(self, samples, n):
        self.calls += 1
        return [Derived((len(s.text),) * n, {"x": 1}) if "c" in s.text else Rejected("no c") for s in samples]


LENGTHS = Derivation(
    "lengths", needs="n lengths", missing="needs a ruler", open=lambda _: Lengths(), required=("ruler",)
)


@score(title="Longest", formula="max", reference="a test")
def longest(target: LogProbs, lengths: Annotated[tuple[int, ...], LENGTHS], *, n: Count = 2) -> float:
    """Length of the text."""
    assert len(lengths) == n
    return float(max(lengths))


REQUESTS = [ScoreRequest("longest", longest, {}), ScoreRequest("longest:n=3", longest, {"n": 3})]


def test_a_declared_derivation_shows_in_the_needs_and_the_cost_of_a_score():
    assert longest.needs().endswith("n lengths")
    assert (longest.access, longest.passes) == ("several models", 4)


def test_a_block_of_samples_is_derived_once_for_all_scores_and_reasons_are_passed_on():
    deriver = Lengths()
    planned = plan(REQUESTS, {"target": MODEL}, derivers={"lengths": deriver})
    assert planned.derivations == {"lengths": 3}
    table = score_samples([Sample("1", "a b c"), Sample("2", "a b a b")], planned)
    assert table.values["longest"][0] == table.values["longest:n=3"][0] == len("a b c")
    assert table.reasons["longest"][1] == "no c"
    assert table.counts["longest", "x"] == 1
    assert deriver.calls == 1


def test_a_score_whose_derivation_nothing_makes_is_refused():
    with pytest.raises(MissingCapability, match="score longest needs a ruler"):
        plan(REQUESTS, {"target": MODEL})
