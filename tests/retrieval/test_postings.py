"""Postings answer as a dictionary of sets would, whatever was added, removed, committed, merged, reopened or lost."""

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from assay.errors import CorpusIndexError
from assay.retrieval import DEFAULT, PAPER
from assay.retrieval.generations import generations_in
from assay.retrieval.postings import Postings, memtable
from assay.retrieval.postings.kernels import LONG_LIST, count_members, places_in, tally
from assay.retrieval.postings.keys import keys_of
from assay.retrieval.postings.overlap import REGION
from assay.retrieval.postings.segment import Segment

FORMS = ("characters", "tokens")

numbers = st.integers(0, 40)
hashes = st.lists(st.integers(0, 25), max_size=12)
documents = st.fixed_dictionaries(dict.fromkeys(FORMS, hashes))
queries = st.lists(st.integers(0, 30), max_size=40)


def array(values):
    return np.array(values, np.uint64) * np.uint64(0x2545F4914F6CDD1D)


def key(value):
    return int(keys_of(array([value]))[0])


def expected(held, form, query, *, budget, common, reading, candidates):
    """What the documents that are held say of a query: [(document, shared, size)], looked up, too common, absent."""
    query = list(dict.fromkeys(query))
    lists = {value: {number for number, entry in held.items() if value in entry[form]} for value in query}
    most = min(reading, int(common * len(held)) if common is not None else reading)
    regions = {}
    for at, value in enumerate(query):
        if 0 < len(lists[value]) <= most:
            regions.setdefault(at // REGION, []).append(value)
    turns = [
        (turn, len(lists[value]), key(value), value)
        for region in regions.values()
        for turn, value in enumerate(sorted(region, key=lambda value: (len(lists[value]), key(value))))
    ]
    chosen, left = [], reading
    for *_, value in sorted(turns)[:budget]:
        if len(lists[value]) <= left:
            chosen.append(value)
            left -= len(lists[value])
    counts = {}
    for value in chosen:
        for number in lists[value]:
            counts[number] = counts.get(number, 0) + 1
    size = {number: len(held[number][form]) for number in counts}
    best = sorted(counts, key=lambda number: (-counts[number], size[number], number))[:candidates]
    answer = [(number, len(held[number][form] & set(query)), size[number]) for number in best]
    too_common = sum(len(entry) > most for entry in lists.values())
    return answer, len(chosen), too_common, sum(not entry for entry in lists.values()), len(counts)


class PostingsAgainstSets(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.stack.enter_context(mock.patch("os.fsync"))  # nothing here asks whether a disk keeps its word
        # small enough that segments are written between two commits
        self.stack.enter_context(mock.patch.object(memtable, "MOST_FINGERPRINTS", 60))
        self.folder = Path(folder) / "postings"
        self.postings = Postings.create(self.folder, DEFAULT)
        self.held, self.committed = {}, {}

    def teardown(self):
        self.stack.close()

    @rule(number=numbers, document=documents)
    def add(self, number, document):
        self.postings.add(number, {form: array(values) for form, values in document.items()})
        self.held[number] = {form: set(values) for form, values in document.items()}

    @rule(many=st.dictionaries(numbers, documents, min_size=5, max_size=20))
    def add_many(self, many):
        for number, document in many.items():
            self.add(number, document)

    @rule(number=numbers)
    def remove(self, number):
        self.postings.remove(number)
        self.held.pop(number, None)

    @rule(several=st.sets(numbers, max_size=15))
    def remove_many(self, several):
        self.postings.remove_all(np.array(sorted(several), np.int64))
        for number in several:
            self.held.pop(number, None)

    @rule()
    def commit(self):
        self.postings.commit()
        self.committed = dict(self.held)

    @rule()
    def compact(self):
        self.postings.compact()

    @rule()
    def compact_and_commit(self):
        self.postings.compact()
        self.commit()
        assert self.postings.segments <= 1

    @rule(writable=st.booleans(), debris=st.booleans())
    def lose_what_was_not_committed(self, *, writable, debris):
        if debris:
            (self.folder / "0000099999.segment").write_bytes(b"half")
            (self.folder / "manifest-0000099999.unfinished").write_bytes(b"half")
        self.postings = Postings.open(self.folder, writable=True)
        self.held = dict(self.committed)
        assert not [path for path in self.folder.iterdir() if "99999" in path.name]
        if not writable:
            Postings.open(self.folder).check()

    @rule(
        form=st.sampled_from(FORMS),
        query=queries,
        budget=st.none() | st.integers(0, 12),
        common=st.none() | st.sampled_from([0.1, 0.5, 1.0]),
        reading=st.sampled_from([5, 40, 6000]),
        candidates=st.sampled_from([1, 4, 100]),
    )
    def look_up(self, form, query, **options):
        self.compare(form, query, **options)

    @invariant()
    def every_fingerprint_is_counted_right(self):
        for form in FORMS:
            for reading in (3, 8):
                self.compare(form, range(26), budget=20, common=None, reading=reading, candidates=10)

    def compare(self, form, query, **options):
        found = self.postings.overlap(form, array(query), **options)
        answer = list(zip(found.documents.tolist(), found.shared.tolist(), found.sizes.tolist(), strict=True))
        told = (answer, found.looked_up, found.too_common, found.absent, found.matched)
        assert told == expected(self.held, form, query, **options)
        assert found.query == len(set(query)) == found.looked_up + found.too_common + found.absent + found.left

    @invariant()
    def holds_what_was_added(self):
        assert len(self.postings) == len(self.held)
        assert self.postings.ids().tolist() == sorted(self.held)

    @invariant()
    def frequencies_count_the_documents_that_are_held(self):
        for form in FORMS:
            query = [*range(26), 3, 25]  # in any order, repeated or not
            counts = [sum(value in entry[form] for entry in self.held.values()) for value in query]
            assert self.postings.frequencies(form, array(query)).tolist() == counts

    @invariant()
    def shared_are_those_of_the_sets_in_any_order(self):
        several = np.array([40, *range(0, 41, 3), 7, 7])
        for form in FORMS:
            shared = self.postings.shared(form, array([5, *range(0, 26, 2), 5]), several)
            query = {5, *range(0, 26, 2)}
            assert shared.tolist() == [len(query & self.held.get(at, {form: set()})[form]) for at in several.tolist()]

    @invariant()
    def sizes_are_those_of_the_sets(self):
        for form in FORMS:
            sizes = self.postings.sizes(form, np.arange(41))
            assert sizes.tolist() == [len(self.held[at][form]) if at in self.held else 0 for at in range(41)]


TestPostingsAgainstSets = PostingsAgainstSets.TestCase
TestPostingsAgainstSets.settings = settings(max_examples=20, stateful_step_count=30)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "postings"


def filled(folder, profile=DEFAULT, count=30):
    postings = Postings.create(folder, profile)
    for number in range(count):
        postings.add(number, {form: array(range(number, number + 5)) for form in FORMS})
    postings.commit()
    return postings


@given(st.sets(st.integers(0, 60)), st.lists(st.integers(-5, 70)))
def test_the_place_of_a_number_is_found_with_and_without_gaps(held, wanted):
    values = np.array(sorted(held), np.uint32)
    places = places_in(values, np.array(wanted, np.int64)).tolist()
    assert places == [sorted(held).index(entry) if entry in held else -1 for entry in wanted]


@given(st.lists(st.integers(0, 9)))
def test_values_are_tallied(values):
    found, counts = tally(np.array(sorted(values), np.uint32))
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == Counter(values)
    assert found.tolist() == sorted(set(values))


def test_no_two_16_bit_hashes_share_a_key():
    assert len(np.unique(keys_of(np.arange(1 << 16, dtype=np.uint64)))) == 1 << 16


def test_rare_fingerprints_of_one_region_leave_the_look_ups_of_the_others(folder):
    postings = Postings.create(folder, PAPER)
    first, second = range(REGION), range(100, 100 + REGION)
    for number in range(4):
        postings.add(number, {"characters": array(second)})
    postings.add(9, {"characters": array(first)})
    found = postings.overlap("characters", array([*first, *second]), budget=4)
    assert set(found.documents.tolist()) == {0, 1, 2, 3, 9}
    assert found.shared.tolist() == [REGION] * 5


@pytest.mark.slow
@pytest.mark.parametrize("documents", [254, 255, 256, 511, 70_000])
def test_lists_longer_than_a_byte_counts_and_ranks_wider_than_two_are_read_whole(folder, documents):
    postings = Postings.create(folder, DEFAULT)
    for number in range(documents):
        postings.add(3 * number, {"tokens": array([1, 2 + number % 7, 100 + number])})
    postings.remove(0)
    for _ in range(2):
        postings.commit()
        held = np.arange(3, 3 * documents, 3)
        assert postings.frequencies("tokens", array([1])).tolist() == [documents - 1]
        assert postings.frequencies("tokens", array([99 + documents, 100])).tolist() == [1, 0]
        assert (postings.shared("tokens", array([1, 2, 99 + documents]), held[-1:]) >= 2).all()
        assert postings.overlap("tokens", array([99 + documents]), candidates=3).documents.tolist() == [held[-1]]
        _, found = postings.holders("tokens", array([3]), least=1, most=documents)
        assert sorted(found.tolist()) == [3 * number for number in range(1, documents) if number % 7 == 1]
        postings.compact()
        postings.check()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=20), st.integers(1, 4), st.integers(1, 25), st.data())
