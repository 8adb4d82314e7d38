"""Perturbed copies of texts, and what a model thinks of them.

DetectGPT and NPR compare a text with copies whose spans another model filled (`filling`), DetectCodeGPT (Shi et al.
2025, arXiv:2401.06461) with copies that have random white space: people put white space where they please, a model
where it is most likely. All copies of all texts are scored in one call.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import chain, islice, pairwise, repeat
from operator import itemgetter, methodcaller
from typing import Protocol

import numpy as np

from assay.models import combined
from assay.scores import Derived
from assay.scoring import generator_digest
from assay.types import Generator, Rejected, Sample, TokenScorer
from assay_lab.columns import at_places, attributes, text_column, without

NO_PLACE = "no place for white space: no perturbed copy differs"
_SPACE = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True, slots=True)
class Copies:
    """The perturbed copies of one text.

    Attributes:
        texts: each differs from the text.
        failures: reason → attempts that gave no copy.
        reason: why there is no copy; None where there is one.
    """

    texts: tuple[str, ...]
    failures: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


class Perturber(Protocol):
    """Makes perturbed copies of texts."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a copy."""
        ...

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """Return at most n copies of each text; what a text gets does not depend on the others."""
        ...


@dataclass(frozen=True, slots=True)
class CopyStatistics:
    """The deriver of perturbed copies: their statistics under the target.

    Attributes:
        perturb: makes the copies.
        target: the surrogate that scores them.
    """

    perturb: Perturber
    target: TokenScorer

    @property
    def digest(self) -> str:
        """Of the perturbation and of the target."""
        return combined([self.perturb.digest, self.target.digest])

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """See `assay.scores.Deriver`; equal copies are scored once."""
        groups = self.perturb(text_column(samples), n)
        distinct = list(dict.fromkeys(chain.from_iterable(attributes(groups, "texts"))))
        scored = dict(zip(distinct, self.target.token_statistics(distinct), strict=True))
        return [
            Rejected(group.reason) if group.reason else Derived(tuple(map(scored.get, group.texts)), group.failures)
            for group in groups
        ]


def draws_of(text: str, seed: int) -> np.random.Generator:
    """Return the random stream of a text: the same for the same text, whatever else is perturbed."""
    # seeded by the text itself: a copy does not change when other texts are perturbed beside it
    key = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])
    return np.random.default_rng([seed, key])


@dataclass(frozen=True, slots=True)
class StylePerturbation:
    """Random white space, with the values of DetectCodeGPT.

    Attributes:
        share: of the places in a text at which white space is inserted.
        spaces: mean of the Poisson distribution of the spaces at a place.
        line_ends: mean of the Poisson distribution of the line ends at a place.
        seed: of all draws.
    """

    share: float = 0.5
    spaces: float = 3.0
    line_ends: float = 2.0
    seed: int = 0

    @property
    def digest(self) -> str:
        """Of the settings."""
        return combined(["style", asdict(self)])

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """See `Perturber`; a copy that equals its text counts as a failure."""
        return list(map(self._copies, texts, repeat(n)))

    def _copies(self, text: str, n: int) -> Copies:
        draw = draws_of(text, self.seed)
        copies = [perturbed_style(text, self, draw) for _ in range(n)]
        kept = tuple(without(copies, (text,)))
        unchanged = Counter({"copies that equal the text": len(copies) - len(kept)})
        return Copies(kept, +unchanged, None if kept else NO_PLACE)


def perturbed_style(text: str, settings: StylePerturbation, draw: np.random.Generator) -> str:
    """Return a text with white space inserted at random: spaces within lines, or empty lines, by the toss of a coin.

    Spaces go where one space separates two visible characters, so indentation and tokens stay.
    """
    if draw.random() < 0.5:  # noqa: PLR2004  a coin
        places = list(map(methodcaller("start"), _SPACE.finditer(text)))
        mark, mean = " ", settings.spaces
    else:
        places = list(map(methodcaller("start"), re.finditer(r"\n", text)))
        mark, mean = "\n", settings.line_ends
    if not places:
        return text
    # without replacement: each place gets white space once at most
    chosen = draw.choice(places, max(1, int(settings.share * len(places))), replace=False)
    pieces, end = [], 0
    for place in sorted(chosen.tolist()):
        pieces += [text[end:place], mark * int(draw.poisson(mean))]
        end = place
    return "".join([*pieces, text[end:]])


# Copies of texts whose masked spans another model fills: the perturbation of DetectGPT (arXiv:2301.11305).
#
# A fill that the model does not give, or that gives the text back, is no copy: it is counted, and drawn again with
# other spans. Unlike the published code, which splits at single spaces, white space stays as it is: words are runs of
# visible characters.

