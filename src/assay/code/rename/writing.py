"""Variants that a language model writes (000, Table 7), held against the original as strictly as our own.

A reply counts only where it is what the deterministic engine could have written: names that may change, changed at all
of their places, to names that mean nothing else; and then the verifier has the last word. What does not count is
counted by its reason, and asked for again within a budget.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.code.asking import replies
from assay.code.prompting import AS_JSON, VERSIONS, renaming_prompt
from assay.code.rename.engines import named
from assay.code.rename.names import Kind, Renamable
from assay.code.rename.variant_engine import KINDS, Variant, VariantSet
from assay.code.rename.word_changes import word_changes
from assay.code.replies import strings_in
from assay.types import Generator, Unread

ROUNDS = 3

NO_LIST = "the reply is no list of strings"
UNCHANGED = "the version is the original"
REPEATED = "the version was there before"
TOO_MUCH = "more than names changed"
NOT_ALLOWED = "a name changed that may not"
IN_PART = "a name changed at some of its places only"
TAKEN = "a new name is taken, reserved or no identifier"
UNVERIFIED = "failed verification"


@dataclass(frozen=True, slots=True)
class WrittenVariants(VariantSet):
    """The variants of one text that a model wrote.

    Attributes:
        rejections: reason → how many versions, or whole replies, did not count. `rejected` is their sum.
        replies: how many replies were asked for.
    """

    rejections: Mapping[str, int] = field(default_factory=dict)
    replies: int = 0


def written_variants(
    texts: Sequence[str],
    generator: Generator,
    n: int = 10,
    *,
    language: str = "python",
    seed: int = 0,
    rounds: int = ROUNDS,
    kinds: Collection[Kind] = KINDS,
    keep: Collection[str] = (),
    temperature: float = 0.8,
    addition: str = AS_JSON,
) -> tuple[WrittenVariants, ...]:
    """At most n verified variants of each text, written by a model.

    All texts that still lack some are asked for at once, so that a server can be asked for many at a time.

    Args:
        texts: functions, scripts or modules that parse on their own.
        generator: the model; one that follows instructions.
        n: variants of each.
        language: of all texts, one of those of `variants`.
        seed: of the first round; each further one has another.
        rounds: requests for each text at most, each for ten versions.
        kinds: "function", "variable" or both.
        keep: names to leave alone.
        temperature: of the model.
        addition: what follows the paper's words in the prompt.

    Raises:
        ValueError: n or rounds is below 1, or there is no such language.
        ModelError: the model cannot be run.
    """
    if min(n, rounds) < 1:
        raise ValueError(f"received n = {n} and rounds = {rounds}, expected at least 1 of each")
    drafts = [_Draft(text, n, language, kinds, keep) for text in texts]
    for turn in range(rounds * -(-n // VERSIONS)):
        lacking = [one for one in drafts if one.wants_more]
        if not lacking:
            break
        prompts = [
            (renaming_prompt(one.text, language=one.spoken.name, addition=addition), VERSIONS * len(one.text))
            for one in lacking
        ]
        answers = replies(generator, prompts, temperature=temperature, seed=seed + turn)
        for draft, reply in zip(lacking, answers, strict=True):
            draft.read(reply)
    return tuple(one.result() for one in drafts)


class _Draft:
    """One text, the variants of it so far, and what did not count."""

    def __init__(self, text: str, n: int, language: str, kinds: Collection[Kind], keep: Collection[str]) -> None:
        self.text = text
        self.n = n
        self.language = language
        self.spoken = named(language)
        self.found = self.spoken.analysis(text, keep)
        self.names = [one for one in self.found.names if one.kind in kinds]
        self.made: dict[str, Variant] = {}
        self.rejections: Counter[str] = Counter()
        self.replies = 0
        self.refused = self.found.refused or (None if self.names else "no identifiers to rename")
        if not self.refused:
            try:
                self.verifier = self.spoken.verifier(text)
            except SyntaxError:
                self.refused = f"does not compile as {self.spoken.name}"
            except (RecursionError, MemoryError):
                self.refused = "nested too deeply to be read"

    @property
    def wants_more(self) -> bool:
        return not self.refused and len(self.made) < self.n

    def read(self, reply: str | Unread) -> None:
        """Take from a reply what counts; a text that the model does not take is not put to it again."""
        self.replies += 1
        if isinstance(reply, Unread):
            self.rejections[reply.reason] += 1
            self.refused = reply.reason
            return
        versions = strings_in(reply)
        if versions is None:
            self.rejections[NO_LIST] += 1
            return
        for version in versions:
            if len(self.made) == self.n:
                return
            found = self.judged(version)
            if isinstance(found, str):
                self.rejections[found] += 1
            else:
                self.made[found.text] = found

    def judged(self, version: str) -> Variant | str:
        """The variant that a version is, or why it is none."""
        if self.text.endswith("\n") and not version.endswith("\n"):
            version += "\n"  # the last line end is no part of any name, and models leave it out
        if version == self.text:
            return UNCHANGED
        if version in self.made:
            return REPEATED
        changes = word_changes(self.text, version)
        if changes is None:
            return TOO_MUCH
        if set(changes) - {place for one in self.names for place in one.places}:
            return NOT_ALLOWED
        new = [(one, {changes.get(place, one.name) for place in one.places}) for one in self.names]
        if any(len(names) > 1 for _, names in new):
            return IN_PART
        renamed = [(one, min(names)) for one, names in new if names != {one.name}]
        return self.verified(version, renamed) if self.free(new for _, new in renamed) else TAKEN

    def free(self, names: Iterable[str]) -> bool:
        """Whether new names mean nothing else, and no two of them are one."""
        chosen = list(names)
        taken = self.found.words | self.spoken.reserved
        return len(set(chosen)) == len(chosen) and not any(
            one in taken or not one.isidentifier() or one.startswith("__") for one in chosen
        )

    def verified(self, version: str, renamed: Sequence[tuple[Renamable, str]]) -> Variant | str:
        if self.verifier.difference(version, frozenset((one.name, new) for one, new in renamed)) is not None:
            return UNVERIFIED
        return Variant(
            version,
            {one.name: new for one, new in renamed if one.kind == "function"},
            {one.name: new for one, new in renamed if one.kind == "variable"},
            {new: one.name for one, new in renamed if one.global_scope},
            self.language,
        )

    def result(self) -> WrittenVariants:
        reason = self.refused
        if not reason and len(self.made) < self.n:
            most = ", ".join(f"{count} × {why}" for why, count in self.rejections.most_common(2)) or "no more came"
            reason = f"only {len(self.made)} distinct variants in {self.replies} replies: {most}"
        return WrittenVariants(
            self.text,
            tuple(self.made.values()),
            reason,
            self.found.kept,
            sum(self.rejections.values()),
            dict(self.rejections),
            self.replies,
        )
