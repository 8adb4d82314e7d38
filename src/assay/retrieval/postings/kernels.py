"""The inner loops: bisection in one segment, reading of lists, merging.

All arrays of a segment are read-only views of its file. A list is the stretch of `documents` that belongs to one key;
its documents ascend. `dead` holds the removed documents of the segment, ascending.
"""

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled

Documents = NDArray[np.uint32]
Bounds = NDArray[np.int64]
Integer = int | np.int64
"""Never an unsigned one: mixed with a signed one it would become a float."""


@compiled
def below(values: Documents, low: Integer, high: Integer, value: Integer) -> Integer:
    """The first position from `low` on whose value is not below `value`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if np.int64(values[middle]) < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_lists(
    directory: Documents, remainders: Documents, keys: NDArray[np.uint64], remainder_bits: int
) -> tuple[Bounds, Bounds]:
    """Where the list of each key starts and stops; the two are equal for a key that is absent."""
    starts = np.empty(len(keys), np.int64)
    stops = np.empty(len(keys), np.int64)
    mask = (np.int64(1) << remainder_bits) - 1
    for at in range(len(keys)):
        key = np.int64(keys[at])
        bucket = key >> remainder_bits
        remainder = key & mask
        high = np.int64(directory[bucket + 1])
        start = below(remainders, np.int64(directory[bucket]), high, remainder)
        # most lists are short: look ahead in growing steps, then bisect
        step = 1
        stop = start
        while stop < high and np.int64(remainders[stop]) == remainder:
            start_of_step = stop
            stop = min(high, stop + step)
            step *= 2
            if stop == high or np.int64(remainders[stop]) != remainder:
                stop = below(remainders, start_of_step + 1, stop, remainder + 1)
                break
        starts[at] = start
        stops[at] = stop
    return starts, stops


@compiled
def contains(values: Documents, value: Integer) -> bool:
    """Whether ascending values hold this one."""
    at = below(values, 0, len(values), value)
    return bool(at < len(values) and np.int64(values[at]) == value)


@compiled
def places_in(values: Documents, wanted: NDArray[np.int64]) -> Bounds:
    """Where each wanted number stands among ascending, distinct values; -1 for one that does not."""
    places = np.full(len(wanted), -1, np.int64)
    if len(values) == 0:
        return places
    first, last = np.int64(values[0]), np.int64(values[-1])
    for at in range(len(wanted)):
        value = wanted[at]
        if value < first or value > last:
            continue
        # where no number between is missing the place is known; else it lies before
        place = min(value - first, np.int64(len(values) - 1))
        if np.int64(values[place]) != value:
            place = below(values, 0, place, value)
        if np.int64(values[place]) == value:
            places[at] = place
    return places


@compiled
def tally(ascending: Documents) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Each value once, and how often it stands there."""
    values = np.empty(len(ascending), np.int64)
    counts = np.empty(len(ascending), np.int32)
    found = -1
    for at in range(len(ascending)):
        if at == 0 or ascending[at] != ascending[at - 1]:
            found += 1
            values[found] = ascending[at]
            counts[found] = 0
        counts[found] += 1
    return values[: found + 1], counts[: found + 1]


@compiled
def count_living(documents: Documents, starts: Bounds, stops: Bounds, dead: Documents, limit: int) -> Bounds:
    """How many documents of each list were not removed; counting stops above `limit`."""
    counts = np.empty(len(starts), np.int64)
    for at in range(len(starts)):
        if len(dead) == 0:
            counts[at] = stops[at] - starts[at]
            continue
        count = 0
        for posting in range(starts[at], stops[at]):
            if not contains(dead, np.int64(documents[posting])):
                count += 1
                if count > limit:
                    break
        counts[at] = count
    return counts


@compiled
def read_lists(
    documents: Documents, starts: Bounds, stops: Bounds, wanted: NDArray[np.bool_], dead: Documents
) -> Documents:
    """The documents of all wanted lists that were not removed, list after list."""
    total = 0
    for at in range(len(starts)):
        if wanted[at]:
            total += stops[at] - starts[at]
    found = np.empty(total, np.uint32)
    count = 0
    for at in range(len(starts)):
        if wanted[at]:
            for posting in range(starts[at], stops[at]):
                if len(dead) == 0 or not contains(dead, np.int64(documents[posting])):
                    found[count] = documents[posting]
                    count += 1
    return found[:count]


@compiled
def count_members(
    documents: Documents, starts: Bounds, stops: Bounds, wanted: NDArray[np.bool_], candidates: NDArray[np.int64]
) -> NDArray[np.int32]:
    """In how many of the wanted lists each candidate stands; candidates ascend."""
    counts = np.zeros(len(candidates), np.int32)
    for at in range(len(starts)):
        if not wanted[at]:
            continue
        low, high = starts[at], stops[at]
        for which in range(len(candidates)):
            candidate = candidates[which]
            # gallop: both sides ascend
            step = 1
            while low + step < high and np.int64(documents[low + step]) < candidate:
                step *= 2
            low = below(documents, low + (step >> 1), min(low + step, high), candidate)
            if low >= high:
                break
            if np.int64(documents[low]) == candidate:
                counts[which] += 1
    return counts


@compiled
def merge_postings(
    keys: NDArray[np.uint64], documents: Documents, other_keys: NDArray[np.uint64], other_documents: Documents
) -> tuple[NDArray[np.uint64], Documents]:
    """Two sequences of postings, each ascending by key and document, as one."""
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
