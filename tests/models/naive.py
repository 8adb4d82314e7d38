"""METHODS §0 word for word: one text, one pass per window, all logits, float64."""

import numpy as np
import torch


def naive_columns(model, ids, *, context, stride, first, column=None, width=6):
    """l, r, H, V, u, l_max of the tokens from `first` on, or what `column` returns: float64 [width, n]."""
    column = column or naive_column
    columns = {}
    for start in range(0, max(1, len(ids)), stride):
        window = ids[start : start + context]
        if len(window) < 2:
            break
        with torch.inference_mode():
            # The last token is predicted, never read. No cache: CodeGen rounds what it keeps there.
            logits = model(torch.tensor([list(window[:-1])]), use_cache=False).logits[0].double().numpy()
        for place in range(1, len(window)):
            if start + place >= first and start + place not in columns:
                columns[start + place] = column(logits[place - 1], window[place])
    return np.array([columns[position] for position in sorted(columns)]).reshape(-1, width).T


def columns_of(statistics):
    """The same six rows of a `TokenStatistics`, float64 [6, n]."""
    names = ("log_probs", "ranks", "entropy", "variance", "tail_mass", "top_log_probs")
    return np.array([getattr(statistics, name) for name in names], np.float64)


def near_ties(logits, token, step=5e-6):
    """How many other tokens have a logit so near that rounding in float32 may change their order."""
    return ((np.abs(logits - logits[token]) <= step).sum() - 1,)


def naive_column(logits, token):
    """The six numbers of one token, from the definitions."""
    log_p = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    p = np.exp(log_p)
    finite = p > 0
    mean = (p[finite] * log_p[finite]).sum()
    return (
        log_p[token],
        1 + (logits > logits[token]).sum(),
        -mean,
        (p[finite] * (log_p[finite] - mean) ** 2).sum(),
        p[logits < logits[token]].sum() + p[token] / 2,
        log_p.max(),
    )
