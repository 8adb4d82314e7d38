"""The lot: a key that nobody chose, and draws from it that nobody can steer once both key and beacon are fixed.

    number(key, purpose, parts, K) = HMAC-SHA256(key, purpose, parts, counter) mod K, without modulo bias

The key alone makes the copies. The lot of a task also depends on the value of a public random beacon that did not exist
when key and copies were committed to; without a beacon the value is empty, and outsiders have to trust the publisher.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence

_BITS = 256


def new_key() -> str:
    """Return 256 random bits in hexadecimal."""
    return secrets.token_hex(_BITS // 8)


def keyed_digest(key: str, *parts: object) -> bytes:
    """Return HMAC-SHA256 of the parts; JSON keeps them apart."""
    return hmac.new(bytes.fromhex(key), json.dumps(parts).encode(), hashlib.sha256).digest()


def keyed_seed(key: str, *parts: object) -> int:
    """Return 256 bits that seed a generator of copies."""
    return int.from_bytes(keyed_digest(key, *parts))


def drawn_number(key: str, size: int, *parts: object) -> int:
    """Return a number from 0 to size - 1, each with the same chance.

    Values in the last, incomplete run of `size` numbers below 2^256 are drawn again: the remainder of a plain division
    would prefer small numbers.
    """
    bound = (1 << _BITS) - (1 << _BITS) % size
    for counter in range(1 << 20):
        value = int.from_bytes(keyed_digest(key, *parts, counter))
        if value < bound:
            return value % size
    raise AssertionError("a million draws above the bound: HMAC-SHA256 is broken")


def drawn_order(key: str, size: int, *parts: object) -> list[int]:
    """Return a random order of the numbers from 0 to size - 1."""
    # digests of 256 bits do not collide, so sorting by them gives each order the same chance
    return sorted(range(size), key=lambda index: keyed_digest(key, *parts, index))


def salted_digest(key: str, text: str) -> str:
    """Return a digest of one text that nobody can check guesses against without the key.

    Copies differ in names, which have few candidates: a plain digest of a secret copy could be guessed.
    """
    return keyed_digest(key, "digest", text).hex()


def chosen_indices(excluded: Sequence[int], size: int) -> list[int]:
    """Return the numbers from 0 to size - 1 that are not excluded, in their order."""
    return sorted(set(range(size)).difference(excluded))