_WORD = re.compile(r"\S+")
_SENTINEL = re.compile(r"<extra_id_(\d+)>")
SECTION = 200
"""Words of a text that one prompt holds: a filler has few sentinels and a short context."""

MISSING = "fills that are missing"
UNCHANGED = "copies that equal the text"
REFUSED = "prompts that the filler refused"


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with masked spans.

    Attributes:
        text: unchanged.
        spans: start and end of each masked span, ascending.
        sections: start and end of the parts of the text that are filled together.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    sections: tuple[tuple[int, int], ...]

    def filled(self, fills: Sequence[str]) -> str:
        """Return the text with its spans replaced."""
        pieces, end = [], 0
        for (start, stop), fill in zip(self.spans, fills, strict=True):
            pieces += [self.text[end:start], fill]
            end = stop
        return "".join([*pieces, self.text[end:]])


class Filler(Protocol):
    """Fills the masked spans of texts."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a fill."""
        ...

    def __call__(self, masked: Sequence[Masked], seed: int) -> Sequence[tuple[str, ...] | Rejected]:
        """Return one fill for each span of each text, or the reason why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class SpanPerturbation:
    """Masked spans, with the values of DetectGPT.

    Attributes:
        fill: fills the spans.
        share: of the words; the number of spans is share · words / (span + 2 · buffer), at least one.
        span: words of a span.
        buffer: words on either side of a span that are not masked.
        rounds: times that a copy is drawn before it is given up.
        seed: of all draws.
    """

    fill: Filler
    share: float = 0.3
    span: int = 2
    buffer: int = 1
    rounds: int = 3
    seed: int = 0

    @property
    def digest(self) -> str:
        """Of the filler and of the settings."""
        settings = [self.share, self.span, self.buffer, self.rounds, self.seed]
        return combined(["spans", self.fill.digest, settings])

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """See `Perturber`. All spans of all copies of all texts are filled in one call a round."""
        streams = list(map(draws_of, texts, repeat(self.seed)))
        copies: list[list[str]] = [[] for _ in texts]
        failures: list[Counter[str]] = [Counter() for _ in texts]
        long_enough = [row for row, text in enumerate(texts) if len(_WORD.findall(text)) > self.span]
        for number in range(self.rounds):
            # only what is still missing is drawn again, so a text with good fills costs one round
            rows: list[int] = []
            for row in long_enough:
                rows += [row] * (n - len(copies[row]))
            masks = [self.masked(texts[row], streams[row]) for row in rows]
            for row, mask, fills in zip(rows, masks, self.fill(masks, self.seed + number), strict=True):
                if isinstance(fills, Rejected):
                    failures[row][fills.reason] += 1
                    continue
                copy = mask.filled(fills)
                if copy == texts[row]:
                    failures[row][UNCHANGED] += 1
                else:
                    copies[row].append(copy)
        return [
            Copies(tuple(group), failed, None if group else self._reason(row in long_enough))
            for row, (group, failed) in enumerate(zip(copies, failures, strict=True))
        ]

    def masked(self, text: str, draw: np.random.Generator) -> Masked:
        """Return a text with spans that do not touch each other's buffers."""
        words = list(map(methodcaller("span"), _WORD.finditer(text)))
        # as in the published code: the share of the words that spans and their buffers take together
        count = max(1, int(self.share * len(words) / (self.span + 2 * self.buffer)))
        free = np.ones(len(words) - self.span + 1, bool)
        first: list[int] = []
        while len(first) < count and free.any():
            place = int(draw.choice(np.flatnonzero(free)))
            # no later span may begin where its words or their buffer would touch this one
            reach = self.span + self.buffer - 1
            free[max(0, place - reach) : place + reach + 1] = False
            first.append(place)
        spans = tuple((words[place][0], words[place + self.span - 1][1]) for place in sorted(first))
        borders = list(map(itemgetter(0), words[::SECTION]))
        stops = [*borders[1:], len(text)]
        return Masked(text, spans, tuple(zip([0, *borders[1:]], stops, strict=True)))

    def _reason(self, long_enough: bool) -> str:  # noqa: FBT001  the only question
        return "every fill failed: no perturbed copy" if long_enough else f"at most {self.span} words: nothing to mask"


