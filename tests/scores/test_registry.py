"""The registry: what entries declare, and that nothing else names a detector."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.errors import ScoreError
from assay.scores import (
    DETECTORS,
    SCORES,
    DatasetDetector,
    Detector,
    LogProbs,
    default_scores,
    detectors_of,
    flagged,
    headline_score,
    one_pass,
    score,
)

SOURCE = Path(assay.__file__).parent
# these are also words of other things: roles of models, forms of text, modules, columns of statistics
AMBIGUOUS = {"entropy", "kds", "loss", "lowercase", "mean", "perplexity", "rank", "reference", "zlib"}


def test_every_detector_has_its_own_name_in_the_table():
    assert {name: detector.name for name, detector in DETECTORS.items()} == {name: name for name in DETECTORS}
    assert len(DETECTORS) == len(set(DETECTORS))


def test_each_kind_has_its_entries():
    kinds = {kind: {name for name, entry in DETECTORS.items() if entry.kind == kind} for kind in KINDS}
    assert kinds == {
        "sample": set(SCORES),
        "dataset": set(detectors_of(DatasetDetector)),
    }
    assert all(kinds.values())


KINDS = ("sample", "dataset")


def test_a_detector_states_a_title_a_formula_and_a_reference():
    for detector in DETECTORS.values():
        assert all((detector.title, detector.formula, detector.reference, detector.positive)), detector.name


@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in AMBIGUOUS])
def test_no_module_but_its_own_names_a_detector(name):
    """Docstrings may give examples; a string constant or an identifier elsewhere would be a second list."""
    own = re.compile(rf"^(def {name}\(|NAME = \"{name}\"|    name=\"{name}\")", re.MULTILINE)
    naming = re.compile(rf"[\"']{name}[\"':]")
    files = [path for path in SOURCE.rglob("*.py") if naming.search(path.read_text("utf-8"))]
    assert all(own.search(path.read_text("utf-8")) for path in files), files


def test_the_headline_of_each_access_may_carry_a_verdict():
    for access in ("gray", "black"):
        assert "verdict" in headline_score(access).flags
        assert headline_score(access).access == access
    with pytest.raises(ScoreError, match="expected the flag verdict"):
        Detector(name="x", title="x", formula="x", reference="x", access="gray", flags={"headline"})


@pytest.mark.parametrize("name", ["loss", "perplexity", "zlib", "min_k", "rank", "log_rank", "entropy", "lrr"])
def test_raw_likelihoods_and_ranks_carry_no_verdict(name):
    assert "verdict" not in SCORES[name].flags


def test_contrasts_with_variants_or_a_parent_model_may_carry_a_verdict():
    contrasts = {name for name, entry in SCORES.items() if entry.needs_variants or entry.access == "two models"}
    assert contrasts - {"wbc", "ez_mia"} < set(flagged("verdict"))  # how often these two are wrong was not measured


def test_default_scores_cost_one_pass_or_only_generated_text():
    assert default_scores("gray") == one_pass()
    assert default_scores("black") == ("ngram_generation",)
    assert default_scores("two models") == ()


def test_a_score_without_a_docstring_or_with_an_unknown_need_is_refused():
    with pytest.raises(ScoreError, match="no docstring"):

        @score(title="x", formula="x", reference="x")
        def silent(target: LogProbs) -> float:
            return 0.0

    with pytest.raises(ScoreError, match="parameter text has type <class 'str'>, expected one such as LogProbs"):

        @score(title="x", formula="x", reference="x")
        def wrong(text: str) -> float:
            """Take a plain string."""
            return 0.0


def test_listing_the_scores_imports_no_model_library_and_no_detector_of_data_sets():
    code = (
        "import sys; from assay.scores import SCORES, DETECTORS; assert len(SCORES) < len(list(DETECTORS)); "
        "print([m for m in sys.modules if m in ('torch', 'transformers', 'sklearn') or 'detectors.' in m])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
