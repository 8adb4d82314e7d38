"""Variants that a language model writes (000, Table 7), verified as strictly as our own.

A version is accepted only if the deterministic engine could have written it: names that may change are changed at all
of their places, to names that are not in use; and the verifier must accept it. Rejected versions are counted by their
reasons, and new ones are requested within a budget.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter

from assay.code.prompting import AS_JSON, VERSIONS, renaming_prompt, replies, strings_in
from assay.code.rename.engines import engine_of
from assay.code.rename.names import NameKind, Renamable
from assay.code.rename.variant_engine import KINDS, Variant, VariantSet, variant_of
from assay.languages import LANGUAGES
from assay.types import Generator, Rejected

ROUNDS = 3
TEMPERATURE = 0.8

NO_LIST = "the reply is not a list of strings"
UNCHANGED = "the version is the original"
REPEATED = "the version repeats an earlier one"
TOO_MUCH = "more than names changed"
NOT_ALLOWED = "a name changed that may not"
IN_PART = "a name changed at some of its places only"
UNAVAILABLE = "a new name is in use, reserved, or not an identifier"
UNVERIFIED = "failed verification"


_WORD = re.compile(r"[^\W\d]\w*")


def word_changes(original: str, other: str) -> dict[int, str] | None:
    """Return the words that differ between two texts: offset in the original → word of the other text.

    None where more than words differs: their number, or anything between them.
    """
    if _WORD.split(original) != _WORD.split(other):
        return None
    words = zip(_WORD.finditer(original), _WORD.findall(other), strict=True)
    return {old.start(): new for old, new in words if old[0] != new}


@dataclass(frozen=True, slots=True)
class WrittenVariants(VariantSet):
    """The variants of one text that a model wrote.

    Attributes:
        rejections: reason → number of versions, or whole replies, that were rejected. `rejected` is their sum.
        replies: number of requests.
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
    kinds: Collection[NameKind] = KINDS,
    keep: Collection[str] = (),
) -> tuple[WrittenVariants, ...]:
    """Return at most n verified variants of each text, written by a model.

    Each round sends one prompt for every text that lacks variants, so that a server can answer many at a time.

    Args:
        texts: functions, scripts or modules that parse on their own.
        generator: the model; one that follows instructions.
        n: variants of each.
        language: of all texts, one of `languages_with("variants")`.
        seed: of the first round; each further one has another.
        rounds: requests for each text at most, each for ten versions.
        kinds: "function", "variable" or both.
        keep: names to leave alone.

    Raises:
        ValueError: n or rounds is below 1, or there are no variants in that language.
        ModelError: the model cannot be run.
    """
    if min(n, rounds) < 1:
        raise ValueError(f"received n = {n} and rounds = {rounds}, expected at least 1 of each")
    engine_of(language)  # raises for a language without variants, even where there are no texts
    title = LANGUAGES[language].title
    drafts = [_Draft(text, n=n, language=language, kinds=kinds, keep=keep) for text in texts]
    # -(-n // m) is n / m rounded up
    for turn in range(rounds * -(-n // VERSIONS)):
        lacking = [draft for draft in drafts if draft.lacks_variants]
        if not lacking:
            break
        prompts = [renaming_prompt(draft.text, language=title, addition=AS_JSON) for draft in lacking]
        lengths = [VERSIONS * len(draft.text) for draft in lacking]
        requests = list(zip(prompts, lengths, strict=True))
        answers = replies(generator, requests, temperature=TEMPERATURE, seed=seed + turn)
        for draft, reply in zip(lacking, answers, strict=True):
            draft.read(reply)
    return tuple(map(_Draft.result, drafts))


class _Draft:
    """One text, the variants of it so far, and what was rejected."""

    def __init__(self, text: str, n: int, language: str, kinds: Collection[NameKind], keep: Collection[str]) -> None:
        engine = engine_of(language)
        self.text = text
        self.n = n
        self.language = language
        self.analysis = engine.analysis(text, keep)
        self.unavailable = self.analysis.words | LANGUAGES[language].unavailable
        self.names = [name for name in self.analysis.names if name.kind in kinds]
        self.variants: dict[str, Variant] = {}
        self.rejections: Counter[str] = Counter()
        self.replies = 0
        self.refused = self.analysis.refused
        if not self.names:
            self.refused = self.refused or "no identifiers to rename"
        if not self.refused:
            try:
                self.verifier = engine.verifier(text)
            except SyntaxError:
                self.refused = f"does not compile as {LANGUAGES[language].title}"
            except (RecursionError, MemoryError):
                self.refused = "nested too deeply to be read"

    @property
    def lacks_variants(self) -> bool:
        return not self.refused and len(self.variants) < self.n

    def read(self, reply: str | Rejected) -> None:
        """Take the valid variants of a reply; a text that the model refuses is not sent to it again."""
        self.replies += 1
        if isinstance(reply, Rejected):
            self.rejections[reply.reason] += 1
            self.refused = reply.reason
            return
        versions = strings_in(reply)
        if versions is None:
            self.rejections[NO_LIST] += 1
            return
        for version in versions:
            if len(self.variants) == self.n:
                return
            variant = self.checked(version)
            if isinstance(variant, str):
                self.rejections[variant] += 1
            else:
                self.variants[variant.text] = variant

    def checked(self, version: str) -> Variant | str:
        """Return a version as a variant, or the reason why it is not one."""
        if self.text.endswith("\n") and not version.endswith("\n"):
            version += "\n"  # the last line end is not part of any name, and models leave it out
        if version == self.text:
            return UNCHANGED
        if version in self.variants:
            return REPEATED
        changes = word_changes(self.text, version)
        if changes is None:
            return TOO_MUCH
        if not changes.keys() <= set(chain.from_iterable(map(attrgetter("places"), self.names))):
            return NOT_ALLOWED
        # every place of a name has to show the same new word, or a use would lose its binding
        renamed = []
        for name in self.names:
            words = {changes.get(place, name.name) for place in name.places}
            if len(words) > 1:
                return IN_PART
            if words != {name.name}:
                renamed.append((name, min(words)))
        new = set(map(itemgetter(1), renamed))
        is_available = len(new) == len(renamed) and all(map(self.available, new))
        return self.verified(version, renamed) if is_available else UNAVAILABLE

    def available(self, name: str) -> bool:
        """Return whether a new name means nothing else."""
        return name not in self.unavailable and name.isidentifier() and not name.startswith("__")

    def verified(self, version: str, renamed: Sequence[tuple[Renamable, str]]) -> Variant | str:
        """Return a version as a variant if the verifier accepts it, else the reason."""
        if self.verifier.difference(version, frozenset((name.name, new) for name, new in renamed)) is not None:
            return UNVERIFIED
        return variant_of(version, renamed, self.language)

    def result(self) -> WrittenVariants:
        reason = self.refused
        if not reason and len(self.variants) < self.n:
            causes = ", ".join(map("{0[1]} × {0[0]}".format, self.rejections.most_common(2)))
            shown = f"only {len(self.variants)} distinct variants in {self.replies} replies"
            reason = f"{shown}: {causes or 'the model wrote no more'}"
        return WrittenVariants(
            original=self.text,
            variants=tuple(self.variants.values()),
            reason=reason,
            kept=self.analysis.kept,
            rejected=self.rejections.total(),
            rejections=dict(self.rejections),
            replies=self.replies,
        )
