"""Dataset-level detectors on a model whose every answer is set by the test."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from assay.errors import ScoreError
from assay.leakage.detectors.codec import change
from assay.leakage.detectors.mean import welch
from assay.leakage.detectors.srct import orders_of, t_test
from assay.scores import DatasetDetector, DatasetInputs, FineTuning, dataset_requests, detectors_of
from assay.types import Sample, TokenStatistics
from support.table_model import TableModel

METHODS = sorted(detectors_of(DatasetDetector))


@dataclass
class Scripted:
    """A model that gives the values of the test; what it fine-tunes is written down."""

    values: dict[str, np.ndarray]
    after: dict[str, np.ndarray] = field(default_factory=dict)
    vectors: tuple[np.ndarray, np.ndarray] | None = None
    scorer: TableModel | None = None
    context: int | None = None
    one_pass_scores: tuple[str, ...] = ("loss", "min_k")
    tunings: list[FineTuning] = field(default_factory=list)

    def scores(self, score: str, samples: Sequence[Sample], tuning: FineTuning | None = None) -> np.ndarray:
        side = "unseen" if samples and samples[0].label == "unseen" else "benchmark"
        if tuning is not None:
            self.tunings.append(tuning)
            return self.after[score]
        return self.values[f"{score} {side}"]

    def statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        assert self.scorer is not None
        return self.scorer.token_statistics(texts)

    def embeddings(self, samples: Sequence[Sample], *, layer: int = -1, tuning: FineTuning | None = None):
        assert self.vectors is not None
        assert (len(samples), layer) == (len(self.vectors[0]), -1)
        if tuning is not None:
            self.tunings.append(tuning)
        return self.vectors[tuning is not None]


def texts(count: int, label: str | None = None) -> tuple[Sample, ...]:
    return tuple(Sample(f"{label}-{i}", f"def f{i}():\n    return {i}\n", label=label) for i in range(count))


def run(spec: str, model: Scripted, n: int = 40, m: int = 40):
    (request,) = dataset_requests(spec)
    return request(DatasetInputs(texts(n), texts(m, "unseen"), model))


def two_sides(shift: float, n: int = 40, m: int = 40) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        f"{name} {side}": random.normal(shift * (side == "benchmark"), 1, size)
        for name in ("loss", "min_k", "mid_pit")
        for side, size in (("benchmark", n), ("unseen", m))
    }


@pytest.mark.parametrize("spec", ["mean:loss", "di", "permutation_test"])
def test_a_benchmark_that_scores_higher_has_a_small_p_value(spec):
    assert run(spec, Scripted(two_sides(2.0))).p_value < 0.01
    assert run(spec, Scripted(two_sides(-2.0))).p_value > 0.01 if spec != "di" else True


def test_dataset_inference_learns_on_one_half_and_tests_on_the_other():
    same = [run("di", Scripted(two_sides(0.0, 60, 60) | {"x": np.array([seed])}), 60, 60) for seed in range(1)]
    assert 0 <= same[0].p_value <= 1
    assert same[0].samples == 30


def test_the_mean_is_over_samples_with_a_value_and_states_their_share():
    values = two_sides(0.0)
    values["loss benchmark"] = np.array([1.0, 3.0, np.nan, np.nan])
    result = run("mean:loss", Scripted(values), n=4)
    assert (result.value, result.samples, result.details["coverage"]) == (2.0, 2, 0.5)


def test_a_score_deviation_is_the_score_before_minus_the_score_after():
    values = {"min_k benchmark": np.array([-1.0, -2.0])}
    model = Scripted(values, after={"min_k": np.array([-0.5, -1.0])})
    assert run("fsd:min_k", model, n=2).value == pytest.approx(-0.75)
    run("fsd:min_k:protocol=nonmembers", model, n=2)
    assert [tuning.on for tuning in model.tunings] == ["benchmark", "unseen"]


def test_the_kernel_divergence_score_compares_embeddings_before_and_after():
    random = np.random.default_rng(0)
    before = random.normal(size=(40, 3)).astype(np.float32)
    still, moved = Scripted({}, vectors=(before, before)), Scripted({}, vectors=(before, before + 0.1))
    assert run("kds", still).value == 0
    assert run("kds", moved).value < 0
    assert run("kds:batch=whole:epochs=4", moved).value < 0
    assert moved.tunings[-1] == FineTuning(epochs=4, whole_batch=True)
    assert run("kds:tuning=no", still).value > 0
    assert not still.tunings[1:]


def table() -> TableModel:
    return TableModel.trained(["a b a b a b\n", "c d c d\n"], order=2)


def test_context_that_says_nothing_new_changes_nothing():
    """A bigram model forgets: from the second token of a sample on, context cannot matter."""
    result = run("codec", Scripted({}, scorer=table()), n=6, m=6)
    assert result.value == 0
    assert result.details["mean change"] == pytest.approx(0)


def test_only_tokens_that_see_the_whole_context_count():
    model = table()
    alone, joined = model.token_statistics(["a b a b", "c d c d a b a b"])
    assert change(alone, joined, start=len("c d c d "), context=None) == pytest.approx(0)
    assert change(alone, joined, start=len("c d c d "), context=9) is None


def test_the_published_order_comes_first_and_permutations_keep_the_shard():
    orders = list(orders_of([4, 5, 6, 7], 3, seed=0))
    assert orders[0] == [4, 5, 6, 7]
    assert all(sorted(order) == [4, 5, 6, 7] for order in orders)
    assert orders == list(orders_of([4, 5, 6, 7], 3, seed=0))


def test_the_smaller_standard_deviation_of_the_published_code_gives_a_smaller_p_value():
    differences = np.array([0.5, 1.5, 1.0, 0.2])
    assert t_test(differences, 0) < t_test(differences, 1) < 0.05
    assert t_test(np.ones(3), 1) == 0
    assert t_test(np.zeros(3), 1) == 1


def test_an_order_that_a_bigram_model_cannot_see_is_not_significant():
    result = run("srct:shards=4:permutations=4", Scripted({}, scorer=table()), n=12)
    assert result.details == {"shards": 4, "permutations": 4}
    assert result.samples == 12


@pytest.mark.parametrize(
    ("spec", "n", "m", "words"),
    [
        ("permutation_test", 20, 0, "no unseen text"),
        ("di", 12, 40, "each half needs 10"),
        ("srct", 3, 0, "need at least 4"),
        ("fsd:protocol=nonmembers", 20, 0, "there is none"),
        ("codec", 1, 0, "two tokens"),
    ],
)
def test_too_little_to_judge_is_a_reason_and_no_value(spec, n, m, words):
    result = run(spec, Scripted(two_sides(0.0, n, m), scorer=table()), n, m)
    assert np.isnan(result.value)
    assert words in result.reason


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nothing", "expected one of"),
        ("", "no method was asked for"),
        ("kds:kernel=sigmoid", "kernel is 'sigmoid'"),
        ("kds:gamma=-1", "gamma is '-1'"),
        ("kds:batch=some", "batch is 'some'"),
        ("kds:gating=maybe", "expected yes or no"),
        ("kds:colour=red", "is no parameter of kds"),
        ("fsd:protocol=none", "protocol is 'none', expected mixed or nonmembers"),
        ("mean:nonsense", "no score is called"),
        ("codec:shots=two", "expected a value like 1"),
        ("codec:shots=0", "shots is 0, expected at least 1"),
        ("srct:shards=1", "shards is 1, expected at least 2"),
        ("srct:ddof=2", "ddof is 2, expected 0 or 1"),
        ("permutation_test:top=nan", "top is nan, expected above 0 and at most 1"),
        ("mean:min_k:k=5", "k is 5.0, expected above 0 and at most 1"),
    ],
)
def test_a_method_or_parameter_that_does_not_exist_is_one_line(spec, words):
    with pytest.raises(ScoreError, match=words):
        assert [request.work for request in dataset_requests(spec)]


def test_parameters_reach_the_score_that_a_method_reads():
    (request,) = dataset_requests("mean:min_k:k=0.1")
    assert request.parameters == {"score": "min_k:k=0.1"}
    (tuned,) = dataset_requests("fsd:min_k:k=0.1:protocol=nonmembers")
    assert tuned.parameters == {"score": "min_k:k=0.1", "protocol": "nonmembers"}


def test_one_fine_tuning_serves_the_kernel_divergence_and_every_score_deviation():
    requests = dataset_requests("kds,kds:gamma=per-side,fsd:loss,fsd:min_k")
    assert len({work for request in requests for work in request.work if "fine-tuning" in work.name}) == 1


@pytest.mark.parametrize("name", METHODS)
def test_every_method_states_its_work(name):
    (request,) = dataset_requests(name)
    assert all(work.passes > 0 for work in request.work)
    assert request.work


def test_welchs_test_of_values_that_hardly_vary_needs_no_warning():
    random = np.random.default_rng(0)
    values, others = random.normal(size=20), random.normal(size=30)
    assert welch(values, others) == pytest.approx(ttest_ind(values, others, equal_var=False, alternative="greater")[1])
    assert welch(np.full(20, 0.1), others) == pytest.approx(float(ttest_1samp(others, 0.1, alternative="less")[1]))
    assert np.isnan(welch(np.full(5, 0.1), np.full(4, 0.1 + 1e-16)))
    assert np.isnan(welch(values[:1], others))