@dataclass(frozen=True, slots=True)
class SentinelFiller:
    """An encoder-decoder model of the T5 family, which marks spans with sentinels: `<extra_id_0>` and so on.

    Attributes:
        model: an encoder-decoder model.
        temperature: of sampling.
        top_p: nucleus of sampling.
        tokens: generated tokens for each span, its sentinel included.
    """

    model: Generator
    temperature: float = 1.0
    top_p: float = 1.0
    tokens: int = 10

    @property
    def digest(self) -> str:
        """Of the model and of the settings."""
        return combined(["sentinels", generator_digest(self.model), self.temperature, self.top_p, self.tokens])

    def __call__(self, masked: Sequence[Masked], seed: int) -> Sequence[tuple[str, ...] | Rejected]:
        """See `Filler`; a text is filled section by section, all sections of all texts in one call."""
        parts = []
        for row, mask in enumerate(masked):
            parts += [(row, spans, prompt) for spans, prompt in sentinel_prompts(mask) if spans]
        if not parts:
            return [Rejected(MISSING)] * len(masked)
        longest = max(map(len, map(itemgetter(1), parts)))
        replies = self.model.generate(
            list(map(itemgetter(2), parts)),
            max_new_tokens=self.tokens * (longest + 1),
            temperature=self.temperature,
            top_p=self.top_p,
            seed=seed,
        )
        fills: list[tuple[str, ...] | Rejected] = [()] * len(masked)
        for (row, spans, _), reply in zip(parts, replies, strict=True):
            before = fills[row]
            if isinstance(before, Rejected):
                continue
            if isinstance(reply, Rejected):
                fills[row] = Rejected(REFUSED)
                continue
            read = fills_in(reply, len(spans))
            fills[row] = Rejected(MISSING) if read is None else before + read
        return fills


@dataclass(frozen=True, slots=True)
class CausalFiller:
    """A model that continues text: it sees the text before a span, and not the text behind it.

    Attributes:
        model: generates text.
        context: characters before a span that it sees.
        words: of a fill.
        tokens: generated for each fill.
        temperature: of sampling.
        top_p: nucleus of sampling.
    """

    model: Generator
    context: int = 512
    words: int = 2
    tokens: int = 12
    temperature: float = 1.0
    top_p: float = 0.95

    @property
    def digest(self) -> str:
        """Of the model and of the settings."""
        settings = [self.context, self.words, self.tokens, self.temperature, self.top_p]
        return combined(["causal", generator_digest(self.model), settings])

    def __call__(self, masked: Sequence[Masked], seed: int) -> Sequence[tuple[str, ...] | Rejected]:
        """See `Filler`; every span of every text is a prompt of one call."""
        prompts = []
        for mask in masked:
            prompts += [mask.text[max(0, start - self.context) : start] or "\n" for start, _ in mask.spans]
        replies = self.model.generate(
            prompts, max_new_tokens=self.tokens, temperature=self.temperature, top_p=self.top_p, seed=seed
        )
        results: list[tuple[str, ...] | Rejected] = []
        for mask in masked:
            own = list(islice(replies, len(mask.spans)))
            if any(map(isinstance, own, repeat(Rejected))):
                results.append(Rejected(REFUSED))
                continue
            fills = tuple(first_words(str(reply), self.words) for reply in own)
            results.append(fills if all(fills) else Rejected(MISSING))
        return results


def first_words(text: str, count: int) -> str:
    """Return the first words of a text with the white space between them; "" if it has fewer."""
    words = list(_WORD.finditer(text))[:count]
    return text[words[0].start() : words[-1].end()] if len(words) == count else ""


def sentinel_prompts(masked: Masked) -> list[tuple[tuple[tuple[int, int], ...], str]]:
    """Return the spans of each section, and the section with a sentinel in place of each."""
    prompts = []
    for start, stop in masked.sections:
        spans = tuple(span for span in masked.spans if start <= span[0] < stop)
        pieces, end = [], start
        for number, (first, last) in enumerate(spans):
            pieces += [masked.text[end:first], f"<extra_id_{number}>"]
            end = last
        prompts.append((spans, "".join([*pieces, masked.text[end : max(end, stop)]])))
    return prompts


def fills_in(reply: str, count: int) -> tuple[str, ...] | None:
    """Return what stands between each of `count` sentinels and the next mark; None if one is missing or empty.

    Text behind the last mark is no fill: nothing says where it ends.
    """
    marks = list(_SENTINEL.finditer(reply))
    fills: dict[int, str] = {}
    for mark, following in pairwise(marks):
        fills.setdefault(int(mark[1]), reply[mark.end() : following.start()].strip())
    if not all(map(fills.get, range(count))):
        return None
    return tuple(at_places(fills, range(count)))
