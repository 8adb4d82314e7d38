"""Rows that an experiment keeps while it runs."""

from assay_lab.result_rows import KeptRows


def test_a_run_that_was_ended_measures_only_what_is_missing(tmp_path):
    measured = []

    def measure(key):
        measured.append(key)
        return {"key": key}

    path = tmp_path / "work" / "rows.jsonl"
    for key in ("a", "b"):
        assert KeptRows(path).row(key, lambda key=key: measure(key)) == {"key": key}
    # a kill cuts the last line short
    path.write_text(path.read_text()[:-4])
    kept = KeptRows(path)
    for key in ("a", "b", "b"):
        assert kept.row(key, lambda key=key: measure(key)) == {"key": key}
    again = KeptRows(path)
    assert again.row("a", dict) == {"key": "a"}
    assert again.row("b", dict) == {"key": "b"}
    assert measured == ["a", "b", "b"]
