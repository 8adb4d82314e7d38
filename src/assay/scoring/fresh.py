"""Values of texts that are scored afresh, never from a cache, in an order that knows nothing but the texts."""

import hashlib
from collections.abc import Sequence

import numpy as np

from assay.errors import MissingCapability
from assay.models import display_name
from assay.progress import progress_bar
from assay.types import Generator, LogProbScorer, Rejected


def log_likelihoods(model: Generator | LogProbScorer, texts: Sequence[str]) -> dict[str, float]:
    """Return the log-likelihood of each text in nats; absent where the model rejects a text or gives no finite number.

    Raises:
        MissingCapability: the model only generates text.
        ModelError: it cannot be run.
    """
    if not isinstance(model, LogProbScorer):
        raise MissingCapability(f"{display_name(model.name)} only generates text: expected --access black")
    # sorted by digest: neither the order nor the batches know the lot
    ordered = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
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
