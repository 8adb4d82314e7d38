"""The list of benchmarks."""

from assay.datasets import list_benchmarks


def test_every_benchmark_states_where_unseen_text_for_it_comes_from():
    advice = {info.name: info.unseen_advice for info in list_benchmarks()}
    assert advice["mbpp"] == "assay unseen build REPOSITORY… --like mbpp --data FILE --after DATE -o new.jsonl"
    assert "--unit file" in advice["defects4j"]
    assert "nonmembers" in advice["wikimia"]
    assert all(advice.values())
