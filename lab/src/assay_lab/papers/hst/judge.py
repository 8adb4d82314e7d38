"""The judge of HybridSourceTracker: a language model rates first answers that are not labelled as right.

A function that was not the one a fragment was cut from may still be a source worth knowing. The paper's prompt is not
published; ours is `PROMPT`. The judge is checked on pairs whose kind of clone is known, and on pairs of unrelated code.
Every reply is kept in a file, so a run that was stopped continues and each rating can be read.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path

import numpy as np

from assay.evaluation import Estimate, grouped_bootstrap
from assay.provenance import CodeIndex
from assay.retrieval import open_encoder
from assay.scoring import Opener
from assay.types import Float64Array, Generator, Rejected
from assay_lab.clones import edit_lines, rename_all
from assay_lab.columns import attributes, having
from assay_lab.experiments.bench import PAPER_SCALE, RUNS, Bench, label_of
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.hst.corpus import SearchSpace
from assay_lab.papers.hst.queries import queries
from assay_lab.papers.hst.retrieval import CORPUS, ENCODER, space_of
from assay_lab.papers.hst.search import WAYS, answers
from assay_lab.papers.hst.trial import SIZES, index_of
from assay_lab.papers.printed import value_table

PROMPT = """Compare two pieces of code. Ignore names, comments and layout.

A:
{first}

B:
{second}

How similar are they? 0: unrelated. 1: they share an idiom. 2: parts do the same. 3: most is the same. \
4: the same code, or one contains the other.
Answer with one digit.
Digit:"""
"""Of the judge, as it is sent."""
HIGH = 3
"""Rating from which code is highly similar."""
LONGEST = 2_000
"""Characters of a piece that the judge reads."""
WAY = "HST (paper)"
REPLY_TOKENS = 8
RATINGS = "ratings.jsonl"
UNRELATED = "unrelated"
SMALL_JUDGE = "builtin:small"
"""Judge without `--model`: it follows no instructions, so its replies show the way alone."""


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two pieces of code for the judge.

    Attributes:
        kind: tokens of the fragment for a first answer, as "60 tokens"; a kind of clone for a labelled pair.
        first, second: the pieces.
        group: drawn as a whole.
        rating: 0 to 4; None where the reply has none.
        reply: of the judge, or why it rejected the prompt.
    """

    kind: str
    first: str
    second: str
    group: str
    rating: int | None = None
    reply: str = ""

    @property
    def prompt(self) -> str:
        """What the judge is sent."""
        return PROMPT.format(first=self.first[:LONGEST].strip(), second=self.second[:LONGEST].strip())


def judge(bench: Bench) -> Finding:
    """First answers that are not labelled as right, rated by a language model, which is checked on labelled clones."""
    size = sizes_of(bench, "hst", SIZES)
    seed = bench.seeds[0]
    default = paper("hst").roles["judge"] if bench.scale == PAPER_SCALE else SMALL_JUDGE
    name = next(iter(bench.models), default)
    folder = bench.out / RUNS / f"judge-{Path(bench.scale).stem}-seed-{seed}"
    bench.watchers.begin(f"run {folder.name}")
    folder.mkdir(parents=True, exist_ok=True)
    space = space_of(bench, size, seed)
    encoder = open_encoder(ENCODER)
    documents = min(size.spaces[0], len(space.documents))
    with index_of(space, documents, profile=WAYS[WAY].profile, encoder=encoder, folder=folder) as index:
        unlabelled: list[RatedPair] = []
        for window in size.windows:
            unlabelled += unlabelled_answers(space, index, window, most=size.most, seed=seed)
    labelled = list(labelled_pairs(space, most=size.most, seed=seed))
    rated = rate([*labelled, *unlabelled], Opener().generator(name), folder / RATINGS)
    checked, answered = rated[: len(labelled)], rated[len(labelled) :]
    by_length = "Unlabelled first answers by length of the fragment"
    rejected = sum(pair.rating is None for pair in rated)
    windows = list(map("{} tokens".format, size.windows))
    return Finding(
        name="hst/judge",
        title="First answers that are not labelled as right, rated by a language model (HybridSourceTracker, IV)",
        tables=(
            ratings_table(answered, windows, name="unlabelled", title=by_length),
            ratings_table(checked, KINDS, name="labelled", title="The judge on pairs of known kind"),
        ),
        notes=(
            f"Judge: {label_of(name)}. {rejected} of {len(rated)} replies hold no rating; every reply is in {RATINGS}.",
            f"Searched by {WAY} among {documents:,} functions, vectors of {ENCODER}, fragments after Algorithm 1.",
            f"Highly similar: a rating of {HIGH} and more of 4. In brackets: 95 % intervals over modules.",
            f"Prompt: {' '.join(PROMPT.split())}",
        ),
        seeds=(seed,),
    )


KINDS = ("type 1", "type 2", "type 3", "type 4", UNRELATED)