def test_holders_are_documents_that_have_the_hash_and_all_where_they_are_few(rows, least, most, data):
    with tempfile.TemporaryDirectory() as place:
        postings = Postings.create(Path(place) / "postings", DEFAULT)
        removed = data.draw(st.sets(st.integers(0, len(rows) - 1)))
        for number, values in enumerate(rows):
            postings.add(number, {"tokens": array(sorted(values))})
            if data.draw(st.booleans()):
                postings.spill()
        postings.spill()
        postings.remove_all(np.array(sorted(removed), np.int64))
        at, documents = postings.holders("tokens", array(range(10)), least=least, most=most)
    for value in range(10):
        found = documents[at == value].tolist()
        written = [number for number, values in enumerate(rows) if value in values]
        living = [number for number in written if number not in removed]
        assert set(found) <= set(living)
        assert len(found) == len(set(found))
        if least <= len(living) and len(written) <= most:
            assert sorted(found) == living


def test_frequencies_leave_out_removed_documents_wherever_they_are(folder):
    postings = filled(folder)  # document n has n … n + 4
    assert postings.frequencies("tokens", array([4, 9, 99, 4])).tolist() == [5, 5, 0, 5]
    postings.remove(5)
    for _ in range(2):  # in memory, then opened again
        assert postings.frequencies("tokens", array([4, 9, 8])).tolist() == [5, 4, 4]
        postings.commit()
        assert len(postings._files[0].dead) == 1, "nothing was merged away"
        postings = Postings.open(folder, writable=True)
    postings.add(99, {"tokens": array([9])})
    assert postings.frequencies("tokens", array([9])).tolist() == [5]
    assert postings.frequencies("characters", array([9])).tolist() == [4]
    postings.remove(99)
    assert postings.frequencies("tokens", array([9])).tolist() == [4]


