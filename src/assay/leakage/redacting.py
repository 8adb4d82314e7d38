"""An audit without its texts, for benchmarks that are not public."""

import hashlib
from dataclasses import replace

from assay.leakage.results import Audit

REDACTED = (
    "Texts are redacted. This run holds ids, groups and labels of the samples, SHA-256 digests of their texts, and "
    "their values. They still reveal how many samples there are, what the ids and groups say, which samples stand out, "
    "and, to everybody who has a text, that it is in the benchmark. A very short text can be guessed from its digest. "
    "The manifest has the command with its paths."
)


def redacted(audit: Audit) -> Audit:
    """Return the audit with digests instead of texts, and without metadata and token statistics."""
    samples = tuple(replace(sample, text=_digest(sample.text), metadata={}) for sample in audit.samples)
    return replace(audit, samples=samples, tokens=(), notes=(REDACTED, *audit.notes))


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
