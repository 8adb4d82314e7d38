"""The order of a file and of its own functions: a function comes before its file where both have equal evidence.

A long file contains single fingerprints of almost any text, so it may have a few more of them than its function that
the text comes from.
"""

from collections.abc import Sequence

from assay.provenance.candidates import NEARLY_AS_MUCH, Similarity
from assay.provenance.fusing import VECTOR
from assay.provenance.stored import StoredDocument

Rated = tuple[Similarity, StoredDocument]


def functions_before_files(matches: Sequence[Rated]) -> list[Rated]:
    """Return the matches with the best function of a file put before the file, where its evidence is equal.

    Args:
        matches: best first.
    """
    rest = [(match, _files(match[1])) for match in matches]
    ordered: list[Rated] = []
    while rest:
        match, files = rest.pop(0)
        at = next(
            (at for at, (later, theirs) in enumerate(rest) if files & theirs and _is_equal(later, match)),
            None,
        )
        if at is not None:
            ordered.append(rest.pop(at)[0])
        ordered.append(match)
    return ordered


def _files(document: StoredDocument) -> frozenset[tuple[str, str]]:
    return frozenset((origin.source, origin.path) for origin in document.origins)


def _is_equal(function: Rated, file: Rated) -> bool:
    """Return True for a function and a file with nearly as many fingerprints, or with the same confidence.

    At the limit of the calibration confidences are equal whatever the evidence, so they do not count there.
    """
    if (function[1].kind, file[1].kind) != ("function", "file"):
        return False
    of_function, of_file = function[0], file[0]
    if of_file.channel == VECTOR:  # the cosines decided already
        return False
    if of_function.containment >= NEARLY_AS_MUCH * of_file.containment:
        return True
    if of_function.confidence is None or of_file.confidence is None or of_file.at_limit:
        return False
    return of_function.confidence >= of_file.confidence
