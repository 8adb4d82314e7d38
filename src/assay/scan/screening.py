"""The first stage of a scan: the texts that share enough runs of units with a part of a task; others are passed over.

One loop over the bytes of a text writes its words and its tokens (`assay.scan.units`) as hashes of its own, with hardly
a branch for each byte. A second one hashes their runs and asks a Bloom filter; the few runs that pass are looked up.
The units are those of the judgement or coarser, so no equal run is missed: a number such as `0x1F` counts as a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.scan.units import (
    CAPITAL,
    CLASSES,
    DOT,
    IDEOGRAPH,
    LETTER,
    NO_LETTER,
    OPENING,
    QUOTE,
    SINGLE,
    TextBytes,
    UnitForm,
    UnitHashes,
    comment_end,
    mixed,
    opens_call,
    reserved_words,
)

RUN: Mapping[UnitForm, int] = {"words": 5, "tokens": 10}
"""Units of a run."""

LETTER_BIT, MARK_BIT = 8, 9
BEGINS_COMMENT, IS_IDEOGRAPH = np.uint64(1 << 10), np.uint64(1 << 11)
NO_DIGIT, NO_NUMBER = np.uint64(1), np.uint64(0xFF)
# odd, and 1 modulo 256: the lowest byte of the hash of a word counts its letters that are no digits
STEP = np.uint64(0x9E3779B97F4A7C01)
SPREAD = np.uint64(0xD6E8FEB86659FD93)
ANY_NAME = np.uint64(0x632BE59BD9B4E019)
NONE, ONE = np.uint64(0), np.uint64(1)
CHUNK = 1 << 14
"""Bytes of a text whose units are in the cache at a time."""
FILTER_BITS = 16
"""Bits of the filter for each run, at least half of it."""
RESERVED_BITS = 14
NEVER = -(2**60)


def _bytes() -> UnitHashes:
    """Return for each byte its random bits, what it is, and 1 for a letter that is no digit."""
    table = np.zeros(256, np.uint64)
    for byte, kind in enumerate(CLASSES.tolist()):
        lower = byte + 32 * (kind == CAPITAL)
        if byte == SINGLE:
            lower = QUOTE
        # the lowest 12 bits say what the byte is: one look-up answers every question about it
        random = int(mixed(np.uint64(lower + 1))) << 12 & (2**64 - 1)
        if kind in (LETTER, CAPITAL):
            table[byte] = random | 1 << LETTER_BIT | (byte not in b"0123456789")
        elif kind == NO_LETTER:
            table[byte] = random | 1 << MARK_BIT | int(BEGINS_COMMENT) * (byte in b"#/")
        elif kind == IDEOGRAPH:
            table[byte] = random | int(IS_IDEOGRAPH)
    return table


BYTES = _bytes()
POINT, CALL = BYTES[DOT], BYTES[OPENING]
LAST = np.uint32(1)


@compiled
def _fill(
    letters: TextBytes,
    window: tuple[Any, int],
    state: UnitHashes,
    out: tuple[UnitHashes, UnitHashes],
    counts: tuple[Any, Any],
) -> tuple[int, int, int]:
    """Append the units of a window of a text; return the numbers of words and tokens, and the offset after the last.

    Args:
        letters: the whole text.
        window: first offset and the offset after the last.
        state: uint64 [3]: hash of the word that goes on, 1 if one does, end of the comment that goes on.
        out: words and tokens; tokens are not yet blind to names.
        counts: words and tokens that are in them already.
    """
    (at, stop), (words, tokens), (w, t) = window, out, counts
    value, inside = state[0], state[1]
    until: Any = np.int64(state[2])
    while at < stop:
        # a comment has words and no tokens
        limit = min(until, stop)
        while at < limit:
            bits = BYTES[letters[at]]
            letter = bits >> np.uint64(LETTER_BIT) & ONE
            words[w] = value
            w += np.int64(inside & ~letter)
            # 0 - letter is all ones for a letter and 0 for any other byte, which begins a new word
            value, inside = (value * STEP + bits) & (NONE - letter), letter
            if bits & IS_IDEOGRAPH:
                words[w] = _three(letters, at)
                w += 1
                at += 2
            at += 1
        if at >= until > 0:
            words[w] = value
            w += np.int64(inside)
            value, inside, until = NONE, NONE, 0
        while at < stop:
            bits = BYTES[letters[at]]
            if bits & BEGINS_COMMENT:
                end = comment_end(letters, at)
                if end > at:
                    words[w], tokens[t] = value, value
                    w += np.int64(inside)
                    t += np.int64(inside)
                    value, inside, until = NONE, NONE, end
                    break
            # every byte writes, and what does not end a word is written over: a branch would be guessed wrongly
            letter = bits >> np.uint64(LETTER_BIT) & ONE
            ended = np.int64(inside & ~letter)
            words[w], tokens[t] = value, value
            w += ended
            t += ended
            tokens[t] = bits
            t += np.int64(bits >> np.uint64(MARK_BIT) & ONE)
            value, inside = (value * STEP + bits) & (NONE - letter), letter
            if bits & IS_IDEOGRAPH:
                words[w], tokens[t] = _three(letters, at), ANY_NAME
                w += 1
                t += 1
                at += 2
            at += 1
    state[0], state[1], state[2] = value, inside, np.uint64(until)
    return w, t, at


@compiled
def _three(letters: TextBytes, at: int) -> np.uint64:
    value = ONE
    for letter in letters[at : at + 3]:
        value = value * STEP + np.uint64(letter)
    return value


def _reserved() -> NDArray[np.uint32]:
    """Return a table of the reserved words, the last bit for keywords; where two share a slot the longer is a name."""
    table = np.zeros(1 << RESERVED_BITS, np.uint32)
    words, tokens = np.empty(200, np.uint64), np.empty(200, np.uint64)
    # the longest first, so that a shorter word takes a slot from it
    for word, is_keyword in sorted(reserved_words().items(), key=lambda pair: -len(pair[0])):
        letters = np.frombuffer(f"{word} ".encode(), np.uint8)
        _fill(letters, (0, len(letters)), np.zeros(3, np.uint64), (words, tokens), (0, 0))
        table[int(words[0]) >> (64 - RESERVED_BITS)] = int(words[0]) >> 16 & 0xFFFFFFFE | is_keyword
    return table


RESERVED = _reserved()


@compiled
def _without_names(tokens: UnitHashes, first: int, count: int, opens: bool) -> None:  # noqa: FBT001  numba has no keywords
    """Replace names by one unit; `opens` says that a call opens after the last token."""
    for at in range(first, count):
        value = tokens[at]
        # see STEP: a word whose count of letters is 0 has digits alone; marks have 0 there too
        if value & NO_NUMBER == NONE:
            continue
        word, reserved = np.uint32(value >> np.uint64(16)), RESERVED[value >> np.uint64(64 - RESERVED_BITS)]
        # a member of a library is one only where it is called or follows a point: `list` alone is anybody's name
        is_called = tokens[at + 1] == CALL if at + 1 < count else opens
        is_member = is_called or (at > 0 and tokens[at - 1] == POINT)
        if (reserved ^ word) > LAST or not (is_member or reserved & LAST):
            tokens[at] = ANY_NAME


@compiled
def _run_hashes(units: UnitHashes, count: int, width: int, runs: UnitHashes) -> int:
    """Write the hash of each run of `width` units (a cyclic polynomial); return their number."""
    # each step turns the sum by 13 bits, so the oldest unit leaves it by XOR with itself, turned as often (Cohen 1997)
    oldest, rolling = np.uint64(13 * (width - 1) % 64), NONE
    for at in range(count):
        rolling = (rolling << np.uint64(13) | rolling >> np.uint64(51)) ^ units[at]
        begin = at - width + 1
        if begin >= 0:
            runs[begin] = rolling
            rolling ^= units[begin] << oldest | units[begin] >> (np.uint64(64) - oldest)
    return max(0, count - width + 1)


def run_hashes(text: bytes, form: UnitForm) -> UnitHashes:
    """Return the hash of each run of a text, uint64 [units - RUN + 1]; only tables of this module have the same."""
    # a line feed ends the last word; a unit takes a byte at least, and the fill writes one entry ahead
    letters = np.frombuffer(text + b"\n", np.uint8)
    words, tokens = (np.empty(2 * len(letters) + 4, np.uint64) for _ in range(2))
    counts = _fill(letters, (0, len(letters)), np.zeros(3, np.uint64), (words, tokens), (0, 0))
    _without_names(tokens, 0, counts[1], False)
    runs = np.empty(len(letters) * 2, np.uint64)
    place = ("words", "tokens").index(form)
    return runs[: _run_hashes((words, tokens)[place], counts[place], RUN[form], runs)]


WeighedRuns = tuple[UnitHashes, NDArray[np.int32]]


class RunTable(NamedTuple):
    """Runs of the parts in one form: which parts have each, in compressed rows.

    Attributes:
        width: units of a run.
        runs: uint64 [n], ascending, each once.
        first: int64 [n + 1], where the parts of each run begin.
        parts: int32 [m], positions of parts.
        weights: int32 [m], of the run in its part.
        met: int64 [m], the last place where the run counted for its part, among all texts ever read.
        filter: uint64, a Bloom filter in blocks of 64 bits.
        slots: int32, open-addressed: positions of runs, -1 for none.
        place: int64 [1], of the next run among all texts ever read.
    """

    width: int
    runs: UnitHashes
    first: NDArray[np.int64]
    parts: NDArray[np.int32]
    weights: NDArray[np.int32]
    met: NDArray[np.int64]
    filter: UnitHashes
    slots: NDArray[np.int32]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, form: UnitForm, runs: Mapping[int, WeighedRuns]) -> "RunTable":
        """Return the table of the runs of parts.

        Args:
            form: of the units.
            runs: position of a part → its runs, each once, and their weights.
        """
        every = np.concatenate([np.empty(0, np.uint64), *(own for own, _ in runs.values())])
        weights = np.concatenate([np.empty(0, np.int32), *(own for _, own in runs.values())])
        owner = np.repeat(np.array([*runs], np.int32), [len(own) for own, _ in runs.values()])
        order = np.argsort(every, kind="stable")
        distinct, first = np.unique(every[order], return_index=True)
        # sizes are powers of two, so that a mask takes the place of a division
        blocks = np.zeros(1 << max(10, int(FILTER_BITS * len(distinct) / 128).bit_length()), np.uint64)
        # at most half of the slots are full, so a search ends after a step or two
        slots = np.full(1 << max(10, int(2 * len(distinct)).bit_length()), -1, np.int32)
        _fill_table(distinct, blocks, slots)
        return cls(
            width=RUN[form],
            runs=distinct,
            first=np.append(first, len(every)),
            parts=owner[order],
            weights=weights[order],
            met=np.full(len(every), NEVER, np.int64),
            filter=blocks,
            slots=slots,
            place=np.zeros(1, np.int64),
        )


class Counters(NamedTuple):
    """Weights of the runs of each part in the last two windows of units, all [parts].

    Attributes:
        needed: int32, that a candidate has.
        width: int32, units of a window.
        had: int32, in the window.
        before: int32, in the window before it.
        begin: int64, place of the first unit of the window among all texts ever read.
        stamps: int64, the number of the last text that had enough.
    """

    needed: NDArray[np.int32]
    width: NDArray[np.int32]
    had: NDArray[np.int32]
    before: NDArray[np.int32]
    begin: NDArray[np.int64]
    stamps: NDArray[np.int64]

    @classmethod
    def of(cls, needed: Sequence[int], width: Sequence[int]) -> "Counters":
        """Return counters of parts that no text was read for."""
        none, had = np.full(len(needed), NEVER, np.int64), np.zeros(len(needed), np.int32)
        return cls(
            needed=np.array(needed, np.int32),
            width=np.array(width, np.int32),
            had=had,
            before=had.copy(),
            begin=none,
            stamps=none.copy(),
        )


@compiled
def _block(run: np.uint64, blocks: UnitHashes) -> tuple[np.uint64, np.uint64]:
    """Return the block of a run and its three bits there."""
    # all three bits lie in one word, so a run costs one access to memory (Putze, Sanders, Singler 2007)
    spread = run * SPREAD
    bits = ONE << (spread & np.uint64(63)) | ONE << (spread >> np.uint64(6) & np.uint64(63))
    bits |= ONE << (spread >> np.uint64(12) & np.uint64(63))
    return spread >> np.uint64(32) & np.uint64(len(blocks) - 1), bits


@compiled
def _slot(run: np.uint64, runs: UnitHashes, slots: NDArray[np.int32]) -> int:
    """Return the slot of a run, an empty one where it has none."""
    mask = np.uint64(len(slots) - 1)
    slot: Any = run * SPREAD >> np.uint64(24) & mask
    while slots[slot] >= 0 and runs[slots[slot]] != run:
        slot = (slot + ONE) & mask
    return np.int64(slot)  # type: ignore[return-value]  # an int to numba


@compiled
def _fill_table(runs: UnitHashes, blocks: UnitHashes, slots: NDArray[np.int32]) -> None:
    for at in range(len(runs)):
        block, bits = _block(runs[at], blocks)
        blocks[block] |= bits
        slots[_slot(runs[at], runs, slots)] = at


@compiled
def _passing(runs: UnitHashes, places: NDArray[np.int32], blocks: UnitHashes) -> int:
    """Move the runs that the filter lets pass to the front, without a branch; return their number."""
    count: Any = 0
    for at in range(len(runs)):
        run = runs[at]
        block, bits = _block(run, blocks)
        runs[count], places[count] = run, at
        count += np.int64(blocks[block] & bits == bits)
    return int(count)


@compiled
def _count_runs(
    piece: tuple[UnitHashes, NDArray[np.int32]],
    text: tuple[int, int],
    table: RunTable,
    counters: Counters,
    out: tuple[NDArray[np.int64], int],
) -> int:
    """Count the runs near each other for each part; write the pairs that have enough, return their number.

    The units are cut into windows as long as the widest stretch of a part. A stretch lies in two windows that follow
    each other, so their sum has all of its runs; runs that are strewn over a long text do not add up.

    Args:
        piece: runs of a piece of the text, and room for their places.
        text: its position, and a number that no other text has.
        table: of runs.
        counters: of the parts.
        out: int64 [most, 2], text and part of each pair, and how many there are.
    """
    (runs, places), (position, stamp), (pairs, count) = piece, text, out
    # places grow over all texts, so that no counter has to be set back when a text ends
    base = table.place[0]
    table.place[0] += len(runs)
    for passed in range(_passing(runs, places, table.filter)):
        at = table.slots[_slot(runs[passed], table.runs, table.slots)]
        if at < 0:
            continue
        place = base + places[passed]
        for entry in range(table.first[at], table.first[at + 1]):
            part = table.parts[entry]
            ahead = place - counters.begin[part] - counters.width[part]
            if ahead >= 0:
                is_next = ahead < counters.width[part]
                counters.before[part] = counters.had[part] if is_next else 0
                counters.begin[part] = counters.begin[part] + counters.width[part] if is_next else place
                counters.had[part] = 0
            # a run that repeats counts once in both windows
            if table.met[entry] >= counters.begin[part] - counters.width[part]:
                continue
            table.met[entry] = place
            counters.had[part] += table.weights[entry]
            is_enough = counters.had[part] + counters.before[part] >= counters.needed[part]
            if is_enough and counters.stamps[part] != stamp:
                counters.stamps[part] = stamp
                pairs[count, 0], pairs[count, 1] = position, part
                count += 1
    return count


@compiled
def _screen(
    letters: tuple[TextBytes, NDArray[np.int64]],
    texts: tuple[int, int],
    tables: tuple[RunTable, RunTable],
    counters: Counters,
    pairs: NDArray[np.int64],
) -> tuple[int, int]:
    """Write text and part of each candidate; return the first text that was not read, and the number of candidates.

    Args:
        letters: of the texts, each with a line feed after it; offsets of the texts, and the end.
        texts: the first one to read, and its number among all texts ever read.
        tables: of words and of tokens.
        counters: of the parts.
        pairs: int64 [most, 2], as long as there are parts at least.
    """
    space = 2 * CHUNK + 64
    words, tokens, runs = np.empty(space, np.uint64), np.empty(space, np.uint64), np.empty(space, np.uint64)
    places = np.empty(space, np.int32)
    state = np.zeros(3, np.uint64)
    (every, bounds), (text, stamp), count = letters, texts, 0
    apart = 2 * counters.width.max() if len(counters.width) else 0  # no window holds runs of two texts
    while text + 1 < len(bounds) and count + len(counters.needed) <= len(pairs):
        at, end = bounds[text], bounds[text + 1]
        w = t = 0
        state[:] = NONE
        # a comment ends with its text, so that what the next one holds does not depend on its neighbour
        own = every[:end]
        while at < end:
            kept = t
            w, t, at = _fill(own, (at, min(at + CHUNK, end)), state, (words, tokens), (w, t))
            size = _run_hashes(words, w, tables[0].width, runs)
            count = _count_runs((runs[:size], places), (text, stamp), tables[0], counters, (pairs, count))
            w = _keep_last(words, w, tables[0].width - 1)
            if len(tables[1].runs):
                _without_names(tokens, kept, t, state[1] == NONE and opens_call(own, at))
                size = _run_hashes(tokens, t, tables[1].width, runs)
                count = _count_runs((runs[:size], places), (text, stamp), tables[1], counters, (pairs, count))
            t = _keep_last(tokens, t, tables[1].width - 1)
        for table in tables:
            table.place[0] += apart
        text += 1
        stamp += 1
    return text, count


@compiled
def _keep_last(units: UnitHashes, count: int, most: int) -> int:
    """Move the last units to the front: a run goes on into the next piece."""
    kept = min(count, most)
    units[:kept] = units[count - kept : count].copy()
    return kept


class Screen:
    """The first stage: parts of tasks by their runs."""

    def __init__(self, tables: tuple[RunTable, RunTable], counters: Counters) -> None:
        """Store the tables of words and of tokens, and the counters of the parts."""
        self._tables, self._counters, self._texts = tables, counters, 0
        self._pairs = np.empty((len(counters.needed) + 10_000, 2), np.int64)

    def candidates(self, texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """Yield the positions of text and part of each pair that shares enough runs, texts ascending."""
        letters = np.frombuffer(b"\n".join([*texts, b""]), np.uint8)
        bounds = np.cumsum([0, *(len(text) + 1 for text in texts)], dtype=np.int64)
        text = 0
        while text < len(texts):
            before = text
            text, count = _screen((letters, bounds), (text, self._texts), self._tables, self._counters, self._pairs)
            self._texts += text - before
            yield from map(tuple, self._pairs[:count].tolist())
