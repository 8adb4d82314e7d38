"""A small index that services are tried on."""

import pytest

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex
from support.snippets import GRAPH, MEDIAN


def document(text, path, name, first_line, licence, **where):
    origin = Origin("corpus", path, licence=licence, first_line=first_line, **where)
    return Document(text, "python", "function", name, (origin,))


@pytest.fixture(scope="session")
def small_index(tmp_path_factory):
    """An index of two functions."""
    folder = tmp_path_factory.mktemp("service") / "index"
    with CodeIndex.create(folder) as index:
        index.add(
            [
                document(
                    MEDIAN, "stats/<b>middle.py", "median_of_values", 12, "MIT", author="A. Author",
                    repository="example/stats", url="https://example.org/stats/middle.py",
                ),
                document(GRAPH, "graph.py", "shortest_path", 40, "GPL-3.0-only", url="javascript:alert(1)"),
            ]
        )  # fmt: skip
        index.commit()
    return folder
