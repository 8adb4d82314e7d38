"""Compiled loops: bisection in one segment, reading of lists, merging.

All arrays of a segment are read-only views of its file. A list is the range of `documents` that belongs to one key; its
documents ascend, and so do those that were removed, `dead`. Both are ranks among the documents of the segment.
"""

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.types import BooleanArray

Documents = NDArray[np.uint32]
Bounds = NDArray[np.int64]
Integer = int | np.int64
"""Never unsigned: numba computes an unsigned and a signed 64-bit integer as floats."""

LONG_LIST = 1 << 15
"""Documents of a list from which all candidates are searched in step."""


@compiled
def first_not_below(values: Documents, low: Integer, high: Integer, value: Integer) -> Integer:
    """Return the first position from `low` whose value is not below `value`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if np.int64(values[middle]) < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_lists(
    buckets: tuple[Documents, Documents],
    entries: tuple[Documents, NDArray[np.uint8]],
    keys: NDArray[np.uint64],
    remainder_bits: int,
    postings: int,
) -> tuple[Bounds, Bounds]:
    """Return start and stop of the list of each key; they are equal for a key that is absent.

    Args:
        buckets: first entry and first posting of each bucket, and their ends.
        entries: remainder of a key, and number of its postings.
        keys: to find.
        remainder_bits: of a key.
        postings: number of all of them.
    """
    directory, first_postings = buckets
    remainders, lengths = entries
    starts = np.empty(len(keys), np.int64)
    stops = np.empty(len(keys), np.int64)
    mask = (np.int64(1) << remainder_bits) - 1
    for at in range(len(keys)):
        # as in a telephone book: the leading bits choose the page (a bucket of about 64 postings, one or two cache
        # lines), and only the remainder of the key is stored and searched there
        key = np.int64(keys[at])
        bucket = key >> remainder_bits
        remainder = key & mask
        # a forged directory must not lead beyond the arrays
        high: Integer = min(np.int64(directory[bucket + 1]), np.int64(len(remainders)))
        low: Integer = min(np.int64(directory[bucket]), high)
        entry = first_not_below(remainders, low, high, remainder)
        start = np.int64(first_postings[bucket])
        for before in range(low, entry):
            start += np.int64(lengths[before])
        stop = start
        # a list longer than a byte can count has several entries
        while entry < high and np.int64(remainders[entry]) == remainder:
            stop += np.int64(lengths[entry])
            entry += 1
        starts[at] = min(start, np.int64(postings))
        stops[at] = min(stop, np.int64(postings))
    return starts, stops


@compiled
def contains(values: Documents, value: Integer) -> bool:
    """Return True if ascending values contain a value."""
    at = first_not_below(values, 0, len(values), value)
    return bool(at < len(values) and np.int64(values[at]) == value)


@compiled
def places_in(values: Documents, numbers: NDArray[np.int64]) -> Bounds:
    """Return the position of each number among ascending, distinct values; -1 if it is not among them."""
    places = np.full(len(numbers), -1, np.int64)
    if len(values) == 0:
        return places
    first, last = np.int64(values[0]), np.int64(values[-1])
    for at in range(len(numbers)):
        value = numbers[at]
        if value < first or value > last:
            continue
        # if no number between `first` and the value is missing, its position is their difference; otherwise it is
        # before
        place = min(value - first, np.int64(len(values) - 1))
        if np.int64(values[place]) != value:
            place = first_not_below(values, 0, place, value)
        if np.int64(values[place]) == value:
            places[at] = place
    return places


@compiled
def tally(ascending: Documents) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return each value once, and the number of its occurrences."""
    values = np.empty(len(ascending), np.int64)
    counts = np.empty(len(ascending), np.int32)
    last = -1
    for at in range(len(ascending)):
        if at == 0 or ascending[at] != ascending[at - 1]:
            last += 1
            values[last] = ascending[at]
            counts[last] = 0
        counts[last] += 1
    return values[: last + 1], counts[: last + 1]


