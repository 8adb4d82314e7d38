"""Many texts at once have the fingerprints that each has by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.languages import languages_with
from assay.retrieval import DEFAULT, PAPER, Channel, Fingerprints, Profile, batches, fingerprint, fingerprint_hashes

SMALL = Profile("small", (Channel("characters", k=4, w=3), Channel("tokens", k=3, w=2)))
TOKENS = Profile("tokens", (Channel("tokens", k=2, w=2),))

marks = st.sampled_from([*"\r\n\t \"'`/*#\\{}$.eR1(=+;", "\r\n", "ab", "if", "é", "日", "\ud800", "/*", '"""', "#!"])
texts = st.lists(marks, max_size=60).map("".join)
languages = st.sampled_from([*languages_with("fingerprints"), "cobol", None])


def one_by_one(text, language, profile):
    found = fingerprint(text, language, profile)
    return {form: entry.hashes.tolist() if isinstance(entry, Fingerprints) else [] for form, entry in found.items()}


def listed(found):
    return [{form: hashes.tolist() for form, hashes in entry.items()} for entry in found]


@pytest.mark.parametrize("profile", [DEFAULT, SMALL, TOKENS, PAPER], ids=lambda entry: entry.name)
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(texts, languages), max_size=12))
def test_a_text_has_the_same_fingerprints_among_others_and_alone(profile, pairs):
    given_texts, given_languages = [text for text, _ in pairs], [language for _, language in pairs]
    found = listed(fingerprint_hashes(given_texts, given_languages, profile))
    assert found == [one_by_one(text, language, profile) for text, language in pairs]


def test_joined_lines_of_go_have_the_same_fingerprints_among_others_and_alone():
    text = 'x := g(a); for i := 0; i < 3; i++ { x += "a;b" + i }; if h(x) { return err; }; return g(x, 1)\n' * 3
    assert listed(fingerprint_hashes([text, text + "é"], "go")) == [
        one_by_one(t, "go", DEFAULT) for t in (text, text + "é")
    ]


def test_where_a_batch_ends_changes_nothing(monkeypatch):
    texts = [f"def f{at}(x):\n    return x + {at} * (x - 1)\n" * (at % 4) for at in range(40)]
    whole = listed(fingerprint_hashes(texts, "python"))
    monkeypatch.setattr(batches, "BATCH_CHARACTERS", 100)
    assert listed(fingerprint_hashes(texts, "python")) == whole


def test_hashes_are_64_bit_numbers_even_where_there_is_none():
    (found,) = fingerprint_hashes(["x"], None)
    assert {hashes.dtype for hashes in found.values()} == {np.dtype(np.uint64)}


def test_no_texts_have_no_fingerprints():
    assert not list(fingerprint_hashes([], "python"))


def test_an_unknown_profile_is_refused():
    with pytest.raises(AssayError, match="fine"):
        list(fingerprint_hashes(["x"], None, "fine"))
