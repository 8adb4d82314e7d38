"""The language that a text without one is traced in."""

import pytest

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex, trace
from assay.provenance.search import tracing as search_tracing
from assay.provenance.search.tracing import find_language
from support.snippets import GRAPH, MEDIAN

JAVA = """
int largest(int[] values) { // of all
    int best = values[0];
    for (int at = 1; at < values.length; at++) {
        if (values[at] > best) { best = values[at]; }
    }
    return best;
}
"""


@pytest.fixture(scope="module")
def mixed_index(tmp_path_factory):
    with CodeIndex.create(tmp_path_factory.mktemp("mixed") / "index") as index:
        for text, language in ((MEDIAN, "python"), (GRAPH, "python"), (JAVA, "java")):
            index.add([Document(text, language, "file", None, (Origin("corpus", f"{language}.txt"),))])
        index.commit()
        yield index


@pytest.mark.parametrize(("text", "language"), [(GRAPH.replace("queue", "heap"), "python"), (JAVA, "java")])
def test_a_text_is_read_in_the_language_in_which_most_of_it_is_found(mixed_index, text, language):
    assert find_language(text, mixed_index) == language


def test_only_languages_that_the_index_holds_are_tried_where_the_text_shows_none(mixed_index, monkeypatch):
    tried = []

    def tracing(*arguments, language, **options):
        tried.append(language)
        return trace(*arguments, language=language, **options)

    monkeypatch.setattr(search_tracing, "trace", tracing)
    assert find_language("kettle.boil(water, 3, 4)\n", mixed_index) is None
    assert sorted(tried, key=str) == [None, "java", "python"]


def test_a_text_that_the_index_does_not_contain_keeps_the_language_that_it_shows(mixed_index):
    assert find_language("func add(a int, b int) (int, error) {\n\treturn a + b, nil\n}\n", mixed_index) == "go"


def test_a_text_that_is_found_nowhere_is_read_by_neutral_rules(mixed_index):
    assert find_language("kettle boils water; " * 20, mixed_index) is None
