"""The bag of features: what it sees, and that one text is the same alone and in a batch."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelError
from assay.retrieval.encoding import (
    BagEncoder,
    Features,
    bag,
    for_queries,
    hashed_features,
    open_encoder,
    parameter_indices,
    sign_rows,
)
from assay.retrieval.encoding import open as opening
from assay.retrieval.encoding.bag import SIGN_BITS
from assay.retrieval.encoding.lexemes import KEPT_WORDS, read_lexemes
from assay.types import Encoder
from assay_lab.clones import rename_all

GOLDEN = (58, 13482528297198)
GOLDEN_SIGNS = [170, 82, 160, 241]

SOME = [
    *(
        "a",
        "value",
        "x_1",
        "if",
        "=",
        "(",
        ")",
        " ",
        "\n",
        '"',
        "'",
        '"""',
        "# c\n",
        "//",
        "/*",
        "*/",
        "1.5",
        "é",
        "\\",
    ),
    *("\ud800", "\0", "getName", "HTTPServer2"),
]
texts = st.lists(st.sampled_from(SOME), max_size=40).map("".join)


def tiny(dimensions=8, row_bits=4, seed=0):
    draw = np.random.default_rng(seed)
    learned = draw.standard_normal((1 << row_bits, dimensions)).astype(np.float32)
    weights = draw.random((2, 1 << bag.WEIGHT_BITS)).astype(np.float32)
    return BagEncoder("tiny", "", learned, *weights)


def only(*some):
    """The features of one text."""
    return set(hashed_features(["".join(some)]).hashes.tolist())


def lexeme_count(text):
    return len(read_lexemes([text]).text)


def test_comments_and_docstrings_are_words_and_no_tokens():
    code = read_lexemes(['x = 1  # about Rows\n"""All rows."""\n/* rows */ // rows\n'])
    assert len(code.text) == 3
    spelled = dict(zip(*np.unique(code.words, return_counts=True), strict=True))
    assert sorted(spelled.values()) == [1, 1, 4]  # about, all, rows


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("#include <a>", 5),
        ("#[derive(A)]", 7),
        ("this.#x = 1", 6),
        ("a  # b", 1),
        ("#TODO", 0),
        ("'it''s'", 2),
        ("don't", 3),
        ('"a\\"b" + 1', 3),
        ('"""open', 3),
        ("1.5e3 + 0x1F", 3),
        ("größe_2", 1),
        ("", 0),
    ],
)
def test_tokens_are_cut_where_most_languages_cut_them(text, tokens):
    assert lexeme_count(text) == tokens


ESCAPED_QUOTES = [pytest.param(mark, marks=pytest.mark.slow) for mark in ('\\"', "\\'")]


@pytest.mark.parametrize(
    "mark", ["/*", '"""', '\\"""', "'''", "\\'''", *ESCAPED_QUOTES, "#[", "a#", "/* */ /*", '"""a""" """']
)
def test_marks_that_are_never_closed_cost_no_more_than_others(mark):
    """300,000 characters: a look through the rest of the text for each of them would take hours."""
    assert read_lexemes([mark * (300_000 // len(mark))]).texts == 1


def test_a_few_unclosed_marks_change_nothing_before_them():
    assert lexeme_count("a /* b */ c /* d e") == 6


def test_a_name_knows_how_long_ago_its_text_had_it_before():
    found = read_lexemes(["a = b + a * b", "b = b if b else a"])
    assert found.since.tolist() == [0, 0, 0, 0, 4, 0, 4, 0, 0, 2, 0, 2, 0, 0]


def test_the_words_of_a_name_are_cut_at_case_and_underscore():
    def words(text):
        return set(read_lexemes([text]).words.tolist())

    assert words("getHTTPName2_row") == words("get HTTP name row")


def test_shapes_tell_which_names_are_the_same():
    blind = read_lexemes(["a = a + b"]).shape
    assert blind.tolist() == read_lexemes(["x = x + y"]).shape.tolist()
    shared = only("a = a + b") & only("x = x + y")
    assert shared
    assert len(only("a = a + b") & only("x = y + x")) < len(shared)


@given(st.text(alphabet="ab_if (){}=+\n", max_size=60))
def test_a_renaming_changes_no_shape(text):
    before, after = read_lexemes([text]), read_lexemes([rename_all(text, "python", seed=1, spare=KEPT_WORDS)])
    assert before.shape.tolist() == after.shape.tolist()
    assert before.since.tolist() == after.since.tolist()


@given(st.lists(texts, max_size=6))
def test_features_of_a_text_do_not_depend_on_the_others(some):
    together = hashed_features(some)
    for at, text in enumerate(some):
        start, stop = together.starts[at : at + 2]
        assert together.hashes[start:stop].tolist() == hashed_features([text]).hashes.tolist()


@given(st.lists(texts, min_size=1, max_size=6))
def test_vectors_are_the_same_bit_for_bit_alone_and_in_a_batch(some):
    encoder = tiny()
    together = encoder.encode(some)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in some]))
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_portions_change_nothing(monkeypatch):
    some = ["a = 1\n" * n for n in range(1, 9)]
    wanted = tiny().encode(some)
    monkeypatch.setattr(bag, "TEXTS_AT_ONCE", 3)
    monkeypatch.setattr(bag, "CHARACTERS_AT_ONCE", 25)
    assert np.array_equal(tiny().encode(some), wanted)


