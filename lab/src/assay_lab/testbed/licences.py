"""Permissive licences of installed distributions, whose sources may be trained on.

A distribution counts as permissive only if its metadata states the licence in a form that needs no interpretation
(`assay.licences.stated_licence`). Any other licence is unknown, and such text is not trained on.
"""

import re
from importlib.metadata import Distribution

from assay.licences import stated_licence
from assay_lab.columns import without

PERMISSIVE = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    }
)


def permissive_licence(distribution: Distribution) -> str | None:
    """Return the distribution's licence as an SPDX expression, or None if it is not known to be permissive."""
    licence = stated_licence(distribution.metadata)
    return licence if licence is not None and is_permissive(licence) else None


def is_permissive(expression: str) -> bool:
    """Return whether every licence named in an SPDX expression is permissive, alternatives included.

    An exception after WITH only grants more than the licence itself does, so it does not count.
    """
    # an exception, as in "WITH Classpath-exception-2.0", only adds permissions
    without_exceptions = re.sub(r"\bWITH\s+\S+", "", expression)
    named = without(re.findall(r"[\w.+-]+", without_exceptions), {"AND", "OR"})
    return bool(named) and all(name in PERMISSIVE for name in named)
