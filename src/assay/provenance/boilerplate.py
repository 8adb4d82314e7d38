"""What everybody writes tells nothing about where code comes from: idioms, and what stands in much of the corpus.

Licence headers and other comments are gone from the canonical forms already. Generated files are kept out when an index
is built. What is left is told in two ways: by a list of templates, and by how many documents of the index have it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.languages import language_of
from assay.provenance.searchable import Searchable
from assay.retrieval import Fingerprints, Form, Hashes, Profile, fingerprint

BETWEEN = "----\n"
"""The line between two templates of one shipped file."""

COMMON = 0.005
"""Share of an index's documents; HybridSourceTracker drops what stands in more."""

COMMON_AT_LEAST = 100
"""Documents; what stands in fewer is never common, so nothing is in a small index."""

LARGEST_TEMPLATE = 1_000_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Template:
    """Code that is ignored wherever it stands; `language` None is read by neutral rules."""

    text: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """What is ignored.

    Attributes:
        templates: fingerprints of k-grams that lie within one of them are.
        common: so are those in more than this share of the index's documents; None: frequency does not count.
        at_least: and in more than this many documents.
    """

    templates: tuple[Template, ...] = ()
    common: float | None = COMMON
    at_least: int = COMMON_AT_LEAST


NOTHING = Boilerplate(common=None)
"""Nothing is ignored."""


@dataclass(frozen=True, slots=True, eq=False)
class Ignored:
    """Which fingerprints of a query are boilerplate, and by what; bool [m] each, no fingerprint in both."""

    template: NDArray[np.bool_]
    common: NDArray[np.bool_]


@cache
def shipped_templates() -> tuple[Template, ...]:
    """The idioms that ship with assay: entry points, argument parsers, getters and setters, imports of everyday use."""
    folder = files("assay.provenance") / "templates"
    return tuple(
        Template(text, Path(one.name).stem)
        for one in sorted(folder.iterdir(), key=lambda one: one.name)
        for text in one.read_text("utf-8").split(BETWEEN)
    )


@cache
def default_boilerplate() -> Boilerplate:
    """The shipped templates, and what stands in many documents."""
    return Boilerplate(shipped_templates())


def with_templates(boilerplate: Boilerplate, paths: Sequence[Path]) -> Boilerplate:
    """The same with files of the user's, each one template in the language of its suffix.

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


def ignored(query: Fingerprints, language: str | None, index: Searchable, boilerplate: Boilerplate) -> Ignored:
    """Which fingerprints of a query are boilerplate in this index."""
    form = query.channel.form
    template = _among(query.hashes, _grams(boilerplate.templates, index.profile, language).get(form))
    if boilerplate.common is None:
        return Ignored(template, np.zeros(len(query), np.bool_))
    most = max(boilerplate.at_least, int(boilerplate.common * len(index)))
    return Ignored(template, (index.frequencies(form, query.hashes) > most) & ~template)


def _among(hashes: Hashes, ascending: Hashes | None) -> NDArray[np.bool_]:
    if ascending is None:
        return np.zeros(len(hashes), np.bool_)
    among: NDArray[np.bool_] = ascending[np.minimum(np.searchsorted(ascending, hashes), len(ascending) - 1)] == hashes
    return among


@cache
def _grams(templates: tuple[Template, ...], profile: Profile, language: str | None) -> dict[Form, Hashes]:
    """The hashes of ALL k-grams of the templates in a language: winnowing of a query may choose any of them.

    Of a query without a language every template counts, read as neutrally as the query is.
    """
    every = replace(profile, channels=tuple(replace(channel, w=1) for channel in profile.channels))
    parts: dict[Form, list[Hashes]] = {}
    for one in templates:
        if language is None or one.language in {language, None}:
            for form, found in fingerprint(one.text, language, every).items():
                if isinstance(found, Fingerprints):
                    parts.setdefault(form, []).append(found.hashes)
    return {form: np.unique(np.concatenate(hashes)) for form, hashes in parts.items()}
