"""Scores of generated text: values by hand, reasons, cost, and directions on data of known direction."""

from itertools import pairwise

import numpy as np
import pytest

from assay.errors import MissingCapability, ScoreError, Unscorable
from assay.scores import GENERATED, SCORES, Derived, SampleInputs, View, one_pass, request, requests
from assay.scoring import plan, score_samples
from assay.types import MEMBER, Rejected, Sample, TokenLogProbs, TokenStatistics
from assay_lab.methods.pair import PairedStatistics
from assay_lab.methods.perturbing import CausalFiller, CopyStatistics, SpanPerturbation, StylePerturbation
from assay_lab.methods.revising import ConditionedStatistics, EncodedRevisions, RestoredStatistics, Reviser
from support.table_model import TableModel

DETECTORS = [name for name, entry in SCORES.items() if entry.positive == GENERATED]
ONE_PASS = ["fast_detect_gpt", "loss", "rank", "log_rank", "entropy"]


def statistics(l, r=None, h=None):
    n = len(l)
    ones = np.ones(n, np.float32)
    return TokenStatistics(
        token_ids=np.arange(n, dtype=np.int32),
        log_probs=np.asarray(l, np.float32),
        ranks=np.asarray(r if r is not None else ones, np.int32),
        entropy=np.asarray(h if h is not None else ones, np.float32),
        variance=ones,
        tail_mass=ones / 2,
        top_log_probs=-ones,
        offsets=np.zeros((n, 2), np.int32),
    )


def value(spec, *, target=None, **derived):
    kinds = {kind: row if isinstance(row, Rejected) else Derived(tuple(row)) for kind, row in derived.items()}
    return request(spec)(SampleInputs("x", {View(): target}, derived=kinds))


def log_probs(*l):
    return TokenLogProbs(np.arange(len(l), dtype=np.int32), np.array(l, np.float32))


def test_detect_gpt_is_a_difference_in_standard_deviations():
    copies = [statistics([-2.0]), statistics([-4.0])]
    assert value("detect_gpt", target=statistics([-1.0]), spans=copies) == pytest.approx((-1 + 3) / 1.0)


def test_detect_gpt_of_copies_that_agree_divides_by_one():
    copies = [statistics([-3.0]), statistics([-3.0])]
    assert value("detect_gpt", target=statistics([-1.0]), spans=copies) == pytest.approx(2)


def test_detect_gpt4code_is_the_same_function_with_other_models():
    assert request("detect_gpt4code").definition is SCORES["detect_gpt"]


@pytest.mark.parametrize(("name", "kind"), [("npr", "spans"), ("detect_code_gpt", "style")])
def test_log_rank_ratios(name, kind):
    target = statistics([-1, -1], r=[1, 4])
    copies = [statistics([-1, -1], r=[4, 4]), statistics([-1, -1], r=[1, 16])]
    assert value(name, target=target, **{kind: copies}) == pytest.approx(2)
    with pytest.raises(Unscorable, match="every token is ranked first"):
        value(name, target=statistics([-1, -1]), **{kind: copies})


def test_only_the_first_n_copies_count():
    target = statistics([-1.0], r=[2])
    copies = [statistics([-1.0], r=[2])] * 2 + [statistics([-1.0], r=[99])]
    assert value("npr:n=2", target=target, spans=copies) == pytest.approx(1)


def test_binoculars_is_log_perplexity_over_cross_entropy():
    assert value("binoculars", pair=[statistics([-1, -3], h=[1, 1.5])]) == pytest.approx(-4 / 2.5)
    with pytest.raises(Unscorable, match="saturated"):
        value("binoculars", pair=[statistics([-1, -3], h=[0, 0])])


def test_bart_score_is_the_mean_log_likelihood_given_the_revisions():
    assert value("bart_score:n=2", restored=[log_probs(-1, -3), log_probs(-4)]) == pytest.approx(-3)


def test_revision_similarity_is_a_mean():
    assert value("revision_similarity", revised=[0.5, 1.0]) == pytest.approx(0.75)


def test_atc_is_the_negated_entropy_behind_the_tasks():
    assert value("atc:n=2", task=[statistics([-1, -1], h=[1, 3]), statistics([-1], h=[4])]) == pytest.approx(-3)
    with pytest.raises(Unscorable, match="outside comments"):
        value("atc", task=[statistics([])])


@pytest.mark.parametrize("name", DETECTORS)
def test_what_could_not_be_derived_is_the_reason(name):
    (derivation,) = SCORES[name].derivations.values()
    with pytest.raises(Unscorable, match="every fill failed"):
        value(name, target=statistics([-1.0], r=[2]), **{derivation.name: Rejected("every fill failed")})


