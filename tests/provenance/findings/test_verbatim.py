"""Passages that occur word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpora import Document, Origin
from assay.errors import AssayError
from assay.provenance import CodeIndex, verbatim_passages
from assay.provenance.findings.verbatim import common_runs
from support.snippets import SHARE_OF as COPIED

OTHER = """def fence(points, width):
    posts, gaps = [], 0
    while points:
        first = points.pop()
        posts.append((first - width) // 2 + len(posts))
    return posts, gaps
"""


@pytest.fixture
def index(tmp_path):
    with CodeIndex.create(tmp_path / "corpus.index") as index:
        index.add(
            [
                Document(COPIED, "python", "function", "share_of", (Origin("shop", "share.py", first_line=11),)),
                Document(f"import os\n\n\n{OTHER}", "python", "file", None, (Origin("farm", "fence.py"),)),
            ]
        )
        index.commit()
        yield index


def test_the_longest_passage_comes_first_with_lines_on_both_sides(index):
    part = "\n".join(OTHER.splitlines()[2:5])
    first, second = verbatim_passages(f"x = 1\n{COPIED}\nprint()\n{part}\n", index, language="python")
    assert first.text == COPIED.strip()
    assert (str(first.lines), [str(lines) for lines in first.places[0].lines]) == ("2-8", ["11-17"])
    assert (second.text, second.places[0].origin.path) == (part.strip(), "fence.py")
    assert [str(lines) for lines in second.places[0].lines] == ["6-8"]


def test_another_word_divides_a_passage(index):
    changed = COPIED.replace("price <= 0", "cost <= 0")
    passages = verbatim_passages(changed, index, language="python")
    assert all("cost" not in passage.text for passage in passages)
    assert sum(passage.words for passage in passages) > 40


def test_layout_does_not_count_and_names_do(index):
    assert verbatim_passages(COPIED.replace("    ", "\t"), index, language="python")[0].words > 60
    assert verbatim_passages("alpha beta gamma\n" * 20, index, language="python") == ()


def test_bounds_are_checked(index):
    with pytest.raises(AssayError, match="at least 1"):
        verbatim_passages(COPIED, index, top=0)


WORDS = st.lists(st.sampled_from("abc"), max_size=30)


@given(query=WORDS, document=WORDS, least=st.integers(1, 5))
def test_runs_are_equal_maximal_and_miss_no_shared_run(query, document, least):
    runs = common_runs(query, document, least)
    for start, stop, at in runs:
        assert query[start:stop] == document[at : at + stop - start]
        assert stop - start >= least
    text = "".join(document)
    for start in range(len(query) - least + 1):
        if "".join(query[start : start + least]) in text:
            assert any(first <= start and start + least <= last for first, last, _ in runs)
