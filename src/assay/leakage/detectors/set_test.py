"""The permutation test of a whole benchmark against unseen text, as a dataset-level detector."""

from assay.evaluation import SetTest
from assay.evaluation import set_test as permutation_test
from assay.scores import DatasetInputs, dataset_level


@dataset_level(
    name="set_test",
    title="Permutation test of a benchmark",
    formula="(mean rank in the benchmark - mean rank in the unseen text) / its standard error by group",
    reference="Janssen 1997; Chung and Romano 2013 (studentised permutation test), groups permuted as wholes",
    access="gray",
    flags={"verdict"},
)
def whole_benchmark(inputs: DatasetInputs) -> SetTest:
    """Test whether a benchmark scores higher than text that was certainly not seen."""
    return permutation_test(
        inputs.values,
        inputs.unseen_values,
        [sample.group for sample in inputs.samples],
        [sample.group for sample in inputs.unseen],
        seed=inputs.seed,
    )
