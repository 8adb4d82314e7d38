"""Phrases by which a text shows its language, from the table of languages.

They are looked for in the text without comments and without the content of its strings. A phrase counts once, however
often it occurs, so a long text of one idiom weighs no more than a short one of several.
"""

import re
from collections.abc import Mapping

from assay.languages.table import DESCRIBED

SIGNS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(re.compile(pattern, re.MULTILINE) for pattern in entry.get("signs", ()))
    for name, entry in DESCRIBED.items()
}
"""Language → phrases by which a text shows it: each is usual in this language and rare in the others."""

BASES: Mapping[str, str] = {name: entry["contains"] for name, entry in DESCRIBED.items() if "contains" in entry}
"""Languages that contain nearly all of another one, whose phrases count for them too."""

OUTLINES: Mapping[str, tuple[str, ...]] = {name: tuple(entry.get("outlines", ())) for name, entry in DESCRIBED.items()}
"""Code around a fragment that makes a text of it: a method stands in a class, statements in a function."""
