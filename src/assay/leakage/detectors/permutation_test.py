"""The permutation test of a whole benchmark against unseen text, as a dataset-level detector."""

from assay.evaluation import TOP, set_test
from assay.scores import (
    SCORES_OF_BENCHMARK,
    SCORES_OF_UNSEEN,
    DatasetInputs,
    DatasetScore,
    Share,
    Work,
    dataset_level,
    headline_score,
)

NAME = "permutation_test"
ALPHA = 0.05


def work(**_: object) -> tuple[Work, ...]:
    """Return what is run: one pass over the benchmark and over the unseen text."""
    return SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN


@dataset_level(
    name=NAME,
    title="Permutation test of a benchmark",
    formula="larger of (difference of mean ranks, difference of shares among the top 10 %) / standard error by group",
    reference="Janssen 1997; Chung and Romano 2013 (studentised permutation test), groups permuted as wholes",
    access="gray",
    flags={"verdict", "default"},
    work=work,
)
def whole_benchmark(
    inputs: DatasetInputs, *, score: str = headline_score("gray").name, top: Share = TOP
) -> DatasetScore:
    """Test whether a benchmark scores higher than text that was certainly not seen."""
    if not inputs.unseen:
        return DatasetScore(value=float("nan"), reason="there is no unseen text")
    test = set_test(
        inputs.model.scores(score, inputs.samples),
        inputs.model.scores(score, inputs.unseen),
        groups=[sample.group for sample in inputs.samples],
        unseen_groups=[sample.group for sample in inputs.unseen],
        top=top,
        seed=inputs.seed,
    )
    return DatasetScore(
        value=test.superiority,
        p_value=test.p_value,
        called=test.p_value <= ALPHA,
        samples=test.samples,
        unseen_value=0.5,
        details={"groups": test.groups, "unseen texts": test.unseen, "unseen groups": test.unseen_groups},
    )
