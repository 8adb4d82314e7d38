"""From text to fingerprints: what each channel ignores, what it keeps, and the way back to the text."""

import operator
import random
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.languages import LANGUAGES, NEUTRAL, languages_with, lexical_rules
from assay.retrieval import DEFAULT, PAPER, Channel, Fingerprints, Profile, TooShort, fingerprint

COMMENTS = {name: ["# don't\n", "#\r\n"] for name in ("python", "ruby")} | {
    None: ["# don't\n", '/* " */', "// 'x\n", "-- x\n"]
}
C_COMMENTS = ["// don't\n", "//\r\n", '/* " */', "/* a\n * b */", "/**/"]
BLANKS = [" ", "\n", "\r\n", "\t", "\r", "\f", "\u00a0", "\u3000", "\ufeff", "\u200b", " \\\n", "\\\r\n"]
OPERATORS = ["+", "-", "=", "==", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "<", ">>", "!", "&&", "×"]
LITERALS = ["0", "1.5e-3", "0xFF", "1_000", '"a b # // c"', '"\\""']
SMALL = Profile("small", (Channel("characters", k=4, w=3), Channel("tokens", k=3, w=2)))

languages = pytest.mark.parametrize("language", [*languages_with("functions"), None])
names = st.from_regex(r"[A-Za-zé_][a-zé0-9_]{1,20}", fullmatch=True)


def is_free(name, language):
    rules = lexical_rules(language)
    return name not in rules.reserved | rules.directives


@cache
def words(language):
    reserved = st.sampled_from(sorted(lexical_rules(language).reserved))
    free = names.filter(lambda name: is_free(name, language))
    return st.one_of(free, reserved, st.sampled_from(OPERATORS), st.sampled_from(LITERALS))


@cache
def gaps(language):
    """Layout between two words: at least one blank, so that words stay apart."""
    comments = [f" {entry} " for entry in COMMENTS.get(language, C_COMMENTS)]
    blanks = st.sampled_from([*BLANKS, *comments])
    return st.builds(operator.add, blanks, st.one_of(st.just(""), blanks))


def texts(language):
    return st.lists(st.tuples(words(language), gaps(language)), min_size=12, max_size=30)


def hashes(text, language, form, profile=SMALL):
    found = fingerprint(text, language, profile)[form]
    assert isinstance(found, Fingerprints)
    return found.hashes.tolist()


@languages
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_layout_comments_and_line_ends_change_no_fingerprint(language, data):
    parts = data.draw(texts(language))
    laid_out = "".join(part + gap for part, gap in parts)
    plain = " ".join(part for part, _ in parts)
    for form in ("characters", "tokens"):
        assert hashes(laid_out, language, form) == hashes(plain, language, form)


@languages
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_consistent_renaming_changes_no_token_fingerprint(language, data):
    parts = [part for part, _ in data.draw(texts(language))]
    old = sorted({part for part in parts if re.fullmatch(r"[^\W\d]\w*", part) and is_free(part, language)})
    new = {name: f"{random.Random(name).choice('abcé_')}_{at}" for at, name in enumerate(old)}
    renamed = " ".join(new.get(part, part) for part in parts)
    assert hashes(renamed, language, "tokens") == hashes(" ".join(parts), language, "tokens")


def test_renaming_changes_the_character_fingerprints_and_no_token_fingerprint():
    text = "total = total + price * count\nprint(total, price, count)\n" * 3
    renamed = text.replace("total", "result").replace("price", "cost").replace("count", "number")
    first, second = (fingerprint(value, "python") for value in (text, renamed))
    assert not np.intersect1d(first["characters"].hashes, second["characters"].hashes).size
    assert np.array_equal(first["tokens"].hashes, second["tokens"].hashes)


@pytest.mark.parametrize(
    ("before", "after"),
    [("if a: b", "while a: b"), ("a = b + c", "a = b - c"), ("a = 1", 'a = "1"'), ("f(a)", "f[a]")],
)
def test_another_keyword_operator_or_kind_of_literal_changes_the_token_fingerprints(before, after):
    profile = Profile("tokens", (Channel("tokens", k=3, w=1),))
    first, second = (hashes(text, "python", "tokens", profile) for text in (before, after))
    assert first != second


def test_the_value_of_a_literal_does_not_matter_to_tokens():
    first, second = ('f("a", 1) + [x]', 'f("bcd", 2.5e-3) + [x]')
    assert hashes(first, "python", "tokens") == hashes(second, "python", "tokens")


marks = st.sampled_from([*"\r\n\t \"'`/*#\\{}$.eR1(", "\r\n", "ab"])
wild = st.lists(st.one_of(st.characters(), marks), max_size=100).map("".join)


