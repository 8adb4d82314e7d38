"""Where names come from: style, part, corpus."""

import pytest

from assay.code import DictionaryPool, ProposedPool, SynonymPool
from assay.code.rename.pools import LETTERS, SYNONYMS, WORDS_BY_PART, identifier, plural

NAMES = [
    "x",
    "N",
    "count",
    "max_count",
    "maxCount",
    "MaxCount",
    "MAX_COUNT",
    "_hidden",
    "get_value",
    "x1",
    "items2",
    "is_valid",
    "HTTPServer",
]


def casing(name):
    """Return the style of a name: names of the same style may stand for one another."""
    bare = name.strip("_")
    lead = "_" * (len(name) - len(name.lstrip("_")))
    if len(bare) == 1:
        return lead + ("letter" if bare.islower() else "LETTER")
    if bare.isupper():
        return lead + "UPPER"
    if bare.islower():
        return lead + "lower"
    return lead + ("Pascal" if bare[:1].isupper() else "camel")


@pytest.mark.parametrize("name", [*NAMES, "a__b", "_", "camelCaseABC", "é", "x_é1", "ÉTÉ"])
def test_a_name_is_the_sum_of_its_pieces(name):
    assert "".join(identifier(name).pieces) == name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["function", "variable"])
def test_candidates_are_identifiers_of_the_same_style_and_not_the_name(name, kind):
    outcome = DictionaryPool().candidates(name, kind)
    assert len(outcome) >= 20
    assert len(set(outcome)) == len(outcome)
    assert name not in outcome
    for candidate in outcome:
        assert candidate.isidentifier()
        assert casing(candidate) == casing(name)
        assert [piece for piece in identifier(candidate).pieces if not piece.isalpha()] == [
            piece for piece in identifier(name).pieces if not piece.isalpha()
        ]


def test_words_are_replaced_by_words_of_their_part():
    pool = DictionaryPool()
    assert set(pool.candidates("get", "function")) <= set(WORDS_BY_PART["verb"])
    assert set(pool.candidates("total", "variable")) <= set(WORDS_BY_PART["noun"])
    assert set(pool.candidates("widgets", "variable")) <= set(map(plural, WORDS_BY_PART["noun"]))
    assert set(pool.candidates("tmp", "variable")) <= set(WORDS_BY_PART["abbreviation"])
    assert set(pool.candidates("i", "variable")) <= set(LETTERS)
    assert {candidate.split("_")[0] for candidate in pool.candidates("sorted_items", "variable")} <= set(
        WORDS_BY_PART["participle"]
    )
    assert {candidate.split("_")[0] for candidate in pool.candidates("small_item", "variable")} <= set(
        WORDS_BY_PART["adjective"]
    )
    assert {candidate.split("_")[0] for candidate in pool.candidates("is_prime", "function")} == {"is"}


def test_the_candidates_of_a_name_are_always_the_same():
    from assay.code.rename import pools

    first = DictionaryPool().candidates("max_count", "variable")
    pools._dictionary_candidates.cache_clear()
    assert DictionaryPool().candidates("max_count", "variable") == first


@pytest.mark.parametrize("outcome", [*WORDS_BY_PART.values(), LETTERS])
def test_no_word_stands_twice_in_a_list(outcome):
    assert len(set(outcome)) == len(outcome)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in outcome)


@pytest.mark.parametrize(
    ("noun", "more"),
    [("key", "keys"), ("entry", "entries"), ("box", "boxes"), ("child", "children"), ("pass", "passes")],
)
def test_plurals_are_english(noun, more):
    assert plural(noun) == more


def test_synonyms_replace_words_and_leave_the_others():
    candidates = SynonymPool().candidates("max_count", "variable")
    assert "max_total" in candidates
    assert "max_count" not in candidates
    for candidate in candidates:
        largest, number = candidate.split("_")
        assert largest in {"max", *SYNONYMS["max"]}
        assert number in {"count", *SYNONYMS["count"]}


def test_a_name_without_synonyms_gets_words_of_its_part():
    assert SynonymPool().candidates("parcel", "variable") == DictionaryPool().candidates("parcel", "variable")
    assert SynonymPool(fallback=None).candidates("parcel", "variable") == ()


def test_a_synonym_is_another_word_that_can_stand_in_a_name():
    for word, others in SYNONYMS.items():
        assert word not in others
        assert all(other.isascii() and other.isalpha() and other.islower() for other in others)


def test_few_proposals_are_filled_up():
    pool = ProposedPool({"total": ("amount",)}, SynonymPool())
    assert pool.candidates("total", "variable")[0] == "amount"
    assert len(pool.candidates("total", "variable")) == len(set(pool.candidates("total", "variable"))) > 4
    assert ProposedPool({"total": ("amount",)}).candidates("total", "variable") == ("amount",)
