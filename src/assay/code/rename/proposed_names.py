"""A pool of names that a language model proposes for one text.

Our own engine then writes the text, so that only names can come from the model: the safer way where models change more
than the prompt allows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.code.rename.names import NameKind
from assay.code.rename.pools import DictionaryPool, NamePool, casing
from assay.code.rename.python_names import python_analysis
from assay.types import Generator, Rejected

NAMING = """\
You are given a Python code snippet:
{code}
Propose {count} other names for each of these identifiers: {names}
The names must suit the code and keep the style (snake_case, camelCase, UPPER_CASE, single letter) of the identifier.
Answer with one JSON object and nothing else: each identifier with the array of its new names."""
"""Ours: the paper names no prompt for single names."""


@dataclass(frozen=True, slots=True)
class ProposedPool:
    """Names that a model proposed for one text; `names_proposed_by` makes it.

    Attributes:
        proposals: by name, in the model's order.
        fallback: behind the proposals, so that there are enough; None for these alone.
        rejected: number of proposals that are not identifiers of the same casing style.
        reason: why there are none, or None.
    """

    proposals: Mapping[str, tuple[str, ...]]
    fallback: NamePool | None = field(default_factory=DictionaryPool)
    rejected: int = 0
    reason: str | None = None

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`."""
        proposals = self.proposals.get(name, ())
        further = self.fallback.candidates(name, kind) if self.fallback and not proposals else ()
        return (*proposals, *further)


def names_proposed_by(
    generator: Generator,
    text: str,
    *,
    count: int = 12,
    seed: int = 0,
    rounds: int = 3,
    fallback: NamePool | None = None,
) -> ProposedPool:
    """Ask a model for names of everything in a Python text that may change.

    A reply that is not a JSON object of lists of strings is requested again, `rounds` times in all.

    Args:
        generator: a model that follows instructions.
        text: parses on its own.
        count: names to propose for each identifier.
        seed: of the first round; each further one has another.
        rounds: requests at most.
        fallback: for names without a proposal; dictionary words by default.

    Raises:
        ModelError: the model cannot be run.
    """
    behind = DictionaryPool() if fallback is None else fallback
    names = sorted({identifier.name for identifier in python_analysis(text).names})
    if not names:
        return ProposedPool({}, behind, 0, "no identifiers to rename")
    prompt = NAMING.format(code=text, count=count, names=", ".join(names))
    for turn in range(rounds):
        (reply,) = generator.generate(
            [prompt], max_new_tokens=16 * (count + 2) * len(names), temperature=0.8, seed=seed + turn
        )
        if isinstance(reply, Rejected):
            return ProposedPool({}, behind, 0, reply.reason)
        read = _object(reply)
        if read is not None:
            fitting = {
                name: tuple(dict.fromkeys(proposal for proposal in read.get(name, ()) if _fits(proposal, name)))
                for name in names
            }
            total = sum(len(dict.fromkeys(proposed)) for proposed in read.values())
            kept = sum(map(len, fitting.values()))
            return ProposedPool({name: few for name, few in fitting.items() if few}, behind, total - kept)
    return ProposedPool({}, behind, 0, f"none of {rounds} replies was a JSON object of lists of names")


def _object(reply: str) -> dict[str, list[str]] | None:
    body = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        reply_object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(reply_object, dict) or not all(
        isinstance(few, list) and all(isinstance(item, str) for item in few) for few in reply_object.values()
    ):
        return None
    return reply_object


def _fits(proposed: str, name: str) -> bool:
    return proposed != name and proposed.isidentifier() and casing(proposed) == casing(name)