def test_a_vector_is_the_weighted_sum_of_its_rows():
    encoder, text = tiny(), "for x in rows: x.save()"
    found = hashed_features([text])
    at = parameter_indices(found, 4)
    signs = sign_rows(8)
    wanted = sum(
        encoder.sign_weights[w] * signs[s] + encoder.learned_weights[w] * encoder.learned[r]
        for w, s, r in zip(at.weights, at.signs, at.rows, strict=True)
    )
    np.testing.assert_allclose(encoder.encode([text])[0], wanted / np.linalg.norm(wanted), atol=1e-5)


def test_a_text_without_a_token_has_the_first_axis():
    assert tiny().encode(["", " \n"]).tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]] * 2


def test_no_text_gives_no_vector():
    assert tiny().encode([]).shape == (0, 8)


def test_sign_rows_are_half_plus_half_minus_and_nearly_orthogonal():
    rows = sign_rows(100)
    assert rows.shape == (1 << SIGN_BITS, 100)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert abs(float((rows > 0).mean()) - 0.5) < 0.01
    cosines = rows[:500] @ rows[500:1000].T
    assert abs(float(cosines.std()) - 0.1) < 0.01
    assert float(np.abs(cosines).max()) < 0.6


def test_features_and_random_rows_are_what_the_weights_were_trained_for():
    """Whoever changes a feature has to train anew and to raise FEATURES_VERSION: an index remembers the digest."""
    found = hashed_features(["def mean(values):\n    # all\n    return sum(values) / 2\n"])
    assert (len(found.hashes), int(np.bitwise_xor.reduce(found.hashes))) == GOLDEN
    assert np.packbits(sign_rows(384)[:2, :16] > 0).tolist() == GOLDEN_SIGNS


def test_places_take_different_bits():
    found = Features(np.array([0, 1]), np.array([(5 << 26) | (3 << 4) | 9], np.uint64))
    at = parameter_indices(found, 4)
    assert (at.rows.tolist(), at.signs.tolist(), at.weights.tolist()) == ([9], [3], [5])


def test_the_shipped_encoder_finds_a_function_by_a_renamed_fragment():
    encoder = open_encoder()
    largest = (
        "def largest(values):\n    best = None\n    for value in values:\n        if best is None or value > best:"
    )
    functions = [
        "def area(radius):\n    return 3.14159 * radius ** 2\n",
        largest + "            best = one\n    return best\n",
        "def read(path):\n    with open(path) as file:\n        return [line.strip() for line in file if line]\n",
    ]
    vectors = encoder.encode(functions)
    for at, text in enumerate(functions):
        query = for_queries(encoder).encode([rename_all(text.split("\n", 1)[1], "python", seed=3)])
        assert int((vectors @ query[0]).argmax()) == at


def test_the_shipped_encoder_is_an_encoder_of_at_most_5_megabytes():
    encoder = open_encoder("builtin:fragments")
    assert isinstance(encoder, Encoder)
    assert len(encoder.digest) == 64
    assert encoder.encode(["x"]).shape == (1, encoder.dimensions)
    files = list((opening.BUILTIN_ENCODERS / "fragments").iterdir())
    assert sum(file.stat().st_size for file in files) <= 5_000_000


def test_the_shipped_encoder_needs_no_torch():
    code = "import sys\nfrom assay.retrieval.encoding import open_encoder\nopen_encoder().encode(['x = 1'])\n"
    subprocess.run([sys.executable, "-c", code + "sys.exit('torch' in sys.modules)"], check=True)


def test_an_unknown_builtin_lists_those_there_are():
    with pytest.raises(ModelError, match=r"no built-in encoder 'large': expected one of fragments"):
        open_encoder("builtin:large")


def test_an_option_that_says_nothing_to_it_is_refused():
    with pytest.raises(ModelError, match="builtin:fragments: received pooling, max_length; expected none of them"):
        open_encoder(pooling="cls", max_length=9)


@pytest.mark.parametrize("content", [b"", b"no tensors"])
def test_a_damaged_file_is_told(tmp_path, content):
    (tmp_path / opening.BAG_WEIGHTS).write_bytes(content)
    with pytest.raises(ModelError, match="expected the rows, scales and weights of an encoder"):
        open_encoder(str(tmp_path))
