"""A function of the standard library under other names, traced back to where it stands."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.code import Variant, variants
from assay.corpora import Document, Origin
from assay.languages import lexical_rules
from assay.provenance import CodeIndex, Thresholds, Trace, TraceSettings, trace
from assay.retrieval import Source, find_regions, open_encoder, tokens
from assay.types import Sample

TOKENS = range(120, 400)
"""Long enough to be something of its own, short enough to be read."""
FEWEST_CHANGED = 6
"""Names that a rewriting has to change at least: one of two names would be no feat."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A rewritten function and its trace.

    Attributes:
        origin: id of the function.
        text: of its rewriting, all local names replaced; it runs as before.
        renamed: how many names were.
        documents: functions in the index.
        trace: of the rewriting.
    """

    origin: str
    text: str
    renamed: int
    documents: int
    trace: Trace


def traced_function(functions: Sequence[Sample], folder: Path) -> Traced | None:
    """Index the functions, rewrite one of them, and trace the rewriting; return None where none can be rewritten.

    Args:
        functions: of the standard library, `group` being the module.
        folder: where the index is made; one that lies there is made anew.
    """
    # an index of an earlier demonstration may hold the functions of another Python
    shutil.rmtree(folder, ignore_errors=True)
    encoder, rules = open_encoder(), lexical_rules("python")
    with CodeIndex.create(folder, encoder=encoder) as index:
        index.add(map(demo_document, functions))
        index.commit()
        for function in functions:
            source = Source.of(function.text)
            if len(tokens(source, find_regions(source, rules), rules)) not in TOKENS:
                continue
            # a function that evaluates text, for one, has no variant
            (variant,) = variants(function.text, 1).variants or (None,)
            if variant is not None and renamed_in(variant) >= FEWEST_CHANGED:
                settings = TraceSettings(thresholds=Thresholds())
                result = trace(variant.text, index, language="python", top=3, settings=settings)
                return Traced(
                    origin=function.id,
                    text=variant.text,
                    renamed=renamed_in(variant),
                    documents=len(index),
                    trace=result,
                )
    return None


def demo_document(function: Sample) -> Document:
    """Return a function as a document of the index."""
    # the licence of the standard library, which its files do not state
    origin = Origin("standard library", str(function.group or function.id), licence="PSF-2.0")
    return Document(function.text, language="python", kind="function", name=function.id, origins=(origin,))


def renamed_in(variant: Variant) -> int:
    """Return the number of names that a rewriting changed."""
    return len({*variant.functions, *variant.variables})
