"""Generation with common beginnings read once, against every prompt read whole.

Both ways are assay's own batched, greedy generation with a key-value cache; they must write the same, and the script
ends with an error where they do not. What is asked:

- `ngram_generation`: five starts of each function, prompts that are beginnings of one another;
- `sr_black`: the first half of each function and of its ten variants, which begin alike up to the first new name;
- `samples`: eight samples of one prompt each, by temperature.

Positions are what the model is given, padding aside, counted as it is given them. The floor is what no way could spare:
each distinct beginning once, and of each answer all tokens but the last.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from assay.code import variants
from assay.models import TransformersModel
from assay.scores import Cut, StartsCut, SuffixCut
from assay.scoring import Question, ask, cut_texts
from assay_lab.columns import attributes, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios, spreads
from assay_lab.performance.srdetection import whole_functions
from assay_lab.performance.subjects import LARGE, SMALL, TINY, open_subject

N = 10
SAMPLES = 8
NEW = 32
STARTS, SUFFIX = StartsCut(n=5, stride=512), SuffixCut(prefix=0.5, at="line", units="lexical")
TEXTS = {
    LARGE: {"ngram_generation": 6, "sr_black": 1, "samples": 2},
    SMALL: {"ngram_generation": 60, "sr_black": 8, "samples": 12},
    TINY: {"ngram_generation": 1, "sr_black": 1, "samples": 1},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model is asked.

    Attributes:
        prompts: token ids of every prompt.
        write: asks, and gives the answers.
    """

    prompts: list[tuple[int, ...]]
    write: Callable[[], object]


def asked(model: TransformersModel, workload: str, texts: Sequence[str]) -> Asked:
    """The prompts of a workload, and how it is run."""
    if workload == "samples":
        halves = [text[: len(text) // 2] for text in texts]
        prompts = list(chain.from_iterable(map(repeat, halves, repeat(SAMPLES))))
        return Asked(ids_of(model, prompts), lambda: list(model.generate(prompts, max_new_tokens=NEW, temperature=1.0)))
    cut: Cut = STARTS
    whole = list(texts)
    if workload == "sr_black":
        cut, whole = SUFFIX, []
        for text in texts:
            whole += [text, *rewritten(text)]
    pieces = chain.from_iterable(cut_texts(cut, whole, model))
    questions = list(dict.fromkeys(attributes(pieces, "question")))
    return Asked(prompt_ids(model, questions), lambda: ask(questions, model))


def rewritten(text: str) -> list[str]:
    """Its variants."""
    return text_column(variants(text, N).variants)


def prompt_ids(model: TransformersModel, questions: Sequence[Question]) -> list[tuple[int, ...]]:
    """Each prompt in tokens."""
    ids = []
    for question in questions:
        if isinstance(question.prompt, tuple):
            ids.append(question.prompt)
        else:
            ids += ids_of(model, [question.prompt])
    return ids


def ids_of(model: TransformersModel, prompts: Sequence[str]) -> list[tuple[int, ...]]:
    """Texts in tokens."""
    return attributes(model.tokens(prompts), "ids")


@contextmanager
def counted(model: TransformersModel) -> Iterator[list[int]]:
    """How many positions each pass was given."""
    given: list[int] = []

    def count(_: object, __: object, settings: dict[str, Any]) -> None:
        ids, mask = settings["input_ids"], settings.get("attention_mask")
        # the mask covers the cached positions too: only those of this pass count
        given.append(ids.numel() if mask is None else int(mask[:, -ids.shape[1] :].sum()))

    hook = model.checkpoint.model.base_model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield given
    finally:
        hook.remove()


def measured(name: str, workload: str, repeats: int) -> dict[str, object]:
    """One model and workload."""
    model = open_subject(name)
    sharing = model.shares_prefixes
    work = asked(model, workload, whole_functions(TEXTS[name][workload]))

    def way(*, shared: bool) -> object:
        model.shares_prefixes = shared and sharing
        return work.write()

    ways: dict[str, Callable[[], object]] = {"whole": lambda: way(shared=False), "shared": lambda: way(shared=True)}
    positions, passes, written = {}, {}, []
    for label, run in ways.items():
        with counted(model) as given:
            written.append(run())
        positions[label], passes[label] = sum(given), len(given)
    # a way that is faster and writes something else is no faster way
    if written[0] != written[1]:
        raise SystemExit(f"{name}, {workload}: the two ways write different texts")
    read = sum(map(len, work.prompts))
    beginnings: set[tuple[int, ...]] = set()
    for prompt in work.prompts:
        # the floor: each distinct beginning of any prompt is one position to read
        beginnings.update(prompt[:end] for end in range(1, len(prompt) + 1))
    distinct = len(beginnings)
    seconds = interleaved(ways, repeats)
    return {
        "model": name,
        "workload": workload,
        "prompts": len(work.prompts),
        "prompt_tokens": read,
        "distinct_prompt_tokens": distinct,
        "positions": positions | {"floor": positions["whole"] - read + distinct},
        "passes": passes,
        "seconds": spreads(seconds),
        "ratio": ratios(seconds["whole"], seconds["shared"]),
    }


def run(scale: tuple[tuple[str, ...], int], seed: int, data: Data) -> Result:
    """Generation with common beginnings read once, against every prompt read whole."""
    names, repeats = scale
    rows: list[dict[str, object]] = []
    for name in names:
        rows += [measured(name, workload, repeats) for workload in TEXTS[name]]
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="performance/generation",
        run=run,
        scales={"smoke": ((TINY,), 1), "full": ((LARGE, SMALL), 3)},
        columns=("model", "workload", "prompts", "positions", "ratio"),
    ),
)
