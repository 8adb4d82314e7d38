"""Winnowing as one would write it by hand: the yardstick of the vectorised one."""

import hashlib

MASK = (1 << 64) - 1
BASE = 0x9E3779B97F4A7C15


def polynomial(gram):
    """Of a gram whose length is a power of two Horner's rule; else of its first and last m units, joined."""
    m = 1 << (len(gram).bit_length() - 1)
    if m < len(gram):
        return (polynomial(gram[:m]) * pow(BASE, m) + polynomial(gram[-m:])) & MASK
    total = 0
    for unit in gram:
        total = (total * BASE + int(unit)) & MASK
    return total


def mixed_64(gram):
    total = polynomial(gram)
    total ^= total >> 32
    total = (total * 0xD6E8FEB86659FD93) & MASK
    return total ^ (total >> 32)


def sha1_16(gram):
    text = "".join(chr(unit) for unit in gram)
    return int(hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(), 16) % 2**16


def winnow(units, *, k, w, gram_hash):
    """[(hash, position)]: of each window the smallest hash, the rightmost of equal ones."""
    hashes = [gram_hash(units[at : at + k]) for at in range(len(units) - k + 1)]
    w = min(w, len(hashes))
    chosen = {}
    for first in range(len(hashes) - w + 1):
        position = min(range(first, first + w), key=lambda at: (hashes[at], -at))
        chosen[position] = hashes[position]
    return [(value, position) for position, value in sorted(chosen.items())]
