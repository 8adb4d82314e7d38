"""Order of sets of different kinds at equal share."""

import json

import numpy as np
import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.experiments.bench import Bench
from assay_lab.reliability import kinds


def test_sets_of_a_kind_have_no_text_in_common_and_are_drawn_from_the_data(tmp_path):
    paths = {}
    for name in ("first", "second", "third"):
        paths[name] = tmp_path / f"{name}.jsonl"
        rows = [json.dumps({"text": f"{name} = {place}\n" * 300}) for place in range(8)]
        paths[name].write_text("\n".join(rows))
    chosen = kinds.kinds_of(Bench(tmp_path, (), (0,), data=paths, scale="smoke"))
    assert {kind.name for kind in chosen} == set(paths)
    for kind in chosen:
        first, second = ({sample.text for sample in half} for half in kind.halves)
        assert len(first | second) == 2 * kinds.SIZES["smoke"]
        assert max(map(len, first)) <= kinds.CHARACTERS


def test_a_score_that_measures_the_kind_of_text_agrees_between_halves_and_a_constant_score_has_no_order(
    monkeypatch, tmp_path
):
    texts = {name: [Sample(f"{name}{i}", f"{name} {i}") for i in range(6)] for name in "abcd"}
    monkeypatch.setattr(kinds, "by_project", lambda _: texts)
    monkeypatch.setattr(kinds, "drawable_functions", tuple)

    def values(_bench, sets, methods):
        by_kind = np.array([float(ord(samples[0].text[0])) for samples in sets])
        return [by_kind if method == "codec" else np.ones(len(sets)) for method in methods]

    monkeypatch.setattr(kinds, "method_values", values)
    table = kinds.kinds(Bench(tmp_path, (), (0,), scale="smoke")).table("kinds")
    rows = {row.name: row.values for row in table.rows}
    assert rows["codec"][0] == pytest.approx(1)
    assert rows["kds"][0] is None


def test_too_few_kinds_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(kinds, "drawable_functions", tuple)
    with pytest.raises(DataError, match="0 kinds with 6 texts"):
        kinds.kinds(Bench(tmp_path, (), (0,), scale="smoke"))
    with pytest.raises(DataError, match="expected one of smoke, full, paper"):
        kinds.kinds(Bench(tmp_path, (), (0,), scale="large"))
