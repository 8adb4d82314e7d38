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
from typing import Any

from assay.code import variants
from assay.models import TransformersModel
from assay.scores import Cut, StartsCut, SuffixCut
from assay.scoring import Question, ask, cut_texts
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios, spread
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
        prompts = [text[: len(text) // 2] for text in texts for _ in range(SAMPLES)]
        return Asked(ids_of(model, prompts), lambda: list(model.generate(prompts, max_new_tokens=NEW, temperature=1.0)))
    cut: Cut = STARTS if workload == "ngram_generation" else SUFFIX
    whole = texts if workload == "ngram_generation" else [one for text in texts for one in (text, *rewritten(text))]
    questions = list(dict.fromkeys(piece.question for some in cut_texts(cut, whole, model) for piece in some))
    return Asked(prompt_ids(model, questions), lambda: ask(questions, model))


def rewritten(text: str) -> list[str]:
    """Its variants."""
    return [one.text for one in variants(text, N).variants]


def prompt_ids(model: TransformersModel, questions: Sequence[Question]) -> list[tuple[int, ...]]:
    """Each prompt in tokens."""
    return [one.prompt if isinstance(one.prompt, tuple) else ids_of(model, [one.prompt])[0] for one in questions]


def ids_of(model: TransformersModel, prompts: Sequence[str]) -> list[tuple[int, ...]]:
    """Texts in tokens."""
    return [one.ids for one in model.tokens(prompts)]


@contextmanager
def counted(model: TransformersModel) -> Iterator[list[int]]:
    """How many positions each pass was given."""
    given: list[int] = []

    def count(_: object, __: object, settings: dict[str, Any]) -> None:
        ids, mask = settings["input_ids"], settings.get("attention_mask")
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
    if written[0] != written[1]:
        raise SystemExit(f"{name}, {workload}: the two ways write different texts")
    read = sum(map(len, work.prompts))
    distinct = len({prompt[:end] for prompt in work.prompts for end in range(1, len(prompt) + 1)})
    seconds = interleaved(ways, repeats)
    return {
        "model": name,
        "workload": workload,
        "prompts": len(work.prompts),
        "prompt_tokens": read,
        "distinct_prompt_tokens": distinct,
        "positions": positions | {"floor": positions["whole"] - read + distinct},
        "passes": passes,
        "seconds": {label: spread(found) for label, found in seconds.items()},
        "ratio": ratios(seconds["whole"], seconds["shared"]),
    }


def run(scale: tuple[tuple[str, ...], int], seed: int, data: Data) -> Result:
    """Generation with common beginnings read once, against every prompt read whole."""
    names, repeats = scale
    return Result([measured(name, workload, repeats) for name in names for workload in TEXTS[name]])


EXPERIMENTS = (
    Experiment(
        name="performance/generation",
        run=run,
        scales={"smoke": ((TINY,), 1), "full": ((LARGE, SMALL), 3)},
        columns=("model", "workload", "prompts", "positions", "ratio"),
    ),
)
