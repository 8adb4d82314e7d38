"""A seed for each prompt: what one prompt gets does not depend on which others are asked with it."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

SEEDS = 2**31
"""Seeds are below this, which every server takes."""


def prompt_seeds(seed: int, prompts: Iterable[str]) -> Iterator[int]:
    """Seeds of prompts; the same prompt asked twice has two."""
    seen: Counter[str] = Counter()
    for prompt in prompts:
        key = f"{seed}\0{seen[prompt]}\0".encode() + prompt.encode("utf-8", "surrogatepass")
        seen[prompt] += 1
        yield int.from_bytes(hashlib.sha256(key).digest()[:8]) % SEEDS
