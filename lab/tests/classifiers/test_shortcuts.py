"""The audit shows which superficial difference separates two classes."""

from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.shortcuts import REMOVALS, audit_shortcuts, without_comments, without_headers, without_names
from support.authorship_texts import labelled


def tabbed(n=60):
    """Return the same kind of code from both origins; people indent by tabs."""
    base = labelled(n, 1)
    texts = [s.text for s, human in zip(base.samples, base.human, strict=True) if not human]
    samples = [
        Sample(f"h{i}", text.replace("    ", "\t"), "python", "human", f"g{i}")
        for i, text in enumerate(texts[: n // 2])
    ]
    samples += [Sample(f"m{i}", text, "python", "model", f"m{i}") for i, text in enumerate(texts[n // 2 :])]
    return LabelledCode.of(samples, lambda _: "tabs")


@pytest.mark.slow
def test_tabs_are_found_to_be_the_shortcut():
    audit = audit_shortcuts(tabbed())
    assert audit.steps["nothing"].auroc.value > 0.95
    assert audit.steps["tabs"].auroc.value < 0.75
    assert audit.alone["tabs"] == pytest.approx(audit.steps["tabs"].auroc.value)


@pytest.mark.slow
def test_steps_come_in_the_order_of_removal():
    assert list(audit_shortcuts(labelled(20, 1)).steps) == ["nothing", *REMOVALS, "length"]


@pytest.mark.slow
def test_the_transfer_matrix_has_every_ordered_pair():
    audit = audit_shortcuts(labelled(20, 3))
    assert len(audit.transfer) == 6
    assert "fitted on" in [column.title for table in audit.describe().tables for column in table.columns]


def test_one_class_only_is_refused():
    data = labelled(20, 1)
    with pytest.raises(DataError, match="expected some of each"):
        audit_shortcuts(data.take(np.flatnonzero(data.human)))


def test_generated_texts_of_one_group_are_refused():
    data = labelled(20, 1)
    joined = replace(data, groups=tuple("all" if not h else g for g, h in zip(data.groups, data.human, strict=True)))
    with pytest.raises(DataError, match="in 20 groups and those by generators in 1, expected more of each"):
        audit_shortcuts(joined)


def test_removals():
    assert without_comments("x = '# no'  # yes\n# line\ny = 1", "python") == "x = '# no'\ny = 1"
    assert without_headers("import os\nfrom a import b\nx = 1\n", "python") == "x = 1\n"
    assert without_names("total = f(1)", "python") == "name = name ( number )"
