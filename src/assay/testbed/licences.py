"""Which installed distributions may be trained on: the licence each one states for itself.

A distribution counts as permissive only when its own metadata says so in a form that can be read without
judgement: the `License-Expression` field (PEP 639), else its trove classifiers, else a short `License` field.
Anything else is unknown, and unknown text is not trained on.
"""

import re
from importlib.metadata import Distribution

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

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}

# Short spellings that packages write into the old free-text field, lower case.
_SPELLINGS = {
    "2-clause bsd": "BSD-2-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc": "ISC",
    "mit": "MIT",
    "mit license": "MIT",
    "psf-2.0": "PSF-2.0",
}


def permissive_licence(distribution: Distribution) -> str | None:
    """The distribution's licence as an SPDX expression, or None if it is not known to be permissive."""
    metadata = distribution.metadata
    if expression := metadata.get_all("License-Expression", [""])[0]:
        return str(expression) if is_permissive(expression) else None
    named = [c.split("::")[-1].strip() for c in metadata.get_all("Classifier", []) if c.startswith("License ::")]
    named = [name for name in named if name != "OSI Approved"]
    if named:
        licences = [_CLASSIFIERS.get(name) for name in named]
        known = [licence for licence in licences if licence is not None]
        return " OR ".join(sorted(known)) if len(known) == len(licences) else None
    return _SPELLINGS.get(metadata.get_all("License", [""])[0].strip().lower())


def is_permissive(expression: str) -> bool:
    """Whether every licence named in an SPDX expression is permissive, alternatives included.

    An exception after WITH only grants more than the licence itself does, so it does not count.
    """
    without_exceptions = re.sub(r"\bWITH\s+\S+", "", expression)
    named = [word for word in re.findall(r"[\w.+-]+", without_exceptions) if word not in {"AND", "OR"}]
    return bool(named) and all(name in PERMISSIVE for name in named)
