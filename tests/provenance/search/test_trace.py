"""A snippet and where it comes from: what is indexed is found, renamed or not, and the answer says what it rests on."""

import random
import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.corpora import Document, Origin, SourceText
from assay.errors import AssayError, CorpusIndexError
from assay.provenance import CodeIndex, Thresholds, TraceSettings, trace, trace_file
from assay.provenance.confidence import CalibrationTable, IndexCalibration, bin_values
from assay.provenance.search.boilerplate import (
    NO_BOILERPLATE,
    Boilerplate,
    Template,
    add_templates,
    default_boilerplate,
)
from assay.retrieval import DEFAULT, fingerprint

WORDS = (
    "basket count data edge field group head item join key line mark node order path query row seed table unit".split()  # noqa: SIM905
)
OPERATORS = ["+", "-", "*", "//", "%", "<<", "&", "|"]
KINDS = [
    "    {a} = {b} {o} {c}",
    "    if {a} {o} {b}:\n        {c} = [{a}, {b}]",
    "    for {a} in {b}:\n        {c}.append({a} {o} {n})",
    "    while {a} < {n}:\n        {a} = {b}({c})",
    "    {a} = {{{b}: {c}, {n}: '{d}'}}",
    "    with {a}({b}) as {c}:\n        {d}.write({c}.read() {o} {n})",
    "    try:\n        {a}({b}[{n}])\n    except {c}Error:\n        return {d}",
    "    {a}, {b} = {b}[{n}:], not {c}",
    "    assert {a} is None or {b} not in {c}, {d}",
    "    yield from ({a} for {a} in {b} if {c} {o} {a})",
]


def function(seed, statements=8):
    """A function of its own for each seed."""
    draw = random.Random(f"function {seed}")
    lines = []
    for _ in range(statements):
        a, b, c, d = (draw.choice(WORDS) + draw.choice(WORDS) for _ in range(4))
        lines.append(draw.choice(KINDS).format(a=a, b=b, c=c, d=d, o=draw.choice(OPERATORS), n=draw.randrange(999)))
    return f"def {draw.choice(WORDS)}_{seed}({draw.choice(WORDS)}):\n" + "\n".join(lines) + "\n"


KEPT = frozenset("def if for in while with as try except return not assert is None or yield from".split())  # noqa: SIM905


def renamed(text):
    """Every name that is no reserved word replaced by another."""
    new = {}
    names = count()
    return re.sub(
        r"'[^']*'|\b[A-Za-z_]\w*",
        lambda hit: hit[0] if hit[0] in KEPT or hit[0][0] == "'" else new.setdefault(hit[0], f"zq{next(names)}"),
        text,
    )


def document(text, path="a.py", *, line=1, language="python", **more):
    return Document(text, language, "function", "f", (Origin("corpus", path, first_line=line, **more),))


