"""The draw of tasks for the comparison of kinds of variants, with rewritings that the test makes."""

from assay.scoring import Rewritten
from assay.types import Sample
from assay_lab.variants import variant_kinds
from assay_lab.variants.variant_kinds import Size, chosen

TASKS = [Sample(str(number), f"x = {number}\n") for number in range(130)]


def engine(_changes):
    def rewritings(samples, n):
        # every third task has too few variants
        return [Rewritten((sample.text,) * (n if int(sample.id) % 3 else n - 1), None) for sample in samples]

    return rewritings


def test_every_task_is_drawn_once_until_none_is_left(monkeypatch):
    monkeypatch.setattr(variant_kinds, "tasks", lambda _: TASKS)
    monkeypatch.setattr(variant_kinds, "Deterministic", engine)
    samples, made = chosen(Size(tasks=100, variants=2), {})
    assert sorted(int(sample.id) for sample in samples) == [number for number in range(130) if number % 3]
    assert all(rewriter.known.keys() == {sample.id for sample in samples} for rewriter in made.values())
