"""The data of the page's script are complete, compact, harmless."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from assay.leakage.describing import sample_list
from assay.leakage.results import Audit, SampleTokens
from assay.reports.samples import payload, script_safe
from assay.types import Sample


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def test_every_sample_is_there_with_every_score(demo: Audit):
    data = payload(sample_list(demo))
    assert data["ids"] == [s.id for s in demo.samples]
    columns = {column["title"]: column for column in data["columns"]}
    assert data["columns"][0]["title"] == demo.primary
    for name, values in demo.values.items():
        np.testing.assert_allclose(unpacked(columns[name]["values"], "<f4"), values, rtol=1e-6)


def test_the_unscorable_bring_their_reason(demo: Audit):
    data = payload(sample_list(demo))
    (column,) = [column for column in data["columns"] if column["title"] == "lrr"]
    reasons = {row: column["reason_texts"][number] for row, number in column["reasons"]}
    assert reasons == dict.fromkeys((3, 150, 260), "every token is the model's first choice")


def test_tokens_cover_the_text_and_keep_their_statistics(demo: Audit):
    data = payload(sample_list(demo))
    for tokens in demo.tokens[:20]:
        row = data["ids"].index(tokens.sample_id)
        packed = {key: unpacked(text, "<u2").astype(int) for key, text in data["tokens"][row].items()}
        starts = np.cumsum(packed["gaps"] + packed["lengths"]) - packed["lengths"]
        np.testing.assert_array_equal(starts, tokens.offsets[:, 0])
        np.testing.assert_array_equal(starts + packed["lengths"], tokens.offsets[:, 1])
        np.testing.assert_allclose(-packed["nats"] / 1000, tokens.log_probs, atol=6e-4)
        np.testing.assert_allclose(np.exp(-packed["mass"] / 1000), tokens.tail_mass, rtol=1e-3)
        np.testing.assert_array_equal(packed["ranks"], np.minimum(tokens.ranks, 65535))


def test_tokens_that_share_a_letter_take_what_is_left_of_it(single: Audit):
    tokens = SampleTokens(
        "a",
        np.array([-1, -np.inf, -3], np.float32),
        np.array([1, 100_000, 2], np.int32),
        np.array([0.5, 0, 0.1], np.float32),
        np.array([[1, 2], [1, 2], [2, 4]], np.int32),
    )
    data = payload(sample_list(replace(single, samples=(Sample("a", "xé12"),), tokens=(tokens,))))
    packed = {key: unpacked(text, "<u2").tolist() for key, text in data["tokens"][0].items()}
    assert packed["gaps"] == [1, 0, 0]
    assert packed["lengths"] == [1, 0, 2]
    assert packed["ranks"] == [1, 65535, 2]
    assert packed["nats"] == [1000, 65535, 3000]


def test_a_budget_takes_samples_at_even_distances(demo: Audit):
    data = payload(sample_list(demo), budget=200_000)
    rows = sorted(data["tokens"])
    assert 0 < len(rows) < len(demo.samples)
    assert np.diff(rows).max() < 3 * len(demo.samples) / len(rows)
    size = len(json.dumps(data["tokens"])) + len(json.dumps(data["texts"]))
    assert size < 260_000


def test_texts_without_tokens_fill_the_room_that_is_left(demo: Audit):
    data = payload(sample_list(replace(demo, tokens=demo.tokens[:2])))
    assert len(data["tokens"]) == 2
    assert len(data["texts"]) == len(demo.samples)


def test_long_metadata_stays_in_the_run_folder(demo: Audit):
    data = payload(sample_list(demo))
    assert set(data["details"][0]) == {"module"}


def test_an_unknown_column_is_left_out(unlabelled: Audit):
    data = payload(sample_list(unlabelled))
    assert data["labels"] is None
    titles = [column["title"] for column in data["columns"]]
    assert "Group" in titles
    assert not {"Label", "Times seen", "p-value"} & set(titles)


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028", "&amp;", "\ud800"])
def test_no_text_can_leave_the_script_element(text: str):
    safe = script_safe({"text": text})
    assert not set("<>&\u2028") & set(safe)
    assert json.loads(safe) == {"text": text}
