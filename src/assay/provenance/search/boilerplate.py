"""Boilerplate: idioms, and code in so many projects that it does not show where a text comes from.

The canonical forms contain no comments, so licence headers do not count, and a build skips generated files. The rest is
recognised in two ways: by a list of templates, and by the owners of the projects of the index that contain it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.languages import language_of
from assay.provenance.index import Searchable
from assay.retrieval import Fingerprints, Form, Hashes, Profile, fingerprint

BETWEEN = "----\n"
"""Line between two templates of one shipped file."""

COMMON = 0.1
"""Share of the owners of an index's projects from which a fingerprint is common."""

COMMON_AT_LEAST = 3
"""Owners; a fingerprint of fewer is never common, so an index of one project has no common ones."""

FILES = 1.5
"""Files with it of each owner, on average, from which code is common."""

ANYWHERE = 20
"""Owners from which code is common although each has it once: nobody can say whose it is."""

LARGEST_TEMPLATE = 1_000_000
"""Characters of a template file."""


@dataclass(frozen=True, slots=True)
class Template:
    """Code that is ignored wherever it occurs; with `language` None it is read by neutral rules."""

    text: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """Code that is ignored in a search.

    Attributes:
        templates: fingerprints of k-grams within one of them are ignored.
        common: so are fingerprints that this share of the owners of the index's projects have, in several files; None:
            that does not count. From `MOST_OWNERS` owners on the share is of these.
        at_least: and at least so many owners; half as many where each repeats it.
    """

    templates: tuple[Template, ...] = ()
    common: float | None = COMMON
    at_least: int = COMMON_AT_LEAST


NO_BOILERPLATE = Boilerplate(common=None)
"""Nothing is ignored."""


@cache
def default_boilerplate() -> Boilerplate:
    """Return the shipped templates, with the default limits of frequency.

    They are entry points, argument parsers, getters and setters, and imports of everyday use.
    """
    folder = files("assay.provenance") / "templates"
    templates: list[Template] = []
    for file in sorted(folder.iterdir(), key=attrgetter("name")):
        language = Path(file.name).stem
        templates += (Template(text, language) for text in file.read_text("utf-8").split(BETWEEN))
    return Boilerplate(tuple(templates))


def boilerplate_of(profile: Profile) -> Boilerplate:
    """Return the boilerplate that a search in an index of this profile ignores."""
    return default_boilerplate() if profile.search.ignores_boilerplate else NO_BOILERPLATE


def add_templates(boilerplate: Boilerplate, paths: Sequence[Path]) -> Boilerplate:
    """Return the boilerplate with further template files, each in the language of its suffix.

    Raises:
        DataError: a file cannot be read, is empty, or is larger than a template may be.
    """
    added = []
    for path in paths:
        try:
            text = path.read_text("utf-8", "replace")
        except OSError as error:
            raise DataError(f"template {path}: cannot be read: {error.strerror}") from error
        if not text.strip() or len(text) > LARGEST_TEMPLATE:
            raise DataError(
                f"template {path}: {len(text)} characters; expected code, of at most {LARGEST_TEMPLATE} characters"
            )
        added.append(Template(text, language_of(path.name)))
    return replace(boilerplate, templates=(*boilerplate.templates, *added))


def find_boilerplate(
    query: Fingerprints, language: str | None, index: Searchable, boilerplate: Boilerplate
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the fingerprints of a query that are boilerplate, by a template or by frequency.

    Returns:
        bool [m] each, none in both.
    """
    form = query.channel.form
    template = template_mask(query, language, profile=index.profile, boilerplate=boilerplate)
    if boilerplate.common is None:
        return template, np.zeros(len(query), np.bool_)
    # owners, not documents: a file that one project has 200 times is no idiom, a preamble in 6 of 20 packages is
    counts = index.owners(form, query.hashes)
    least = max(boilerplate.at_least, boilerplate.common * counts.every)
    # a function that was copied stands in one file of each owner; idioms are repeated, or stand outside of functions
    is_idiom = (counts.files >= FILES * counts.owners) | ~counts.functions
    repeated = (counts.owners >= least) & is_idiom
    repeated |= 2 * counts.repeating >= max(least, 4)
    return template, (repeated | (counts.owners >= max(boilerplate.at_least, ANYWHERE))) & ~template


def template_mask(
    query: Fingerprints, language: str | None, profile: Profile, boilerplate: Boilerplate
) -> NDArray[np.bool_]:
    """Return True for each fingerprint that lies within a template."""
    ascending = _grams(boilerplate.templates, profile, language).get(query.channel.form)
    if ascending is None:
        return np.zeros(len(query), np.bool_)
    # a hash beyond the last one is compared with the last one, and differs from it
    at = np.minimum(np.searchsorted(ascending, query.hashes), len(ascending) - 1)
    among: NDArray[np.bool_] = ascending[at] == query.hashes
    return among


@cache
def _grams(templates: tuple[Template, ...], profile: Profile, language: str | None) -> dict[Form, Hashes]:
    """Return the hashes of ALL k-grams of the templates in a language, by form, ascending.

    For a query without a language every template counts, read by the same neutral rules.
    """
    # a window of 1 keeps every gram: winnowing the template would keep other grams than winnowing the query around it
    every = replace(profile, channels=tuple(replace(channel, w=1) for channel in profile.channels))
    parts: dict[Form, list[Hashes]] = defaultdict(list)
    for template in templates:
        if language is None or template.language in {language, None}:
            for form, channel in fingerprint(template.text, language, every).items():
                if isinstance(channel, Fingerprints):
                    parts[form].append(channel.hashes)
    return {form: np.unique(np.concatenate(hashes)) for form, hashes in parts.items()}
