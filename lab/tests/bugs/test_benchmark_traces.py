"""Benchmark samples in a corpus: planted exactly or renamed they are found as such, absent ones are not."""

import random

import pytest

from assay import load
from assay.code import variants
from assay.corpora import Document, Origin
from assay.provenance import CodeIndex
from assay.types import Sample
from assay_lab.bugs.benchmark_traces import occurs_in, trace_benchmark

FILLER = "def before(x):\n    return x\n\n\n"
AFTER = "\n\nclass After:\n    pass\n"


def planted(tmp_path, texts):
    index = CodeIndex.create(tmp_path / "index")
    index.add(
        Document(FILLER + text + AFTER, "python", "file", None, (Origin("corpus", f"{number}.py", licence="MIT"),))
        for number, text in enumerate(texts)
    )
    index.commit()
    return index


@pytest.mark.parametrize(
    ("name", "part", "file"),
    [("mbpp", "solution", "mbpp/mbpp.jsonl"), ("humaneval", "full", "humaneval/HumanEval.jsonl.gz")],
)
def test_planted_samples_are_found_as_what_they_are(tmp_path, shared_data, name, part, file):
    samples = [sample for sample in load(name, data=shared_data / file, part=part).samples if len(sample.text) > 250]
    random.Random(1).shuffle(samples)
    exact, rewritten, absent = samples[:20], samples[20:40], samples[40:80]
    renamings = {sample.id: variants(sample.text, 1).variants for sample in rewritten}
    rewritten = [sample for sample in rewritten if renamings[sample.id]]
    # some tasks of a benchmark are renamed twins of others: those are in the corpus once one of them is
    there = [sample.text for sample in (*exact, *rewritten)]
    absent = [
        sample
        for sample in absent
        if not any(occurs_in(sample.text, text, "tokens", "python", "python") for text in there)
    ]
    layout = [sample.text.replace("\n    ", "\n        ").replace("\n", "\r\n") + "# the end" for sample in exact]
    with planted(tmp_path, [*layout, *(renamings[sample.id][0].text for sample in rewritten)]) as index:
        found = trace_benchmark([*exact, *rewritten, *absent], index, benchmark=name)
    kinds = {sample.sample_id: sample.kind for sample in found.samples}
    assert {kinds[sample.id] for sample in exact} == {"type 1"}
    # a docstring that speaks of a renamed name is changed too, so the literal differs; tokens do not see it
    assert [kinds[sample.id] for sample in rewritten].count("type 2") == len(rewritten) >= 10
    assert {kinds[sample.id] for sample in absent} <= {"absent", "near-duplicate"}
    assert [kinds[sample.id] for sample in absent].count("absent") >= 0.9 * len(absent) >= 30
    assert found.rate("type 1").value == pytest.approx(20 / len(found.samples))


def test_statements_put_in_make_a_near_duplicate(tmp_path):
    lines = [f"    name_{at} = other_{at}[{at}] if first_{at} else second_{at}.call(name_{at - 1})" for at in range(20)]
    text = "def function(parameter):\n" + "\n".join(lines) + "\n"
    changed = "def function(parameter):\n" + "\n".join([*lines[:10], "    print(parameter, 'new')", *lines[10:]]) + "\n"
    with planted(tmp_path, [changed]) as index:
        (found,) = trace_benchmark([Sample("s", text, "python")], index, benchmark="b").samples
    assert found.kind == "near-duplicate"
    assert found.match.containment >= 0.8
    assert found.match.similarity < 1
    assert found.origins[0].licence == "MIT"


def test_a_document_that_repeats_the_words_of_a_task_with_other_code_is_a_kind_of_its_own(tmp_path):
    words = "Return the positions of the two numbers of a list that add up to a target where each input has exactly one"
    task = f"{words} solution and the same number may not be used twice."
    common = "    if len(values) < 2 or target is None or not all(isinstance(value, int) for value in values):\n"
    own = f"def solve(values, target):\n{common}        return None\n" + "".join(
        f"    first_{at} = [name_{at} for name_{at} in values if name_{at} * {at} + target > {at}]\n" for at in range(9)
    )
    other = f"def find(values, target):\n{common}        raise ValueError\n    seen = {{}}\n    yield from seen\n"
    sample = Sample("s", own, "python", metadata={"prompt": task})
    with planted(tmp_path, [f'"""{task}"""\n{other}']) as index:
        (found,) = trace_benchmark([sample], index, benchmark="b").samples
        (without,) = trace_benchmark([Sample("s", own, "python")], index, benchmark="b").samples
    assert (found.kind, without.kind) == ("same task, other code", "absent")
    assert found.origins[0].licence == "MIT"


def test_a_sample_that_is_too_short_is_not_called_absent(tmp_path):
    with planted(tmp_path, ["def f(x):\n    return [x for x in range(x) if x % 2 == 0 and x % 7]\n"]) as index:
        found = trace_benchmark([Sample("s", "x = 1", "python")], index, benchmark="b")
    assert found.counts["too short"] == 1
    assert found.judged == 0
    assert not found.rate("type 1").has_interval


def test_the_whole_sample_has_to_stand_there():
    text = "for a in b:\n    c(a)  # comment\n"
    assert occurs_in(text, "x = 1\nfor a in b :\n\tc( a )\ny = 2\n", "characters", "python", "python")
    assert occurs_in(text, "for x in y:\n    z(x)\n", "tokens", "python", "python")
    assert not occurs_in(text, "for x in y:\n    z(x)\n", "characters", "python", "python")
    assert not occurs_in(text, "for a in b:\n    d = 1\n    c(a)\n", "tokens", "python", "python")
    assert not occurs_in("# only a comment", "x = 1", "characters", "python", "python")