def test_what_is_shared_is_exact_for_documents_in_any_order(folder):
    postings = filled(folder)
    postings.add(99, {"tokens": array([3, 200])})
    postings.remove(2)
    shared = postings.shared("tokens", array([3, 4, 200, 3]), np.array([99, 3, 2, 700, 0, 3]))
    assert shared.tolist() == [2, 2, 0, 0, 2, 2]
    assert postings.shared("characters", array([]), np.array([1])).tolist() == [0]
    assert postings.shared("characters", array([1]), np.array([], np.int64)).tolist() == []


def test_what_a_killed_writer_left_is_swept_away_by_the_next_one_only(folder):
    filled(folder)
    Postings.open(folder, writable=True)  # the state before the last commit is for readers, until the next writer
    kept = {path.name for path in folder.iterdir()}
    for name in ("0000000077.segment", "0000000001.segment.5.dead", "manifest-0000000009.unfinished"):
        (folder / name).write_bytes(b"half")
    Postings.open(folder)
    assert len(list(folder.iterdir())) == len(kept) + 3, "a reader deletes nothing"
    Postings.open(folder, writable=True)
    assert {path.name for path in folder.iterdir()} == kept


def test_a_document_that_is_added_again_is_replaced(folder):
    postings = filled(folder)
    postings.add(3, {"tokens": array([500])})
    for _ in range(2):
        assert postings.overlap("tokens", array([500])).documents.tolist() == [3]
        assert postings.sizes("characters", np.array([3])).tolist() == [0]
        postings.commit()
        postings.compact()


def test_a_list_of_many_documents_is_found_from_end_to_end(folder):
    postings = Postings.create(folder, DEFAULT)
    for number in range(2_000):
        postings.add(number, {"characters": array([1, 2 if number % 2 else 3, number + 10])})
    postings.commit()
    common = postings.overlap("characters", array([1]), candidates=5_000)
    assert common.documents.tolist() == list(range(2_000))
    # the list of 1 is not read, but the candidates that others give are looked for in it
    rare = postings.overlap("characters", array([1, 2, 511]), reading=1_200)
    assert (rare.too_common, rare.looked_up, rare.shared[0], rare.documents[0]) == (1, 2, 3, 501)
    assert set(rare.shared[1:].tolist()) == {2}


