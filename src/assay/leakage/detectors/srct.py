"""Sharded rank comparison test: is the order in which a benchmark is published likelier than others? (Oren et al.)."""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.stats import t as student

from assay.scores import DatasetInputs, DatasetScore, Work, dataset_level
from assay.types import Float64Array, texts_of

SEPARATOR = "\n\n"
RULE = 0.05
Several = Annotated[int, Interval(ge=2)]


def work(*, permutations: int, **_: object) -> tuple[Work, ...]:
    """Return what is run: every sample once in the published order, and once in each permutation of its shard."""
    return (Work(f"passes in {permutations + 1} orders", 1 + permutations),)


@dataset_level(
    name="srct",
    title="Sharded rank comparison test",
    formula="mean over shards of log p(published order) - mean of log p(permuted order); one-sided t-test",
    reference="Oren et al. 2024; Choi et al. 2025, Eq. 12",
    access="gray",
    work=work,
)
def sharded_test(
    inputs: DatasetInputs, *, shards: Several = 50, permutations: Several = 25, ddof: Literal[0, 1] = 1
) -> DatasetScore:
    """Compare the likelihood of the published order of each shard with that of random orders.

    It sees only training on the whole file in its order, and needs at least two samples a shard.
    """
    # a shard of one sample has one order only
    used = min(shards, len(inputs.samples) // 2)
    if used < 2:  # noqa: PLR2004  a spread needs two
        return DatasetScore(value=np.nan, reason=f"{len(inputs.samples)} samples; two shards need at least 4")
    texts = texts_of(inputs.samples)
    parts = [list(part) for part in np.array_split(np.arange(len(texts)), used)]
    # a shard's published order and its random ones stand one behind the other
    orders = chain.from_iterable(orders_of(part, permutations, inputs.seed) for part in parts)
    statistics = inputs.model.statistics([SEPARATOR.join(map(texts.__getitem__, order)) for order in orders])
    likelihoods = np.array([float(each.log_probs.astype(np.float64).sum()) for each in statistics])
    table = likelihoods.reshape(used, permutations + 1)
    differences = table[:, 0] - table[:, 1:].mean(axis=1)
    p_value = t_test(differences, ddof)
    return DatasetScore(
        value=float(differences.mean()),
        p_value=p_value,
        called=p_value < RULE,
        samples=len(texts),
        details={"shards": used, "permutations": permutations},
    )


def orders_of(part: list[int], permutations: int, seed: int) -> Iterator[list[int]]:
    """Yield the published order of a shard, then random ones; the same for the same shard and seed."""
    yield part
    # seeded by the shard: its orders do not depend on how many were drawn before
    random = np.random.default_rng([seed, part[0]])
    for _ in range(permutations):
        yield list(map(part.__getitem__, random.permutation(len(part))))


def t_test(differences: Float64Array, ddof: int) -> float:
    """Return the one-sided p-value of a positive mean; `ddof` 0 is the published code's smaller standard deviation."""
    spread = float(differences.std(ddof=ddof))
    # all shards agree, and the statistic would divide by 0
    if spread == 0:
        return float(differences.mean() <= 0)
    statistic = float(differences.mean()) / (spread / np.sqrt(len(differences)))
    return float(student.sf(statistic, len(differences) - 1))
