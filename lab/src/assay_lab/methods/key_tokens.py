"""Key-token perturbation of VeilProbe: replace the tokens of a text that its continuation depends on most.

Importance is measured on an open proxy model, since nothing but text is known of the audited one: the change of the
probabilities of the proxy's own continuation when the token is replaced. The published program averages three sizes of
GPT-2, measures the change by optimal transport and takes replacements from a masked language model (BERT). Here one
causal model does all of it: the replacement is one of its five most likely tokens at that place.
"""

import hashlib
import random
import re
from collections.abc import Sequence

import torch

from assay.models import TransformersModel

CONTINUATION = 10
"""Tokens of the proxy's continuation, as published."""
CHOICES = 5
"""Most likely tokens among which a replacement is drawn, as published."""
ROWS = 32
"""Replacements in one forward pass."""
_WORD = re.compile(r"[^\W\d]\w*")


def perturbed(texts: Sequence[str], proxy: TransformersModel, *, share: float, seed: int) -> list[str | None]:
    """Return each text with its key tokens replaced; None where no token can be.

    Args:
        texts: in any language; each is cut to the proxy's context for the measurement, not in the result.
        proxy: a causal model.
        share: of the tokens that are replaced, the most important first; one at least.
        seed: of the choice among replacements.
    """
    with torch.inference_mode():
        return [_perturbed(text, proxy, share=share, seed=seed) for text in texts]


def _perturbed(text: str, proxy: TransformersModel, *, share: float, seed: int) -> str | None:
    (encoded,) = proxy.encoder.encode([text])
    length = proxy.context - CONTINUATION
    ids, offsets = encoded.ids[:length].tolist(), encoded.offsets[:length].tolist()
    if len(ids) < 2:  # noqa: PLR2004  the first token is predicted by none
        return None
    replacements = _replacements(text, ids, offsets, proxy=proxy, seed=seed)
    if not replacements:
        return None
    importance = _importance(ids, replacements, proxy)
    count = max(1, round(share * len(ids)))
    chosen = sorted(sorted(replacements, key=lambda place: -importance[place])[:count], reverse=True)
    # from the end, so that the offsets before stay right
    for place in chosen:
        start, end = offsets[place]
        original = text[start:end]
        # a token of such a vocabulary begins with the space before its word
        space = original[: len(original) - len(original.lstrip())]
        text = text[:start] + space + _word(proxy, replacements[place]) + text[end:]
    return text


def _replacements(
    text: str, ids: Sequence[int], offsets: Sequence[Sequence[int]], proxy: TransformersModel, seed: int
) -> dict[int, int]:
    """Return place → token that replaces the one there, for tokens that are words."""
    model = proxy.checkpoint.model
    draw = random.Random(f"{seed} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}")  # noqa: S311  reproducible, not secret
    logits = model(input_ids=torch.tensor([ids], device=model.device)).logits[0]
    # one more than are drawn among, as the token itself may be one of them
    likely = logits.topk(CHOICES + 1).indices.tolist()
    replacements = {}
    for place in range(1, len(ids)):
        start, end = offsets[place]
        if start < 0 or not _WORD.fullmatch(text[start:end].strip()):
            continue
        others = [token for token in likely[place - 1] if token != ids[place] and _WORD.fullmatch(_word(proxy, token))]
        if others:
            replacements[place] = draw.choice(others[:CHOICES])
    return replacements


def _importance(ids: Sequence[int], replacements: dict[int, int], proxy: TransformersModel) -> dict[int, float]:
    """Return place → summed absolute change of the log-probabilities of the continuation, in nats."""
    (continuation,) = proxy.continue_tokens([ids], max_new_tokens=CONTINUATION)
    if not continuation:
        return dict.fromkeys(replacements, 0.0)
    places = list(replacements)
    rows = [list(ids)]
    for place in places:
        row = list(ids)
        row[place] = replacements[place]
        rows.append(row)
    model = proxy.checkpoint.model
    suffix = torch.tensor(continuation, device=model.device)
    parts = []
    for start in range(0, len(rows), ROWS):
        batch = torch.tensor([[*row, *continuation] for row in rows[start : start + ROWS]], device=model.device)
        # logits stand one place before the token that they predict
        logits = model(input_ids=batch).logits[:, len(ids) - 1 : -1].float()
        parts.append(logits.log_softmax(-1).gather(2, suffix.expand(len(batch), -1)[..., None])[..., 0])
    log_probs = torch.cat(parts)
    changes = (log_probs[1:] - log_probs[0]).abs().sum(1).tolist()
    return dict(zip(places, changes, strict=True))


def _word(proxy: TransformersModel, token: int) -> str:
    """Return a token as a word, without the space before it."""
    return str(proxy.checkpoint.tokenizer.decode([token])).strip()
