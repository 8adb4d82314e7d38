"""A prompt's seed is its own."""

from assay.models.generators import SEEDS, prompt_seeds


def test_a_seed_depends_on_the_prompt_its_number_and_the_run_alone():
    first = list(prompt_seeds(3, ["a", "b", "a"]))
    assert len(set(first)) == 3
    assert list(prompt_seeds(3, ["b", "a", "a"])) == [first[1], first[0], first[2]]
    assert not set(first) & set(prompt_seeds(4, ["a", "b", "a"]))
    assert all(0 <= seed < SEEDS for seed in first)
