"""Values of texts that are scored afresh, never from a cache, in an order that knows nothing but the texts."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np

from assay.errors import MissingCapability
from assay.models import display_name
from assay.progress import progress_bar
from assay.types import Generator, LogProbScorer, Rejected

GENERATED = 256
"""Tokens that a model writes behind a shared prefix."""
LEAST_WORDS = 5
"""Words of a task that a shared prefix needs."""
_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"^[ \t]*(?:import|from|#include|using|package)\b.*$", re.MULTILINE)

Sets = Sequence[Sequence[str]]
"""Texts of the copies of each task."""


def log_likelihoods(model: Generator | LogProbScorer, texts: Sequence[str]) -> dict[str, float]:
    """Return the log-likelihood of each text in nats; absent where the model rejects a text or gives no finite number.

    Raises:
        MissingCapability: the model only generates text.
        ModelError: it cannot be run.
    """
    if not isinstance(model, LogProbScorer):
        raise MissingCapability(f"{display_name(model.name)} only generates text: expected --access black")
    # sorted by digest: neither the order nor the batches know the lot
    ordered = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode()).digest())
    values: dict[str, float] = {}
    with progress_bar(f"scoring copies with {display_name(model.name)}", shown=len(ordered) > 1) as progress:
        for batch in model.completed(ordered):
            for index, reply in batch:
                if isinstance(reply, Rejected) or not len(reply):
                    continue
                value = float(reply.log_probs.sum(dtype=np.float64))
                if np.isfinite(value):
                    values[ordered[index]] = value
            if progress:
                progress(len(values), len(ordered))
    return values


def shared_prefixes(sets: Sets) -> list[str]:
    """Return what all copies of each task begin with; "" where that holds nothing of the task."""
    # a word that is cut in its middle is no part of the prefix
    prefixes = [re.sub(r"\w+\Z", "", os.path.commonprefix(list(texts))) for texts in sets]  # noqa: RUF071  of texts
    counts = Counter(prefixes)
    for place, prefix in enumerate(prefixes):
        words = set(_WORD.findall(_IMPORT.sub("", prefix)))
        # two tasks that begin alike would get one reply
        if len(words) < LEAST_WORDS or counts[prefix] > 1:
            prefixes[place] = ""
    return prefixes


def written_names(model: Generator | LogProbScorer, sets: Sets, prompts: Sequence[str]) -> dict[str, float]:
    """Return for each copy the share of its own words that a model writes behind the prefix that all copies share.

    Raises:
        MissingCapability: the model does not generate text.
    """
    if not isinstance(model, Generator):
        raise MissingCapability(f"{display_name(model.name)} does not generate text: expected --access gray")
    values: dict[str, float] = {}
    replies = model.generate(list(filter(None, prompts)), max_new_tokens=GENERATED)
    for texts, reply in zip(compress(sets, prompts), replies, strict=True):
        if isinstance(reply, Rejected):
            continue
        words = list(map(set, map(_WORD.findall, texts)))
        # words that all copies share say nothing of which copy the model saw
        common = set.intersection(*words)
        written = set(_WORD.findall(reply))
        for text, own in zip(texts, words, strict=True):
            values[text] = len((own - common) & written) / max(1, len(own - common))
    return values