@compiled
def count_living(documents: Documents, starts: Bounds, stops: Bounds, dead: Documents, limit: int) -> Bounds:
    """Return the number of documents of each list that were not removed; counting stops above `limit`."""
    counts = np.empty(len(starts), np.int64)
    for at in range(len(starts)):
        if len(dead) == 0:
            counts[at] = stops[at] - starts[at]
            continue
        count = 0
        for posting in range(starts[at], stops[at]):
            if not contains(dead, np.int64(documents[posting])):
                count += 1
                # a list above the limit is not read, so its exact length does not matter
                if count > limit:
                    break
        counts[at] = count
    return counts


@compiled
def read_lists(documents: Documents, starts: Bounds, stops: Bounds, chosen: BooleanArray, dead: Documents) -> Documents:
    """Return the documents of the chosen lists that were not removed, list after list."""
    # two passes: the first one bounds the length, so that the result is one array that never grows
    total = 0
    for at in range(len(starts)):
        if chosen[at]:
            total += stops[at] - starts[at]
    living = np.empty(total, np.uint32)
    count = 0
    for at in range(len(starts)):
        if chosen[at]:
            for posting in range(starts[at], stops[at]):
                if len(dead) == 0 or not contains(dead, np.int64(documents[posting])):
                    living[count] = documents[posting]
                    count += 1
    return living[:count]


@compiled
def count_members(
    documents: Documents, starts: Bounds, stops: Bounds, candidates: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the number of lists that contain each candidate; candidates ascend."""
    counts = np.zeros(len(candidates), np.int32)
    for at in range(len(starts)):
        if stops[at] > starts[at]:
            if stops[at] - starts[at] < LONG_LIST:
                _count_in_short(documents, starts[at], stops[at], candidates, counts)
            else:
                _count_in_long(documents, starts[at], stops[at], candidates, counts)
    return counts


@compiled
def _count_in_short(
    documents: Documents, low: Integer, high: Integer, candidates: NDArray[np.int64], counts: NDArray[np.int32]
) -> None:
    for number in range(len(candidates)):
        candidate = candidates[number]
        # candidates and list ascend, so a search begins where the last one ended and doubles its step (galloping)
        step = 1
        while low + step < high and np.int64(documents[low + step]) < candidate:
            step *= 2
        low = first_not_below(documents, low + (step >> 1), min(low + step, high), candidate)
        if low >= high:
            break
        if np.int64(documents[low]) == candidate:
            counts[number] += 1


@compiled
def _count_in_long(
    documents: Documents, low: Integer, high: Integer, candidates: NDArray[np.int64], counts: NDArray[np.int32]
) -> None:
    # all candidates bisect in step: their reads do not depend on each other, so the processor waits for many at a time
    # instead of one after the other; in a list of a million documents nearly every read misses the caches
    places = np.full(len(candidates), low)
    left = high - low
    while left > 1:
        half = left >> 1
        for number in range(len(candidates)):
            if np.int64(documents[places[number] + half]) <= candidates[number]:
                places[number] += half
        left -= half
    for number in range(len(candidates)):
        if np.int64(documents[places[number]]) == candidates[number]:
            counts[number] += 1


@compiled
def merge_postings(
    keys: NDArray[np.uint64], documents: Documents, other_keys: NDArray[np.uint64], other_documents: Documents
) -> tuple[NDArray[np.uint64], Documents]:
    """Return two sequences of postings, each ascending by key and document, merged into one."""
    # the document decides between equal keys: lists of a key must ascend, because searches in them bisect
    length = len(keys) + len(other_keys)
    merged_keys = np.empty(length, np.uint64)
    merged_documents = np.empty(length, np.uint32)
    first = second = 0
    for at in range(length):
        if second == len(other_keys) or (
            first < len(keys)
            and (
                keys[first] < other_keys[second]
                or (keys[first] == other_keys[second] and documents[first] <= other_documents[second])
            )
        ):
            merged_keys[at] = keys[first]
            merged_documents[at] = documents[first]
            first += 1
        else:
            merged_keys[at] = other_keys[second]
            merged_documents[at] = other_documents[second]
            second += 1
    return merged_keys, merged_documents
