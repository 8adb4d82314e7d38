"""What each score in a run is, from the registry: title, formula, reference."""

import re
from dataclasses import dataclass

from assay.errors import ScoreError
from assay.leakage.results import Audit
from assay.scores.registry import request

_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


@dataclass(frozen=True, slots=True)
class MethodNote:
    """One score explained.

    Attributes:
        score: the column's name, with its parameters.
        title: what the field calls it.
        summary: one sentence.
        formula: one line, in the notation of the documentation.
        parameters: hyper-parameter → value used, as text.
        needs: what has to be run or given for it.
        reference: where it was published.
        link: address of the paper, None where the reference names no arXiv number.
    """

    score: str
    title: str
    summary: str
    formula: str
    parameters: tuple[tuple[str, str], ...]
    needs: str
    reference: str
    link: str | None


def method_notes(audit: Audit) -> tuple[MethodNote, ...]:
    """A note for each registered score of the audit, the primary one first.

    A run folder may come from a version with other scores; one that is not registered here has no note.
    """
    names = sorted(audit.values, key=lambda name: name != audit.primary)
    return tuple(note for name in names if (note := _note(name)))


def _note(score: str) -> MethodNote | None:
    try:
        asked = request(score)
    except ScoreError:
        return None
    found = asked.definition
    arxiv = _ARXIV.search(found.reference)
    return MethodNote(
        score=score,
        title=found.title,
        summary=found.summary,
        formula=found.formula,
        parameters=tuple((key, str(value)) for key, value in {**found.defaults, **asked.parameters}.items()),
        needs=found.needs(),
        reference=found.reference,
        link=f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else None,
    )