def test_nothing_is_rewritten_by_a_commit_without_a_change(folder):
    postings = filled(folder)
    before = generations_in(folder)
    postings.commit()
    assert generations_in(folder) == before


def test_the_space_of_removed_documents_comes_back(folder):
    postings = filled(folder)
    before = postings.postings
    for number in range(10):
        postings.remove(number)
    postings.commit()
    assert postings.postings == before - 10 * 2 * 5


def test_a_number_that_does_not_fit_is_refused(folder):
    with pytest.raises(CorpusIndexError, match="expected a number from 0 to 4294967295"):
        Postings.create(folder, DEFAULT).add(1 << 32, {})


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda data: data[: len(data) // 2], "half-written"),
        (lambda _: b"", "cannot be read"),
        (
            lambda data: data[:-20] + data[-20:-12] + b"\x09\0\0\0" + data[-8:],
            "segment of format 9, .* format 2; .*repair",
        ),
        (lambda data: data[:64] + b"\xff" + data[65:], "damaged: section"),
        (lambda data: data[:-40] + b"\xff" + data[-39:], "list of contents"),
    ],
)
def test_a_damaged_segment_is_named(folder, harm, told):
    filled(folder)
    (path,) = folder.glob("*.segment")
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(CorpusIndexError, match=rf"{path.name}: .*{told}"):
        Postings.open(folder)


def test_a_damaged_segment_can_be_left_out(folder):
    filled(folder)
    (path,) = folder.glob("*.segment")
    path.write_bytes(b"")
    assert len(Postings.open(folder, damaged=True)) == 0


def test_a_large_section_is_checked_on_demand_and_before_merging(folder):
    postings = filled(folder)
    (path,) = folder.glob("*.segment")
    data = bytearray(path.read_bytes())
    data[64] ^= 1
    path.write_bytes(data)
    with mock.patch("assay.retrieval.postings.segment.CHECKED_ON_OPENING", 0):
        postings = Postings.open(folder, writable=True)
    with pytest.raises(CorpusIndexError, match=path.name):
        postings.check()
    postings.remove(1)
    with pytest.raises(CorpusIndexError, match="damaged"):
        postings.compact()


@pytest.mark.parametrize("name", ["manifest", "dead"])
def test_a_damaged_manifest_or_list_of_removed_documents_is_named(folder, name):
    postings = filled(folder)
    postings.remove(3)
    postings.commit()
    for path in folder.glob(f"*{name}*"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorpusIndexError, match=rf"{name}.*: damaged"):
        Postings.open(folder)


def test_a_generation_that_is_gone_is_missing(folder):
    filled(folder)
    with pytest.raises(FileNotFoundError):
        Postings.open(folder, 7)


def test_a_folder_without_postings_is_refused(tmp_path):
    with pytest.raises(CorpusIndexError, match="no postings here"):
        Postings.open(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("length", [LONG_LIST - 1, LONG_LIST, 5 * LONG_LIST + 3])
def test_candidates_are_counted_in_long_lists_as_in_short_ones(length):
    draw = np.random.default_rng(length)
    lists = [np.unique(draw.integers(0, 10 * length, size)) for size in (length, 40, 2 * length, 1)]
    documents = np.concatenate(lists).astype(np.uint32)
    stops = np.cumsum([len(members) for members in lists])
    starts = np.concatenate([[0], stops[:-1]])
    candidates = np.unique([*draw.choice(documents, 60), *draw.integers(0, 10 * length, 60), 0, 10 * length])
    expected = sum(np.isin(candidates, members).astype(int) for members in lists[:3])
    counts = count_members(documents, starts[:3], stops[:3], candidates.astype(np.int64))
    assert counts.tolist() == expected.tolist()


def test_a_merge_gives_the_pages_of_its_segments_back(tmp_path):
    postings = Postings.create(tmp_path / "postings", DEFAULT)
    with mock.patch.object(Segment, "release", autospec=True) as release:
        for document in range(4):
            postings.add(document, {"characters": np.arange(3, dtype=np.uint64) + document})
            postings.commit()
    merged = {call.args[0].name for call in release.call_args_list}
    assert {f"{number:010d}.segment" for number in range(1, 5)} <= merged
    assert postings.segments == 1
    assert postings.frequencies("characters", np.array([3], np.uint64)).tolist() == [3]
