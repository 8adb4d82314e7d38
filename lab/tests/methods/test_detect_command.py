"""`assay detect` with the detectors of the laboratory, as a person meets it."""

import json

import pytest

from assay.errors import ScoreError
from assay.scores import request
from support.authorship_texts import terse


def test_detectors_with_further_models(assay, tmp_path):
    (tmp_path / "a.py").write_text(terse(1))
    (tmp_path / "b.py").write_text("x")
    names = ("binoculars", "detect_gpt:n=2", "npr:n=2", "detect_code_gpt:n=2")
    done = assay(
        "detect", "a.py", "b.py", "--scores", ",".join(names), "--model", "builtin:small",
        "--score-model", "observer=builtin:small",
        "--score-model", "filler=builtin:small", "--json", "--no-progress",
    )  # fmt: skip
    assert done.code == 0, done.err
    long, short = json.loads(done.out)["pieces"]
    assert set(long["scores"]) == set(names)
    assert None not in long["scores"].values()
    assert short["scores"]["npr:n=2"] is None
    assert "nothing to mask" in short["unscorable"]["npr:n=2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("detect", "a.py", "--score-model", "filler=builtin:small"),
            "--score-model has no effect: no requested score needs the filler; expected --scores with detect_gpt",
        ),
        (
            ("detect", "a.py", "--score-model", "encoder=builtin:fragments"),
            "expected --scores with revision_similarity",
        ),
        (("detect", "a.py", "--scores", "atc", "--score-model", "reviser=builtin:small"), "follows no instructions"),
        (
            ("authorship", "calibrate", ".", "--undated", "-o", "p.json", "--score-model", "observer=builtin:small"),
            "no effect",
        ),
        (("detect", "a.py", "--scores", "npr"), "assay detect --score-model filler=MODEL"),
        (("detect", "a.py", "--scores", "atc"), "assay detect --score-model reviser=MODEL"),
        (("detect", "a.py", "--scores", "binoculars"), "assay detect --score-model observer=MODEL"),
        (
            ("detect", "a.py", "--scores", "binoculars", "--score-model", "observer=openai:m@http://h:1/v1"),
            "shows no distributions",
        ),
        (("detect", "a.py", "--score-model", "filer=builtin:small"), "did you mean filler?"),
    ],
)
def test_bad_input_is_one_line(assay, tmp_path, arguments, message):
    (tmp_path / "a.py").write_text("x = 1\n")
    ended = assay(*arguments)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_a_value_out_of_range_is_refused_before_anything_is_run():
    with pytest.raises(ScoreError, match="n is 1, expected at least 2"):
        request("detect_gpt:n=1")
