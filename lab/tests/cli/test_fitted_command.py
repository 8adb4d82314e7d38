"""`assay lab fitted` as a person meets it."""

import json
from dataclasses import replace

import pytest

from assay_lab.methods import veil_probe


@pytest.fixture
def lessons(tmp_path):
    """Texts of known membership, and others to be judged; two in a group."""

    def written(name, first, count):
        rows = [
            {
                "text": f"def f{i}(a{i}, b{i}):\n    sum{i} = a{i} * {i}\n    return sum{i} + b{i} - {i}\n",
                "label": i % 2,
                "group": f"g{i // 2}",
            }
            for i in range(first, first + count)
        ]
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return written


@pytest.fixture
def small_mapping(monkeypatch):
    """VeilProbe with less to compute than as published: a narrow mapping."""
    narrow = {"layers": 2, "width": 64, "heads": 2, "feed_forward": 128}
    new = veil_probe.open_mapping
    monkeypatch.setattr(veil_probe, "open_mapping", lambda settings, seed: new(replace(settings, **narrow), seed=seed))


@pytest.mark.slow
@pytest.mark.usefixtures("small_mapping")
def test_detectors_learn_from_labelled_texts_and_score_others(assay, lessons):
    known, judged = lessons("known.jsonl", 0, 8), lessons("judged.jsonl", 20, 4)
    done = assay("lab", "fitted", "builtin:small", judged, "--labelled", known)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert len(rows) == 4
    assert all({*row["scores"], *row["unscorable"]} == {"dpdllm", "veil_probe"} for row in rows)


@pytest.mark.parametrize(
    ("labelled", "words"),
    [
        ("judged.jsonl", "share a group with the labelled texts"),
        ("texts.jsonl", "no label column 'label'"),
    ],
)
def test_labelled_texts_that_will_not_do_are_refused(assay, lessons, tmp_path, labelled, words):
    (tmp_path / "texts.jsonl").write_text('{"text": "x = 1"}\n')
    done = assay("lab", "fitted", "builtin:small", lessons("judged.jsonl", 0, 8), "--labelled", labelled)
    assert done.code == 2
    assert words in done.err.splitlines()[-1], done.err