@languages
@settings(deadline=None, max_examples=30)
@given(text=wild)
def test_positions_lead_back_to_the_characters_of_the_text(language, text):
    for form, found in fingerprint(text, language, SMALL).items():
        if isinstance(found, TooShort):
            assert found.units < found.channel.k
            continue
        ends = [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
        for at in range(len(found)):
            start, stop = int(found.starts[at]), int(found.stops[at])
            line = sum(end <= start for end in ends)
            assert found.lines[at] == line + 1
            assert found.columns[at] == start - ([0, *ends][line]) + 1
            assert found.last_lines[at] == sum(end <= stop - 1 for end in ends) + 1
        assert np.array_equal(found.positions, np.sort(found.positions))
        assert (found.stops > found.starts).all()
        assert form == found.channel.form


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_ends_at_lf_crlf_or_cr(end):
    found = fingerprint(end.join(["abcd", "", "efgh", "  ijkl"]), "python", SMALL)["characters"]
    places = dict(
        zip(found.positions.tolist(), zip(found.lines, found.columns, found.last_lines, strict=True), strict=True)
    )
    expected = {
        0: (1, 1, 1),
        1: (1, 2, 3),
        2: (1, 3, 3),
        3: (1, 4, 3),
        4: (3, 1, 3),
        5: (3, 2, 4),
        6: (3, 3, 4),
        7: (3, 4, 4),
        8: (4, 3, 4),
    }
    assert places == {position: expected[position] for position in places}
    assert len(places) >= 3


@settings(deadline=None, max_examples=60)
@given(text=st.text(st.sampled_from("abc=+() \n\té日\U0001f600"), min_size=0, max_size=80))
def test_a_character_gram_covers_exactly_its_k_visible_characters(text):
    found = fingerprint(text, "python", SMALL)["characters"]
    if isinstance(found, Fingerprints):
        visible = "".join(text.split())
        assert found.units == len(visible)
        for position, start, stop in zip(found.positions, found.starts, found.stops, strict=True):
            assert "".join(text[start:stop].split()) == visible[position : position + 4]


def test_a_shared_fragment_points_at_its_lines_on_both_sides():
    shared = "for item in basket:\n    total += item.price * item.count\n"
    first = fingerprint("import os\n\n" + shared, "python")["characters"]
    second = fingerprint("# other\nclass A:\n    pass\n\n\n" + shared, "python")["characters"]
    common, at, there = np.intersect1d(first.hashes, second.hashes, return_indices=True)
    assert len(common)
    assert set(first.lines[at]) <= {3, 4}
    assert (second.lines[there] - first.lines[at] == 3).all()


@languages
@pytest.mark.parametrize("text", ["", "\n", "x", "# a", "/* a */", "\ufeff", "\0", "\ud800", '"', "'", "`", "/*", "#!"])
def test_what_is_shorter_than_a_gram_is_too_short_in_every_channel(language, text):
    for form, found in fingerprint(text, language).items():
        assert isinstance(found, TooShort)
        assert found.reason.startswith(f"too short: {found.units} {form}")


@pytest.mark.parametrize(("length", "kind"), [(14, TooShort), (15, Fingerprints)])
def test_k_characters_are_enough(length, kind):
    assert isinstance(fingerprint("x" * length, "python")["characters"], kind)


def test_one_channel_may_be_too_short_and_the_other_not():
    found = fingerprint("a_rather_long_name", "python")
    assert isinstance(found["characters"], Fingerprints)
    assert found["tokens"] == TooShort(DEFAULT.channels[1], 1)


def test_the_paper_profile_has_16_bits_and_characters_alone():
    found = fingerprint("def add(first, second):\n    return first + second\n" * 9, "python", "paper")
    assert list(found) == ["characters"]
    assert found["characters"].hashes.max() < 2**16


def test_profiles_go_by_name():
    text = "def add(first, second):\n    return first + second\n"
    for profile in (DEFAULT, PAPER):
        assert hashes(text, "python", "characters", profile.name) == hashes(text, "python", "characters", profile)


def test_an_unknown_language_is_read_by_the_neutral_rules():
    assert lexical_rules("cobol") is NEUTRAL
    assert lexical_rules(None) is NEUTRAL
    assert lexical_rules("C++") is LANGUAGES["cpp"].lexical


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Channel("words", 15, 10),
        lambda: Channel("characters", 15, 10, "md5"),
        lambda: Channel("tokens", 20, 10, "sha1-16"),
        lambda: Channel("characters", 0, 10),
        lambda: Channel("characters", 15, 0),
        lambda: Profile("none", ()),
        lambda: Profile("twice", (Channel("tokens", 20, 10), Channel("tokens", 5, 4))),
        lambda: fingerprint("x", "python", "fine"),
    ],
)
def test_a_channel_or_profile_that_cannot_be_is_refused(wrong):
    with pytest.raises(AssayError, match=r"expected|defined"):
        wrong()


def test_the_guarantee_of_a_channel_is_w_plus_k_minus_1():
    assert [channel.guarantee for channel in DEFAULT.channels] == [24, 29]


def test_lines_of_go_may_be_joined_by_semicolons():
    text = 'x := g(a)\nfor i := 0; i < 3; i++ {\n\tx += "a;b" + i // c; d\n}\nif h(x) {\n\treturn err\n}'
    joined = 'x := g(a); for i := 0; i < 3; i++ { x += "a;b" + i }; if h(x) { return err; };'
    for form, prints in fingerprint(text, "go").items():
        assert set(prints.hashes.tolist()) == set(fingerprint(joined, "go")[form].hashes.tolist())
