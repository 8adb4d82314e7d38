"""HumanEval-X: variants of real solutions in every language, and the benchmark's own tests on some of them."""

import gzip
import json

import pytest

from assay.code import passed, variants
from assay.code.sandbox.testing import TOOLCHAINS
from assay.errors import SandboxUnavailable

FOLDERS = {"java": "java", "cpp": "cpp", "javascript": "js", "go": "go"}


def tasks(shared_data, language):
    folder = FOLDERS[language]
    path = shared_data / "humaneval-x" / folder / "data" / f"humaneval_{folder}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no HumanEval-X here: {path} is absent")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("language", FOLDERS)
def test_every_sample_has_ten_variants(shared_data, language):
    result = [
        variants(row["prompt"] + row["canonical_solution"], language=language) for row in tasks(shared_data, language)
    ]
    assert len(result) == 164
    assert not any(variant_set.rejected for variant_set in result)
    assert not [variant_set.reason for variant_set in result if variant_set.reason]


def test_buggy_solutions_in_c_plus_plus_and_java_have_variants_too(shared_data):
    for language in ("cpp", "java"):
        path = shared_data / "humanevalpack" / language / "humanevalpack.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()][::4]
        result = [variants(row["prompt"] + row["buggy_solution"], 2, language=language) for row in rows]
        assert not any(variant_set.rejected for variant_set in result)
        assert sum(variant_set.reason is None for variant_set in result) >= len(rows) - 2


@pytest.mark.parametrize(("language", "step"), [("java", 41), ("cpp", 82), ("javascript", 41)])
@pytest.mark.usefixtures("sandbox")
def test_variants_behave_as_before_under_the_benchmarks_tests(shared_data, language, step):
    try:
        TOOLCHAINS[language].tool()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    programs = []
    for row in tasks(shared_data, language)[::step]:
        text = row["prompt"] + row["canonical_solution"]
        result = variants(text, 2, language=language, seed=1)
        programs += [f"{text}\n\n{row['test']}", *(variant.followed_by(row["test"]) for variant in result.variants)]
    outcomes = passed(programs, language=language)
    originals = [outcomes[start : start + 3] for start in range(0, len(outcomes), 3)]
    assert all(len(set(original)) == 1 for original in originals)
    assert sum(original[0] for original in originals) >= len(originals) - 1
