"""Planting shares texts out by group, and nothing that siblings share passes for membership."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.datasets import Dataset
from assay.errors import DataError
from assay.types import MEMBER, Sample
from assay_lab.testbed.configuration import PlantSettings
from assay_lab.testbed.plant import PARTS, plant, read_planted, write_planted

WANTED = PlantSettings(
    members=6, calibration_members=4, calibration_nonmembers=20, unseen=3, per_group=3, near_duplicate=0.5
)


def text_of(group, number):
    words = " ".join(f"name_{group}_{number}_{i} = {i} + {group}" for i in range(6))
    return f"def f_{group}_{number}():\n    {words}\n"


def corpus(groups=30, each=4):
    samples = [Sample(f"{g}/{i}", text_of(g, i), "python", group=f"g{g}") for g in range(groups) for i in range(each)]
    return Dataset.of("made up", samples, source="a test")


def test_parts_have_the_sizes_that_were_asked_for():
    planted = plant(corpus(), WANTED, seed=0)
    assert [len(planted.part(part)) for part in PARTS] == [6, 6, 4, 20, 3]


@pytest.mark.slow
@given(st.integers(0, 1000))
def test_no_group_lies_in_two_parts(seed):
    planted = plant(corpus(), WANTED, seed=seed)
    parts = {}
    for sample in planted.samples:
        parts.setdefault(sample.group, set()).add(sample.metadata["part"])
    assert all(len(found) == 1 for found in parts.values())


def test_labels_follow_from_parts():
    planted = plant(corpus(), WANTED, seed=0)
    assert {sample.metadata["part"] for sample in planted.trained} == {"member", "calibration-member"}
    assert all(sample.label == MEMBER for sample in planted.trained)


def test_a_group_gives_no_more_than_its_share():
    planted = plant(corpus(), WANTED, seed=0)
    groups = [sample.group for sample in planted.samples]
    assert max(groups.count(group) for group in groups) <= 3


def test_another_seed_is_another_split_and_the_same_seed_the_same():
    first, again, other = (plant(corpus(), WANTED, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert {s.id for s in first.part("member")} != {s.id for s in other.part("member")}


def test_the_order_of_the_source_does_not_matter():
    source = corpus()
    turned = Dataset.of("made up", reversed(source.samples), source="a test")
    assert plant(source, WANTED, seed=0).samples == plant(turned, WANTED, seed=0).samples


def test_near_duplicates_are_dropped_and_counted():
    source = corpus()
    copies = [replace(s, id=f"copy of {s.id}", text=s.text + "# copied\n", group="copies") for s in source.samples[:9]]
    planted = plant(Dataset.of("made up", [*source.samples, *copies], source="a test"), WANTED, seed=0)
    assert planted.left_out["near-duplicate of another"] == 9


def test_lengths_outside_the_window_are_dropped():
    with pytest.raises(DataError, match="39 texts are requested"):
        plant(corpus(), replace(WANTED, characters=(1, 10)), seed=0)


def test_the_filter_drops_what_is_easiest_and_what_it_cannot_judge():
    source = corpus(groups=40)
    verdicts = [True if i % 4 == 0 else None if i % 4 == 1 else False for i in range(len(source.samples))]
    planted = plant(source, WANTED, seed=0, easiest=verdicts)
    assert not [s for s in planted.samples if s.id.endswith(("/0", "/1"))]
    assert planted.left_out["filter: the base model finds it easier than all its variants"] == 40
    assert planted.left_out["filter: too few variants"] == 40


def test_too_few_groups_are_told_with_what_is_there():
    with pytest.raises(DataError, match="12 are there, from 4 groups"):
        plant(corpus(groups=4), WANTED, seed=0)


def test_samples_without_a_group_are_groups_of_their_own():
    source = corpus(groups=60, each=1)
    alone = Dataset.of("made up", [replace(s, group=None) for s in source.samples], source="a test")
    assert len(plant(alone, WANTED, seed=0).samples) == 39


def test_what_is_written_is_read_again(tmp_path):
    planted = plant(corpus(), WANTED, seed=0)
    write_planted(tmp_path, planted)
    assert read_planted(tmp_path) == planted


def test_the_list_of_members_holds_digests_and_no_text(tmp_path):
    planted = plant(corpus(), WANTED, seed=0)
    write_planted(tmp_path, planted)
    listed = (tmp_path / "members.jsonl").read_text()
    assert listed.count("sha256") == len(planted.samples)
    assert "def f" not in listed


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(DataError, match="assay lab testbed plant"):
        read_planted(tmp_path)