@pytest.mark.parametrize("name", [name for name in DETECTORS if "n" in SCORES[name].defaults])
def test_no_derivation_is_too_few(name):
    with pytest.raises(ScoreError, match="expected at least"):
        value(f"{name}:n=0", target=statistics([-1.0], r=[2]), spans=[statistics([-1.0])])


def test_one_copy_is_no_standard_deviation():
    with pytest.raises(Unscorable, match="1 could be made of the text, expected at least 2"):
        value("detect_gpt", target=statistics([-1.0]), spans=[statistics([-2.0])])


def test_detectors_are_no_scores_of_membership_and_cost_more_than_one_pass():
    assert all(SCORES[name].passes > 1 for name in DETECTORS)
    assert not set(DETECTORS) & set(one_pass())
    assert {entry.definition.positive for entry in requests("all")} == {MEMBER}


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_without_its_models_says_which_option_names_them(name):
    with pytest.raises(MissingCapability, match="assay detect"):
        plan(requests(name), {"target": TableModel.uniform(5)})


# Data of known direction: generated text is drawn from the surrogate itself, the other text is of another kind.
LINE = "for i in range ( n ) :\n total = total + a [ i ]\n"
LINES = "".join(f"for {i} in range ( {n} ) :\n {n} = {n} + {i} [ {n} ]\n" for i in "ijk" for n in "nmab")
MODEL = TableModel.trained([LINES, LINE * 3], order=3)
DRAWN = [
    Sample(f"g{seed}", "".join(MODEL.generate(["for i"], max_new_tokens=60, temperature=1.0, seed=seed)), "python")
    for seed in range(6)
]
TYPED = [
    Sample(f"h{seed}", " ".join(np.random.default_rng(seed).permutation(sample.text.split(" ")).tolist()), "python")
    for seed, sample in enumerate(DRAWN)
]


class Scripted:
    """A reviser that leaves text of the surrogate as it is, and makes other text look like it."""

    name = "scripted"
    digest = "scripted"

    def generate(self, prompts, **_):
        for prompt in prompts:
            if "<task>" in prompt:
                yield "<task>for i in range ( n ) :</task>"
                continue
            code = prompt.partition("```\n")[2].partition("\n```")[0]
            drawn = any(code == sample.text for sample in DRAWN)
            yield f"It sums.\n```python\n{code if drawn else LINE}\n```"


class Copying:
    """A restorer that finds a text likely as far as it has the words of its source."""

    digest = "copying"

    def conditional(self, sources, targets):
        for source, target in zip(sources, targets, strict=True):
            words = set(source.split())
            yield log_probs(*(0.0 if word in words else -5.0 for word in target.split()), -1.0)


class Counting:
    """An encoder of word pairs."""

    digest = "counting"

    def encode(self, texts):
        rows = np.zeros((len(texts), 512), np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = text.split()
            for pair in pairwise(words):
                row[hash_of(pair)] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def hash_of(pair):
    return sum(map(ord, "".join(pair))) % 512


@pytest.fixture(scope="module")
def table():
    reviser = Reviser(Scripted())
    filler = CausalFiller(TableModel.trained(["total n i a " * 9], order=1), words=1)
    derivers = {
        "style": CopyStatistics(StylePerturbation(), MODEL),
        "spans": CopyStatistics(SpanPerturbation(filler, span=1), MODEL),
        "restored": RestoredStatistics(reviser, Copying()),
        "revised": EncodedRevisions(reviser, Counting()),
        "task": ConditionedStatistics(reviser.describing(), MODEL),
        "pair": PairedStatistics(MODEL),
    }
    names = ",".join([*ONE_PASS, *DETECTORS])
    return score_samples([*DRAWN, *TYPED], plan(requests(names), {"target": MODEL}, derivers=derivers))


@pytest.mark.parametrize("name", [*ONE_PASS, *DETECTORS])
def test_text_of_the_surrogate_scores_higher_than_other_text(name, table):
    values = table.values[name]
    assert not np.isnan(values).any(), table.reasons[name]
    assert values[: len(DRAWN)].mean() > values[len(DRAWN) :].mean()


def test_failures_of_a_deriver_are_counted_over_all_samples(table):
    assert all(words and count >= 0 for (_, words), count in table.counts.items())


def test_one_pass_detectors_share_one_pass():
    model = TableModel.trained([LINES], order=2)
    score_samples(TYPED, plan(requests(",".join([*ONE_PASS, "lrr"])), {"target": model}))
    assert sorted(model.scored) == sorted(sample.text for sample in TYPED)
