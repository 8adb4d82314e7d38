"""Fingerprints of many small texts: one compiled call for all texts of a language."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np

from assay.languages import LexicalRules, Marks, lexical_rules
from assay.models import portions
from assay.retrieval.canonical import Form, visible_code_points
from assay.retrieval.compiled import compiled
from assay.retrieval.fingerprints import Fingerprints, fingerprint
from assay.retrieval.hashing import BASE, Hashes, compiled_mix, mixed_grams
from assay.retrieval.listed_marks import region_rows
from assay.retrieval.plain_marks import COMMENT, Letters
from assay.retrieval.profiles import Profile, profile_named
from assay.retrieval.scanning import scan
from assay.retrieval.separators import without_separators
from assay.retrieval.source import Offsets, Source, Units
from assay.retrieval.token_channel import WordRules, token_codes, word_rules
from assay.retrieval.winnowing import window_minima

BATCH_CHARACTERS = 1 << 22
"""Characters of the texts of one call; each needs about 30 bytes of memory."""

HashesOfTexts = dict[Form, Sequence[Hashes]]
"""Hashes of each text of a group, by form."""


def fingerprint_hashes(
    texts: Sequence[str], languages: str | Sequence[str | None] | None, profile: Profile | str = "default"
) -> Iterator[Mapping[Form, Hashes]]:
    """Yield the hashes of `fingerprint` for each text, in its order, without their places.

    Args:
        texts: source code.
        languages: one for all, or one for each.
        profile: a profile or its name.

    Yields:
        The hashes of each text by form, uint64 [m]; empty if the text is too short for the form.

    Raises:
        AssayError: no profile has that name.
    """
    profile = profile_named(profile) if isinstance(profile, str) else profile
    if languages is None or isinstance(languages, str):
        languages = [languages] * len(texts)
    for portion in portions(texts, characters=BATCH_CHARACTERS):
        yield from _batch(texts[portion], languages[portion], profile)


def _batch(texts: Sequence[str], languages: Sequence[str | None], profile: Profile) -> list[dict[Form, Hashes]]:
    if any(channel.hash != "mixed-64" for channel in profile.channels):
        return [_single(text, language, profile) for text, language in zip(texts, languages, strict=True)]
    groups: dict[tuple[str | None, bool], list[int]] = {}
    for at, (text, language) in enumerate(zip(texts, languages, strict=True)):
        # texts of a group become one text: they need the same rules, and one width of their characters
        groups.setdefault((language, text.isascii()), []).append(at)
    hashes: list[dict[Form, Hashes]] = [{} for _ in texts]
    for (language, _), members in groups.items():
        rules = lexical_rules(language)
        by_form = _group([without_separators(texts[at], rules) for at in members], rules, profile)
        for form, lists in by_form.items():
            for at, own in zip(members, lists, strict=True):
                hashes[at][form] = own
    return hashes


def _single(text: str, language: str | None, profile: Profile) -> dict[Form, Hashes]:
    nothing = np.zeros(0, np.uint64)
    by_form = fingerprint(text, language, profile)
    return {form: prints.hashes if isinstance(prints, Fingerprints) else nothing for form, prints in by_form.items()}


def _group(texts: Sequence[str], rules: LexicalRules, profile: Profile) -> HashesOfTexts:
    """Return the hashes of texts in one language, either all ASCII or none."""
    # one call for all texts: entering compiled code has a fixed cost, which every short function would pay
    source = Source.of("".join(texts))
    bounds = np.array([0, *accumulate(map(len, texts))], np.int64)
    windows = {channel.form: (channel.k, channel.w) for channel in profile.channels}
    hashes = _hashes(
        # one type of code points, so that the loop is compiled once
        (source.letters, source.code_points.astype(np.uint32), bounds),
        (rules.plain_marks, region_rows(rules.regions)),
        word_rules(rules),
        (windows.get("characters", (0, 0)), windows.get("tokens", (0, 0))),
        np.uint64(BASE),
    )
    forms: tuple[Form, Form] = ("characters", "tokens")
    return {
        form: np.split(of_form, ends[:-1])
        for form, (of_form, ends) in zip(forms, hashes, strict=True)
        if form in windows
    }


@compiled
def _hashes(
    texts: tuple[Letters, Units, Offsets],
    marks: tuple[Marks, Letters],
    words: WordRules,
    windows: tuple[tuple[int, int], tuple[int, int]],
    base: np.uint64,
) -> tuple[tuple[Hashes, Offsets], tuple[Hashes, Offsets]]:
    """Return for each form the hashes of all texts, and the end of the hashes of each text.

    Args:
        texts: letters and code points of all texts, concatenated; the start of each text and the end of the last.
        marks: of comments and literals in their language, and the rows of further ones.
        words: of their language, as in `word_rules`.
        windows: k and w of characters and of tokens; k = 0 for a form that the profile does not have.
        base: of the polynomial.
    """
    letters, code_points, bounds = texts
    characters, tokens = windows
    # a fingerprint each letter at most: the arrays are cut at the end, so nothing grows inside the loop
    of_characters = np.empty(len(letters) * (characters[0] > 0), np.uint64)
    of_tokens = np.empty(len(letters) * (tokens[0] > 0), np.uint64)
    character_ends = np.zeros(len(bounds) - 1, np.int64)
    token_ends = np.zeros(len(bounds) - 1, np.int64)
    first = second = 0
    for at in range(len(bounds) - 1):
        own_letters = letters[bounds[at] : bounds[at + 1]]
        starts, stops, kinds, _ = scan(own_letters, marks[0], marks[1])
        if characters[0]:
            comments = kinds == COMMENT
            own_points = code_points[bounds[at] : bounds[at + 1]]
            units, _ = visible_code_points(own_letters, own_points, starts[comments], stops[comments])
            if len(units) >= characters[0]:
                hashes = mixed_grams(units, characters[0], base)
                # a text shorter than a window is one window, as in `winnow`: it keeps a fingerprint
                for position in window_minima(hashes, min(characters[1], len(hashes))):
                    of_characters[first] = hashes[position]
                    first += 1
        if tokens[0]:
            codes, _, _ = token_codes(own_letters, (starts, stops, kinds), words)
            if len(codes) >= tokens[0]:
                hashes = mixed_grams(compiled_mix(codes), tokens[0], base)
                for position in window_minima(hashes, min(tokens[1], len(hashes))):
                    of_tokens[second] = hashes[position]
                    second += 1
        character_ends[at], token_ends[at] = first, second
    return (of_characters[:first].copy(), character_ends), (of_tokens[:second].copy(), token_ends)
