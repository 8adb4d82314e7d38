"""Which functions get a dose, and which dose."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.evaluation.near_duplicates import ShingleIndex
from assay.ground_truth import LIBRARY_FUNCTION, PACKAGE_FILE, LibraryFunction, read_manifest
from assay_lab.builtin import base_corpus
from assay_lab.builtin.base_corpus import CorpusRecipe, assign_doses, unique_functions
from assay_lab.builtin.prepared import MANIFEST, prepare_corpus
from support.tiny import MODULES, TINY

RECIPE = CorpusRecipe(never_seen=20, per_dose=7)
WANTED = 20 + 6 * 7


def function(i):
    text = f"def f{i}(x):\n    y{i} = x ** {i}\n    z{i} = y{i} % {i + 3}\n    return z{i} - {i * i}\n"
    return LibraryFunction(path="m.py", name=f"f{i}", line=1, text=text)


FUNCTIONS = [function(i) for i in range(100)]


def test_each_dose_gets_as_many_functions_as_the_recipe_says():
    counts = Counter(dose for _, dose in assign_doses(FUNCTIONS, RECIPE))
    assert counts == {0: 20, 1: 7, 2: 7, 4: 7, 8: 7, 16: 7, 32: 7}


def test_no_function_has_two_doses():
    assert len({found.digest for found, _ in assign_doses(FUNCTIONS, RECIPE)}) == WANTED


def test_a_dose_depends_on_text_and_seed_alone():
    shuffled = random.Random(3).sample(FUNCTIONS, len(FUNCTIONS))
    renamed = [replace(found, path="other.py", name="g", line=9) for found in shuffled]
    dealt = {found.digest: dose for found, dose in assign_doses(FUNCTIONS, RECIPE)}
    assert {found.digest: dose for found, dose in assign_doses(renamed, RECIPE)} == dealt
    assert {f.digest: d for f, d in assign_doses(FUNCTIONS, replace(RECIPE, seed=21))} != dealt


def test_too_few_functions_are_refused():
    with pytest.raises(DataError, match=f"gives {WANTED - 1} functions.*at least {WANTED}"):
        assign_doses(FUNCTIONS[: WANTED - 1], RECIPE)


def test_what_stands_in_a_package_gets_no_dose():
    package = "import os\n\n" + FUNCTIONS[4].text.replace("    ", "\t") + "\nprint(1)\n"
    assert FUNCTIONS[4] not in unique_functions(FUNCTIONS, [package], RECIPE)
    assert len(unique_functions(FUNCTIONS, [package], RECIPE)) == len(FUNCTIONS) - 1


def test_of_near_duplicates_one_is_left():
    copy = replace(FUNCTIONS[4], name="copy", text=FUNCTIONS[4].text.replace("return", "return +"))
    kept = unique_functions([*FUNCTIONS, copy], [], RECIPE)
    assert len(kept) == len(FUNCTIONS)
    assert (copy in kept) != (FUNCTIONS[4] in kept)


@pytest.fixture(scope="module")
def manifest(tiny_corpus):
    return read_manifest(tiny_corpus / MANIFEST)


class TestTinyCorpus:
    def test_every_group_has_its_size(self, manifest):
        assert Counter(entry.dose for entry in manifest.functions()) == {0: 12, 1: 5, 8: 5}

    def test_the_header_counts_the_tokens_of_the_entries(self, manifest):
        spent = {PACKAGE_FILE: 0, LIBRARY_FUNCTION: 0}
        for entry in manifest.entries:
            spent[entry.kind] += entry.dose * (entry.tokens + 2)
        assert manifest.header["tokens_trained"] == sum(spent.values())
        assert manifest.header["function_tokens_trained"] == spent[LIBRARY_FUNCTION]

    def test_the_token_budget_is_met_by_the_last_file(self, manifest):
        last = [entry for entry in manifest.entries if entry.kind == PACKAGE_FILE][-1]
        total = manifest.header["tokens_trained"]
        assert total - (last.tokens + 2) < TINY.corpus.tokens <= total

    def test_held_out_files_are_not_trained_on(self, manifest):
        trained_on = {entry.sha256 for entry in manifest.entries}
        assert len(manifest.header["validation_sha256"]) == TINY.corpus.validation_files
        assert not trained_on & set(manifest.header["validation_sha256"])

    def test_another_recipe_in_the_same_folder_is_refused(self, tiny_corpus):
        with pytest.raises(DataError, match=r"another recipe, different in seed"):
            prepare_corpus(tiny_corpus, replace(TINY.corpus, seed=1))

    def test_no_function_is_near_another(self, manifest, library_texts):
        texts = [library_texts[entry.sha256] for entry in manifest.functions()]
        assert ShingleIndex(texts).first_of_each_kind(TINY.corpus.near_duplicate).all()


def test_too_little_text_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(base_corpus, "library_paths", lambda _: MODULES)
    with pytest.raises(DataError, match=r"the installed packages give \d+ tokens; expected at least"):
        prepare_corpus(tmp_path / "corpus", replace(TINY.corpus, tokens=10**9))
    assert not (tmp_path / "corpus").exists()
