"""Where names come from: style, part, corpus."""

import pytest

from assay.code import DictionaryPool, NeighborPool, neighbors_of
from assay.code.rename.pools import casing, identifier, plural
from assay.code.rename.words import ABBREVIATIONS, ADJECTIVES, LETTERS, NOUNS, PARTICIPLES, VERBS
from assay.errors import DataError

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
    assert set(pool.candidates("get", "function")) <= set(VERBS)
    assert set(pool.candidates("total", "variable")) <= set(NOUNS)
    assert set(pool.candidates("widgets", "variable")) <= set(map(plural, NOUNS))
    assert set(pool.candidates("tmp", "variable")) <= set(ABBREVIATIONS)
    assert set(pool.candidates("i", "variable")) <= set(LETTERS)
    assert {candidate.split("_")[0] for candidate in pool.candidates("sorted_items", "variable")} <= set(PARTICIPLES)
    assert {candidate.split("_")[0] for candidate in pool.candidates("small_item", "variable")} <= set(ADJECTIVES)
    assert {candidate.split("_")[0] for candidate in pool.candidates("is_prime", "function")} == {"is"}


def test_the_candidates_of_a_name_are_always_the_same():
    from assay.code.rename import pools

    first = DictionaryPool().candidates("max_count", "variable")
    pools._dictionary_candidates.cache_clear()
    assert DictionaryPool().candidates("max_count", "variable") == first


@pytest.mark.parametrize("outcome", [VERBS, NOUNS, ADJECTIVES, PARTICIPLES, ABBREVIATIONS, LETTERS])
def test_no_word_stands_twice_in_a_list(outcome):
    assert len(set(outcome)) == len(outcome)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in outcome)


@pytest.mark.parametrize(
    ("noun", "more"),
    [("key", "keys"), ("entry", "entries"), ("box", "boxes"), ("child", "children"), ("pass", "passes")],
)
def test_plurals_are_english(noun, more):
    assert plural(noun) == more


CORPUS = [
    f"def {verb}_{thing}({items}):\n    {total} = 0\n"
    f"    for {item} in {items}:\n        {total} += {item}.size\n    return {total}\n"
    for verb, thing, items, total, item in [
        ("get", "size", "items", "total", "item"),
        ("find", "length", "rows", "result", "row"),
        ("count", "width", "entries", "amount", "entry"),
        ("read", "height", "nodes", "sum_", "node"),
    ]
] * 6


def test_neighbours_are_names_used_alike():
    pool = neighbors_of(CORPUS, fallback=DictionaryPool())
    assert set(pool.neighbors["variable"]["total"][:2]) <= {"result", "amount", "sum_"}
    assert set(pool.neighbors["variable"]["item"][:3]) <= {"row", "entry", "node"}
    assert pool.candidates("total", "variable") == pool.neighbors["variable"]["total"]


def test_neighbours_have_the_same_style_and_are_never_the_name():
    pool = neighbors_of(CORPUS)
    for outcome in pool.neighbors.values():
        for name, near in outcome.items():
            assert name not in near
            assert {casing(word) for word in near} == {casing(name)}


def test_a_name_that_the_corpus_does_not_know_has_the_words_of_the_fallback():
    pool = neighbors_of(CORPUS)
    assert pool.candidates("unheard", "variable") == DictionaryPool().candidates("unheard", "variable")
    assert NeighborPool({}, fallback=None).candidates("unheard", "variable") == ()


def test_the_same_corpus_gives_the_same_pool_in_any_order():
    assert neighbors_of(CORPUS) == neighbors_of(CORPUS[::-1])


@pytest.mark.parametrize("corpus", [[], ["print(1)\n"], ["def f(:"] * 9, CORPUS[:1]])
def test_a_corpus_without_names_enough_is_refused(corpus):
    with pytest.raises(DataError, match="no name occurs at least 5 times"):
        neighbors_of(corpus)
