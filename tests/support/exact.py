"""Token statistics computed the slow, obvious way in float64: what every fast path has to agree with."""

import numpy as np

from assay.types import TokenStatistics


def exact_statistics(logits, ids) -> TokenStatistics:
    """Statistics of tokens `ids` [n] predicted by `logits` [n, V], by the definitions."""
    logits, ids = np.asarray(logits, np.float64), np.asarray(ids)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    p = np.exp(log_p)
    l = np.take_along_axis(log_p, ids[:, None], 1)[:, 0]
    entropy = -np.where(p > 0, p * log_p, 0).sum(1)
    variance = np.where(p > 0, p * (log_p + entropy[:, None]) ** 2, 0).sum(1)
    tail = np.where(p < np.exp(l)[:, None], p, 0).sum(1) + np.exp(l) / 2
    ranks = 1 + (logits > np.take_along_axis(logits, ids[:, None], 1)).sum(1)
    spans = np.stack([np.arange(len(ids)), np.arange(len(ids)) + 1], 1)
    as_floats = (x.astype(np.float32) for x in (entropy, variance, tail, log_p.max(1)))
    return TokenStatistics(
        ids.astype(np.int32), l.astype(np.float32), ranks.astype(np.int32), *as_floats, spans.astype(np.int32)
    )


def uniform_statistics(n: int, vocabulary_size: int) -> TokenStatistics:
    """Statistics of n tokens under a model that knows nothing."""
    return exact_statistics(np.zeros((n, vocabulary_size)), np.arange(n) % vocabulary_size)


def certain_statistics(n: int) -> TokenStatistics:
    """Statistics of n tokens, each predicted with probability exactly 1."""
    ids = np.arange(n, dtype=np.int32)
    zeros, ones = np.zeros(n, np.float32), np.ones(n, np.int32)
    spans = np.stack([ids, ids + 1], 1)
    return TokenStatistics(ids, zeros, ones, zeros, zeros, np.full(n, 0.5, np.float32), zeros, spans)
