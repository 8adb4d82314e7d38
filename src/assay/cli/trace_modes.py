"""A mode of `assay trace` besides the sources of code: passages word for word."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from assay.cli.terminal import Terminal, echo

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import SourceText
    from assay.provenance import Passage, Searchable

LONGEST_LINE = 60
"""Characters of a passage that a terminal shows in its line; a pipe gets the whole passage."""


def print_passages(files: "Sequence[SourceText]", index: "Searchable", top: int) -> None:
    """Print the longest passages of each file that occur word for word in the corpus, one line each."""
    from assay.cli.present import chosen_format, show
    from assay.provenance import verbatim_passages
    from assay.provenance.findings import describe_passages, place_text
    from assay.reports import number_of

    passages: list[tuple[SourceText, Passage]] = []
    for file in files:
        passages += product([file], verbatim_passages(file.text, index, language=file.language, top=top))
    form = chosen_format()
    if form != "table":
        show(describe_passages(passages), form)
        return
    # a pipe gets the whole passage
    cut = Terminal().is_terminal
    for file, passage in passages:
        place = passage.places[0]
        where = place_text(place)
        if len(passage.places) > 1:
            where += f" and {len(passage.places) - 1} more"
        shown = " ".join(passage.text.split())
        if cut and len(shown) > LONGEST_LINE:
            shown = f"{shown[:LONGEST_LINE]}…"
        echo(
            f"{file.path}:{passage.lines.first}: {number_of(passage.words, 'word')} as in {where} "
            f"({place.origin.licence}): {shown}"
        )
    if not passages:
        echo("no passage of the text occurs word for word in the corpus")