class LetterEncoder:
    """How often each letter occurs."""

    name = "letters"
    digest = "0123456789abcdef"
    dimensions = 26

    def encode(self, texts):
        counts = np.array([[text.count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


CORPUS = [document(function(seed), f"{seed:02d}.py", line=10 * seed + 1, licence="MIT") for seed in range(40)]


def made(folder, documents, **options):
    index = CodeIndex.create(folder, **options)
    index.add(documents)
    index.commit()
    return index


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with made(tmp_path_factory.mktemp("trace") / "index", CORPUS) as index:
        yield index


@pytest.fixture(scope="module")
def with_vectors(tmp_path_factory):
    with made(tmp_path_factory.mktemp("vectors") / "index", CORPUS, encoder=LetterEncoder()) as index:
        yield index


@settings(max_examples=20)
@given(st.sampled_from(CORPUS), st.sampled_from(["union", "winnowing"]))
def test_an_indexed_text_traces_to_itself(index, one, method):
    found = trace(one.text, index, language="python", method=method).matches[0]
    assert (found.path, found.similarity, found.containment, found.channel) == (one.origins[0].path, 1, 1, "characters")


@settings(max_examples=20)
@given(st.sampled_from(CORPUS))
def test_renaming_every_identifier_keeps_the_containment_of_the_tokens(index, one):
    found = trace(renamed(one.text), index, language="python").matches[0]
    assert (found.path, found.containment, found.channel) == (one.origins[0].path, 1, "tokens")


@settings(max_examples=5)
@given(st.permutations(range(12)), st.integers(0, 11))
def test_the_order_of_adding_shows_nowhere(tmp_path_factory, order, at):
    twins = [replace(CORPUS[seed], text=f"{CORPUS[seed // 3].text}# twin {seed}\n") for seed in range(12)]
    folder = tmp_path_factory.mktemp("order")
    answers = []
    for name, numbers in [("a", range(12)), ("b", order)]:
        with made(folder / name, [twins[number] for number in numbers]) as index:
            matches = trace(twins[at].text, index, language="python", top=2).matches
            answers.append([replace(match, document_id=0) for match in matches])
    assert answers[0] == answers[1]


@settings(max_examples=25)
@given(st.sampled_from(CORPUS), st.integers(1, 4), st.integers(5, 9), st.booleans())
def test_the_lines_of_a_span_say_the_same_on_both_sides(index, one, first, last, rename):
    """The fingerprints of both sides' lines have common ones, in the channel of the match."""
    lines = one.text.splitlines()[first:last]
    query = "import os\n\n\n" + (renamed("\n".join(lines)) if rename else "\n".join(lines)) + "\n"
    result = trace(query, index, language="python")
    for match in result.matches:
        assert match.spans
        whole = next(doc for doc in CORPUS if doc.origins[0].path == match.path)
        for span in match.spans:
            there = span.document_first - whole.origins[0].first_line
            assert there >= 0
            of_query = query.splitlines()[span.query_first - 1 : span.query_last]
            of_document = whole.text.splitlines()[there : span.document_last - whole.origins[0].first_line + 1]
            hashes = [fingerprint_all("\n".join(part), match.channel, result) for part in (of_query, of_document)]
            assert hashes[0] & hashes[1]


def fingerprint_all(text, form, result):
    """All grams, so that what winnowing chooses at the ends of a cut does not matter."""
    from assay.retrieval import DEFAULT

    every = replace(DEFAULT, channels=tuple(replace(channel, w=1) for channel in DEFAULT.channels))
    return set(fingerprint(text, result.language, every)[form].hashes.tolist())


def test_spans_are_lines_of_the_file(index):
    cut = "\n".join(CORPUS[3].text.splitlines()[2:9])
    (span,) = trace(cut, index, language="python").matches[0].spans
    assert (span.query_first, span.document_first) == (1, 33)
    assert span.query_last - span.query_first == span.document_last - span.document_first >= 5


def test_code_put_between_gives_two_spans(index):
    lines = CORPUS[5].text.splitlines()
    half = len(lines) // 2
    query = "\n".join([*lines[:half], *function("between").splitlines()[1:9], *lines[half:]])
    spans = trace(query, index, language="python").matches[0].spans
    assert len(spans) >= 2
    assert spans == tuple(sorted(spans, key=lambda entry: entry.query_first))


def test_a_text_that_is_too_short_is_reported_as_such(index):
    found = trace("x = 1", index, language="python")
    assert not found.matches
    assert "too short: 3 characters" in found.too_short
    assert found.why_none == found.too_short


def test_unrelated_code_has_no_match_and_a_reason(index):
    found = trace("SELECT name, price FROM goods WHERE price > 12 AND stock BETWEEN 3 AND 40", index)
    assert not found.matches
    assert "no document of the index shares" in found.why_none


def test_a_threshold_is_the_reason_where_it_is(index):
    half = "\n".join(CORPUS[7].text.splitlines()[:5]) + "\n" + function("half")
    assert trace(half, index, language="python").matches
    found = trace(
        half, index, language="python", settings=TraceSettings(Thresholds(min_similarity=0.99, min_confidence=0))
    )
    assert not found.matches
    assert found.why_none == "what documents of the index share with it is too little for a source"


def test_a_text_in_two_places_is_one_match_that_knows_both(tmp_path):
    twice = [document(CORPUS[0].text, "a.py", licence="MIT"), document(CORPUS[0].text, "b.py", licence="GPL-3.0-only")]
    with made(tmp_path / "index", twice) as index:
        found = trace(CORPUS[0].text, index, language="python")
    (match,) = found.matches
    assert match.origins == 2
    assert {origin.licence for origin in found.origins[match.document_id]} == {"MIT", "GPL-3.0-only"}


@pytest.mark.parametrize("method", ["hst", "union", "vector"])
def test_every_method_finds_a_copy(with_vectors, method):
    found = trace(CORPUS[11].text, with_vectors, language="python", method=method)
    assert found.matches[0].path == "11.py"
    assert found.matches[0].cosine == pytest.approx(1, abs=1e-2)
    assert found.matches[0].spans


def test_hst_misses_what_the_vectors_miss_and_union_does_not(with_vectors):
    elsewhere = "".join(f"# {line}\n" for line in CORPUS[8].text.splitlines() * 9)
    query = CORPUS[4].text + elsewhere  # comments are nothing to fingerprints and much to these vectors
    options = {"language": "python", "settings": TraceSettings(candidates=1, nearest=1)}
    assert trace(query, with_vectors, method="hst", **options).matches[0].path == "08.py"
    assert trace(query, with_vectors, method="union", **options).matches[0].path == "04.py"


@pytest.mark.parametrize(
    ("profile", "nearest", "expected"), [("default", None, 400), ("paper", None, 100), ("paper", 7, 7)]
)
def test_the_nearest_are_as_many_as_in_the_paper_in_its_profile_and_more_in_ours(
    tmp_path, monkeypatch, profile, nearest, expected
):
    asked = []
    with made(tmp_path / "index", CORPUS[:3], profile=profile, encoder=LetterEncoder()) as index:
        search = index.candidates_by_vector
        monkeypatch.setattr(index, "candidates_by_vector", lambda text, n: asked.append(n) or search(text, n))
        for method in ("hst", "union"):
            trace(CORPUS[0].text, index, language="python", method=method, settings=TraceSettings(nearest=nearest))
    assert asked == [expected, expected]


def test_no_nearest_document_at_all_is_refused(with_vectors):
    with pytest.raises(AssayError, match="nearest 0, expected at least 1 of each"):
        trace(CORPUS[0].text, with_vectors, settings=TraceSettings(nearest=0))


def test_the_nearest_by_vector_is_listed_behind_matches_of_a_few_fingerprints(tmp_path):
    little = "".join(function("little").splitlines(keepends=True)[1:3])
    chance = [document(function(f"chance {seed}", 40) + little, f"chance{seed}.py") for seed in range(20)]
    near = document("# " + "zebra" * 999 + "\npass\n" + function("near"), "near.py")
    query = "# " + "zebra" * 999 + "\n" + function("query", 30) + little
    options = {"language": "python", "top": 6, "settings": TraceSettings(boilerplate=NO_BOILERPLATE)}
    with made(tmp_path / "index", [*chance, near], encoder=LetterEncoder()) as index:
        assert "near.py" not in {match.path for match in trace(query, index, method="winnowing", **options).matches}
        matches = trace(query, index, **options).matches
    assert len(matches) == 6
    assert "near.py" in {match.path for match in matches}
    assert matches[0].channel != "vector"


def test_matches_by_vector_alone_come_last_and_fall_to_an_asked_confidence(with_vectors):
    found = trace(CORPUS[2].text, with_vectors, language="python", top=40)
    channels = [match.channel == "vector" for match in found.matches]
    assert channels == sorted(channels)
    assert channels[-1]
    assert found.matches[-1].spans == ()
    sure = trace(
        CORPUS[2].text, with_vectors, language="python", top=40, settings=TraceSettings(Thresholds(min_confidence=0.5))
    )
    assert not [match for match in sure.matches if match.channel == "vector"]


def vectors_calibrated(digest):
    """Unrelated code has no cosine from .6 on, as measured with an encoder, and anything else."""
    bins = {channel: bin_values([(1, 0.99)] * 999) for channel in ("characters", "tokens")}
    # a vector alone that no unrelated query has: log10(1000) / 3 channels / 4 decades = .25
    fused = {
        "characters+tokens": bin_values([(1, 0.5)] * 999),
        "characters+tokens+vector": bin_values([(1, 0.24)] * 999),
    }
    table = CalibrationTable("python", 1000, bins | {"vector": bin_values([(1, 0.59)] * 999)}, fused)
    return IndexCalibration(DEFAULT, (table,), digest)


def test_matches_by_vector_alone_have_the_confidence_of_their_encoder(with_vectors):
    options = {"language": "python", "top": 40}
    query = CORPUS[2].text
    settings = TraceSettings(Thresholds(), calibration=vectors_calibrated(LetterEncoder.digest))
    found = trace(query, with_vectors, settings=settings, **options)
    alone = [match for match in found.matches if match.channel == "vector"]
    assert alone
    assert {match.confidence for match in alone} == {1 - 1 / 1000}
    assert not found.notes
    other_encoder = replace(settings, calibration=vectors_calibrated("another"))
    other = trace(query, with_vectors, settings=other_encoder, **options)
    assert not [match for match in other.matches if match.channel == "vector"]
    assert "confidence by vector not measured" in other.notes[0]


def test_a_near_vector_makes_a_match_of_fingerprints_surer(with_vectors):
    query = "".join(CORPUS[2].text.splitlines(keepends=True)[:5])
    for digest, confidence in ((LetterEncoder.digest, 1 - 1 / 1000), ("another", 0.0)):
        settings = TraceSettings(calibration=vectors_calibrated(digest))
        (first, *_) = trace(query, with_vectors, language="python", settings=settings).matches
        assert first.channel == "characters"
        assert first.confidence >= confidence


def test_a_near_vector_of_a_text_without_fingerprints_has_no_confidence(with_vectors):
    settings = TraceSettings(calibration=vectors_calibrated(LetterEncoder.digest))
    result = trace("}", with_vectors, language="python", settings=settings)
    assert result.matches
    assert {match.confidence for match in result.matches} == {None}
    assert result.too_short
    for method in ("union", "vector"):
        file = trace_file(SourceText("a.py", "}", "python"), with_vectors, method=method, settings=settings)
        assert not file.findings
        assert file.why_none.startswith("too short: 1 characters")


@pytest.mark.parametrize("method", ["hst", "vector"])
def test_methods_by_vector_need_vectors(index, method):
    with pytest.raises(CorpusIndexError, match="has no vectors"):
        trace(CORPUS[0].text, index, method=method)


def test_union_says_so_where_vectors_of_the_index_are_not_searched(tmp_path, letter_encoder, index):
    assert trace(CORPUS[0].text, index, language="python").notes == ()
    with CodeIndex.create(tmp_path / "vectors.index", encoder=letter_encoder) as vectors:
        vectors.add([CORPUS[0]])
        vectors.commit()
    with CodeIndex.open(tmp_path / "vectors.index") as vectors:
        assert "not searched by vector" in trace(CORPUS[0].text, vectors).notes[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "magic"},
        {"top": 0},
        {"settings": TraceSettings(candidates=0)},
        {"settings": TraceSettings(rank_by="taste")},
    ],
)
def test_bad_arguments_are_reported(index, wrong):
    with pytest.raises(AssayError, match="expected"):
        trace("x", index, **wrong)


IDIOM = '\n\nif __name__ == "__main__":\n    sys.exit(main())\n'


def test_an_idiom_is_no_evidence(tmp_path):
    with made(tmp_path / "index", [document(f"import zebra{IDIOM}", "idiom.py")]) as index:
        found = trace(IDIOM, index, language="python")
        assert not found.matches
        assert "boilerplate" in found.why_none
        assert found.evidence[0].template == found.evidence[0].fingerprints > 0
        assert (
            trace(IDIOM, index, language="python", settings=TraceSettings(boilerplate=NO_BOILERPLATE)).matches[0].path
            == "idiom.py"
        )


def test_a_template_of_the_user_is_no_evidence(index, tmp_path):
    file = tmp_path / "given.py"
    file.write_text(CORPUS[9].text)
    settings = TraceSettings(boilerplate=add_templates(default_boilerplate(), [file]))
    found = trace(CORPUS[9].text, index, language="python", settings=settings)
    assert "09.py" not in {match.path for match in found.matches}


def test_a_template_of_another_language_does_not_count(index):
    other = TraceSettings(boilerplate=Boilerplate((Template(CORPUS[9].text, "java"),)))
    assert trace(CORPUS[9].text, index, language="python", settings=other).matches[0].path == "09.py"


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (["a"] * 30, False),  # of one project, however often
        (["a"] * 29 + ["b"], False),
        (["a"] * 15 + ["b"] * 15, True),  # two projects repeat it
        (["a", "b", "c"], False),  # each has copied it once
        (["a", "b", "c"] * 3, True),
        ([f"owner{number}" for number in range(30)], True),
    ],
)
def test_what_several_owners_have_is_no_evidence(tmp_path, owners, expected):
    common = function("common")
    many = [
        document(common + function(seed), f"{seed}.py", repository=f"https://host/{owner}/tool")
        for seed, owner in enumerate(owners)
    ]
    with made(tmp_path / "index", many) as index:
        alone = trace(common, index, language="python")
        assert bool(alone.matches) != expected
        assert (alone.evidence[0].common >= 0.9 * alone.evidence[0].fingerprints) == expected
        found = trace(many[2].text, index, language="python")
        assert found.matches[0].path == "2.py"
        assert found.matches[0].containment == found.matches[0].similarity == 1


def test_a_popular_function_of_few_among_many_owners_is_evidence(tmp_path):
    popular = function("popular")
    texts = [popular + function(seed) if seed < 6 else function(seed) for seed in range(40)]
    many = [document(text, f"{seed}.py", author=f"author {seed}") for seed, text in enumerate(texts)]
    with made(tmp_path / "index", many) as index:
        assert trace(popular, index, language="python").matches[0].containment == 1


def test_templates_that_cannot_be_read_are_reported(tmp_path):
    empty = tmp_path / "empty.py"
    empty.write_text(" \n")
    for path in (empty, tmp_path / "absent.py", tmp_path):
        with pytest.raises(AssayError, match="template"):
            add_templates(default_boilerplate(), [path])


def test_by_the_rule_of_the_paper_a_small_index_has_only_common_fingerprints(tmp_path):
    """0.5 % of 40 documents is less than one."""
    with made(tmp_path / "index", CORPUS, profile="paper") as index:
        found = trace(CORPUS[0].text, index, language="python")
    assert not found.matches
    assert found.evidence[0].too_common == found.evidence[0].fingerprints
    assert "more documents than are read" in found.why_none
