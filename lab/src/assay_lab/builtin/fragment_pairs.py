"""Training pairs of an encoder: a function, and a fragment of it as a language model may return it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from assay.code import variants
from assay_lab.clones import TokenizedText, adapt, edit_lines, rename_all, strip_comments


@dataclass(frozen=True, slots=True)
class Snippet:
    """A function, or a top-level block of another language; `bare` is its text without comments and docstrings."""

    text: str
    bare: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentRecipe:
    """Lengths and changes of the drawn fragments.

    Attributes:
        tokens: length of a fragment.
        tokens_share: of the fragments that have this length; the others' is log-uniform in `tokens_range`.
        tokens_range: shortest and longest.
        bare_share: of the fragments that come without comments and docstrings.
        adapted_share: of the fragments rewritten by Algorithm 1.
        renamed_share: of the fragments in which every name is another.
        variant_share: of the fragments of verified variants (Python; others by Algorithm 1).
        edited_share: of all fragments, whatever their names: statements added, removed, reordered.
    """

    tokens: int = 60
    tokens_share: float = 0.5
    tokens_range: tuple[int, int] = (15, 240)
    bare_share: float = 0.75
    adapted_share: float = 0.25
    renamed_share: float = 0.15
    variant_share: float = 0.1
    edited_share: float = 0.25


def draw_fragment(snippets: Sequence[Snippet], chosen: int, recipe: FragmentRecipe, draw: random.Random) -> str:
    """Return a fragment of the chosen snippet; every choice comes from `draw`.

    Half of the fragments keep their names, as in the paper, the other half do not.
    """
    snippet = snippets[chosen]
    text = snippet.bare if draw.random() < recipe.bare_share else snippet.text
    change = draw.random()
    seed = draw.getrandbits(32)
    # one draw in consecutive ranges: variant, renamed, adapted, unchanged; a language without variants is adapted
    is_variant = change < recipe.variant_share and snippet.language == "python"
    if is_variant and (verified := variants(text, 1, seed=seed).variants):
        text = verified[0].text
    cut = TokenizedText.of(text, snippet.language)
    count = min(_length(recipe, draw), len(cut))
    fragment = cut.fragment(draw.randrange(len(cut) - count + 1), count)
    if recipe.variant_share <= change < recipe.variant_share + recipe.renamed_share:
        fragment = rename_all(fragment, snippet.language, seed=seed)
    elif not is_variant and change < recipe.variant_share + recipe.renamed_share + recipe.adapted_share:
        fragment = adapt(fragment, seed=seed).text
    if draw.random() < recipe.edited_share:
        fragment = edit_lines(fragment, [snippets[draw.randrange(len(snippets))].bare], seed=seed)
    return fragment


def as_snippet(text: str, language: str, fewest_tokens: int) -> Snippet | None:
    """Return the snippet, or None where too few tokens remain without comments."""
    stripped = strip_comments(text, language)
    return Snippet(text, stripped, language) if len(TokenizedText.of(stripped, language)) >= fewest_tokens else None


def _length(recipe: FragmentRecipe, draw: random.Random) -> int:
    fixed = draw.random() < recipe.tokens_share
    least, most = recipe.tokens_range
    # uniform in the logarithm: short fragments are as frequent as long ones, octave by octave
    drawn = round(least * (most / least) ** draw.random())
    return recipe.tokens if fixed else drawn
