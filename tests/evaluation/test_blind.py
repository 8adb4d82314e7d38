"""Can the classes be told apart without the model?"""

import numpy as np
import pytest

from assay.errors import AssayError
from assay.evaluation import blind_baseline

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu"]


def functions(n, seed=0, names=NAMES):
    """Small made-up functions, all alike in shape and all drawn from the same words."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        a, b, c = rng.choice(names, 3)
        body = "\n".join(f"    {rng.choice(names)} = {a} + {rng.integers(100)}" for _ in range(rng.integers(2, 7)))
        texts.append(f"def {a}_{b}({c}):\n{body}\n    return {c}\n")
    return texts


def halves(n):
    return np.arange(n) % 2 == 0


def test_a_word_of_one_class_separates():
    positive = halves(80)
    texts = [t.replace("return", "yield") if p else t for t, p in zip(functions(80), positive, strict=True)]
    blind = blind_baseline(texts, positive, [None] * 80, resamples=100)
    assert blind.separates
    assert blind.kind == "bag of words"
    assert blind.ranking.auroc.value > 0.9


def test_length_alone_separates():
    """Words that no two texts share, 30 in one class and 40 in the other: only the shape can tell."""
    rng = np.random.default_rng(2)
    positive = halves(80)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    texts = [" ".join("".join(rng.choice(letters, 6)) for _ in range(30 + 10 * p)) for p in positive]
    blind = blind_baseline(texts, positive, [None] * 80, resamples=100)
    assert blind.separates
    assert blind.kind == "lexical shape"


def test_a_class_in_the_middle_of_the_other_separates():
    """Positives have 10 lines, negatives 4 or 16: no weight on the length tells them apart, a square does."""
    positive = halves(80)
    texts = ["\n".join(["x = 1"] * (10 if p else (4, 16)[i % 4 == 1])) for i, p in enumerate(positive)]
    blind = blind_baseline(texts, positive, [None] * 80, resamples=100)
    assert {r.name: r.auroc.value for r in blind.all}["lexical shape"] > 0.95


def test_a_random_split_rarely_separates():
    """8 random splits of the same kind of text: at most one alarm (a separating set would give 8)."""
    rng = np.random.default_rng(1)
    alarms = sum(
        blind_baseline(functions(50, seed), rng.permutation(halves(50)), [None] * 50, resamples=50).separates
        for seed in range(8)
    )
    assert alarms <= 1


def test_what_only_marks_a_group_does_not_separate():
    """Each group has its own word and one class: learnt by heart it would separate, held out it cannot."""
    groups = [i // 10 for i in range(120)]
    positive = np.array([g % 2 == 0 for g in groups])
    texts = [f"{t}# project{g}x{g * 7919}\n" for t, g in zip(functions(120), groups, strict=True)]
    assert not blind_baseline(texts, positive, groups, resamples=100).separates
    assert blind_baseline(texts, positive, [None] * 120, resamples=100).separates


def test_the_stronger_of_all_is_the_one_reported():
    positive = halves(40)
    blind = blind_baseline(functions(40), positive, [None] * 40, resamples=50)
    assert [r.name for r in blind.all] == ["bag of words", "lexical shape"]
    assert blind.ranking.auroc.value == max(r.auroc.value for r in blind.all)
    assert blind.kind == blind.ranking.name


def test_the_same_seed_gives_the_same_folds():
    texts, positive = functions(40), halves(40)
    first, second = (blind_baseline(texts, positive, [None] * 40, resamples=20, seed=3) for _ in range(2))
    assert [r.auroc for r in first.all] == [r.auroc for r in second.all]


def test_too_few_samples_give_a_reason():
    blind = blind_baseline(functions(19), halves(19), [None] * 19)
    assert (blind.ranking, blind.kind, blind.separates, blind.all) == (None, None, False, ())
    assert blind.reason == "9 negative samples in 9 groups; a blind baseline needs 10 in 2"


def test_a_class_from_one_group_gives_a_reason():
    positive = halves(40)
    blind = blind_baseline(functions(40), positive, ["one" if p else i for i, p in enumerate(positive)])
    assert blind.reason == "20 positive samples in 1 groups; a blind baseline needs 10 in 2"


def test_groups_that_cannot_be_parted_give_a_reason():
    """Two groups hold everything, one of them all positives but one: without it nothing is left to learn."""
    positive = np.arange(40) < 20
    groups = ["a"] * 21 + ["b"] * 18 + ["c"]
    groups[0] = "b"
    blind = blind_baseline(functions(40), positive, groups, resamples=20)
    assert (blind.ranking is None) == (blind.reason is not None)


def test_empty_texts_are_told_apart_by_nothing():
    blind = blind_baseline([""] * 40, halves(40), [None] * 40, resamples=20)
    assert not blind.separates
    assert blind.ranking.auroc.value == 0.5


def test_one_fold_is_refused():
    with pytest.raises(AssayError, match="1 folds"):
        blind_baseline(functions(20), halves(20), [None] * 20, folds=1)


def test_another_number_of_labels_is_refused():
    with pytest.raises(AssayError, match="one label a score"):
        blind_baseline(functions(20), halves(19), [None] * 20)