def unlabelled_answers(
    space: SearchSpace, index: CodeIndex, window: int, *, most: int, seed: int
) -> Iterator[RatedPair]:
    """Yield each fragment with its first answer, where that is neither its function nor a near-duplicate."""
    for query in queries(space, window, "type 2", most=most, seed=seed):
        first = answers(query.text, query.language, index, method=WAYS[WAY].method)[:1].tolist()
        # documents of an index are numbered from 1
        if first and first[0] - 1 not in space.right[query.target]:
            answer = index.document(first[0]).text
            yield RatedPair(kind=f"{window} tokens", first=query.text, second=answer, group=query.group)


def labelled_pairs(space: SearchSpace, *, most: int, seed: int) -> Iterator[RatedPair]:
    """Yield clones of four types, and pairs of unrelated functions.

    Types 1 to 3 are made from the functions that are searched for; those of type 4, the same task solved in another
    way, are written by hand.
    """
    targets = space.targets[:most]
    for at, target in enumerate(targets):
        text, language = target.cut.text, space.documents[target.at].language
        other = targets[at - 1]
        donors = [other.cut.text]
        indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
        made = {
            "type 1": indented,
            "type 2": rename_all(text, language, seed=seed + at),
            "type 3": edit_lines(text, donors, seed=seed + at),
        }
        for kind, clone in made.items():
            yield RatedPair(kind=kind, first=text, second=clone, group=target.group)
        # functions of one module may well be alike
        if other.group != target.group:
            yield RatedPair(kind=UNRELATED, first=text, second=other.cut.text, group=target.group)
    for name, (first, second) in islice(semantic_clones().items(), most):
        yield RatedPair(kind="type 4", first=first, second=second, group=name)


def semantic_clones() -> Mapping[str, tuple[str, str]]:
    """Return task → two solutions that share no statement."""
    content = tomllib.loads(files("assay_lab.papers.hst").joinpath("type_4.toml").read_text("utf-8"))
    return {name: (pair["first"], pair["second"]) for name, pair in content.items()}


def rate(pairs: Sequence[RatedPair], generator: Generator, path: Path) -> list[RatedPair]:
    """Ask the judge about each pair; replies that the file has are read, new ones are added to it as they come."""
    known: dict[str, str] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:  # an empty line, or one that a kill cut short
            continue
        known[row["key"]] = row["reply"]
    texts = [f"{generator.name}\n{pair.prompt}" for pair in pairs]
    keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
    # a pair that occurs twice is asked about once
    new = {key: pair.prompt for key, pair in zip(keys, pairs, strict=True) if key not in known}
    replies = generator.generate(list(new.values()), max_new_tokens=REPLY_TOKENS)
    with path.open("a", encoding="utf-8") as file:
        for (key, prompt), reply in zip(new.items(), replies, strict=True):
            known[key] = f"rejected: {reply.reason}" if isinstance(reply, Rejected) else reply
            row = {"key": key, "judge": generator.name, "reply": known[key], "prompt": prompt}
            # the line end comes first: a line that was cut short before does not spoil this one
            file.write(f"\n{json.dumps(row)}")
            file.flush()
    return [
        RatedPair(**asdict(pair) | {"reply": known[key], "rating": rating_in(known[key])})
        for key, pair in zip(keys, pairs, strict=True)
    ]


def rating_in(reply: str) -> int | None:
    """Return the rating of a reply: its first number, if that is 0 to 4; else None."""
    number = re.search(r"\d+", "" if reply.startswith("rejected:") else reply)
    return int(number[0]) if number and number[0] in {"0", "1", "2", "3", "4"} else None


def ratings_table(rated: Sequence[RatedPair], kinds: Sequence[str], *, name: str, title: str) -> ValueTable:
    """Return the mean rating and the share of highly similar pairs, kind by kind."""
    rows = []
    for kind in kinds:
        own = [pair for pair in having(rated, kind=kind) if pair.rating is not None]
        values: tuple[Value, ...] = (None, None, 0.0)
        if own:
            ratings = np.array(attributes(own, "rating"), np.float64)
            values = (
                *means(np.stack([ratings, ratings >= HIGH], axis=1), attributes(own, "group")),
                float(len(own)),
            )
        rows.append(ValueRow(kind, values))
    headings = ("mean rating (0 to 4)", "highly similar", "rated pairs")
    return value_table(name, title, head="pairs", columns=headings, rows=rows)


def means(values: Float64Array, groups: Sequence[str]) -> tuple[Estimate, ...]:
    """Return the means of columns, with intervals over groups."""
    return grouped_bootstrap(lambda weights: weights @ values / weights.sum(axis=1, keepdims=True), groups)


EXPERIMENTS = (Reproduction("hst", "judge", judge, takes=(CORPUS,), models=1, models_with_data=1, seeds=1),)
