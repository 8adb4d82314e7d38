"""A function comes before its file where both have equal evidence."""

import pytest

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex, trace
from assay.provenance.index.searchable import StoredDocument
from assay.provenance.search.candidates import Similarity, functions_before_files


def match(kind, number, *, path="a.py", channel="tokens", containment=0.5, confidence=0.9, at_limit=False):
    similarity = Similarity(channel, 0.1, containment, 0.5, confidence, at_limit)
    name = "f" if kind == "function" else None
    return similarity, StoredDocument(f"{number}", "python", kind, name, (Origin("corpus", path),), number)


def order(*matches):
    return [document.id for _, document in functions_before_files(matches)]


def test_a_function_with_nearly_as_many_fingerprints_comes_before_its_file():
    assert order(match("file", 1), match("function", 2, path="b.py"), match("function", 3, containment=0.4)) == [
        3,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, [1, 2]),
        ({"confidence": 0.95}, [2, 1]),
        ({"confidence": 0.95, "channel": "vector", "containment": 0.0}, [2, 1]),
        ({"confidence": None}, [1, 2]),
        ({"confidence": 0.95, "path": "b.py"}, [1, 2]),
    ],
)
def test_of_fewer_fingerprints_the_confidence_decides(change, expected):
    function = match("function", 2, **{"containment": 0.3, "confidence": 0.8} | change)
    assert order(match("file", 1), function) == expected


def test_at_the_limit_of_the_calibration_the_confidence_does_not_decide():
    file = match("file", 1, containment=1.0, confidence=0.99, at_limit=True)
    assert order(file, match("function", 2, containment=0.6, confidence=0.99, at_limit=True)) == [1, 2]


def test_the_order_of_cosines_stays():
    file = match("file", 1, channel="vector", containment=0.0, confidence=0.9)
    assert order(file, match("function", 2, channel="vector", containment=0.0, confidence=0.9)) == [1, 2]


def test_a_trace_names_the_function_and_then_its_file(tmp_path):
    lines = [f"    total_{at} = weigh(items[{at}], factor_{at}) + {at}" for at in range(12)]
    function = "def share(items):\n" + "\n".join(lines) + "\n"
    # the query has one line more of the file than of the function
    rest = "LIMITS = {'smallest': 17, 'largest': 4711, 'usual': 230}\n"
    with CodeIndex.create(tmp_path / "index") as index:
        place = (Origin("corpus", "shop.py"),)
        index.add(
            [
                Document(rest + function, "python", "file", None, place),
                Document(function, "python", "function", "share", place),
            ]
        )
        index.commit()
        result = trace(rest + function, index, language="python")
        assert [found.name for found in result.matches] == ["share", None]
        assert result.matches[0].containment < result.matches[1].containment
        assert [found.name for found in trace(function, index, language="python", top=1).matches] == ["share"]
