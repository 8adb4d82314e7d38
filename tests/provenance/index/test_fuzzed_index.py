"""Files of an index after any damage: the answer is the same, or it is refused in one line."""

import json
import shutil
import zlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.corpora import Document, Origin
from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex, trace
from assay.retrieval.encoding import open_encoder
from assay.retrieval.postings.segment import TAIL
from support.snippets import GRAPH, MEDIAN

FILES = (
    "index.json",
    "catalogue.sqlite",
    "postings/manifest-0000000001.json",
    "postings/0000000001.segment",
    "vectors/manifest-0000000001.json",
    "vectors/0000000001.vectors",
)
CHANGES = st.one_of(
    st.tuples(st.just("flip"), st.binary(min_size=1, max_size=1).filter(any)),
    st.tuples(st.just("overwrite"), st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("overwrite"), st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])),
    st.tuples(st.just("truncate"), st.just(b"")),
    st.tuples(st.just("insert"), st.binary(min_size=1, max_size=40)),
)


@pytest.fixture(scope="module")
def encoder():
    return open_encoder("builtin:fragments")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, encoder):
    folder = tmp_path_factory.mktemp("whole") / "index"
    with CodeIndex.create(folder, encoder=encoder) as index:
        index.add(
            [
                Document(MEDIAN, "python", "function", "medianx", (Origin("c", "a.py", licence="MIT", author="Ada"),)),
                Document(GRAPH, "python", "function", "path", (Origin("c", "b.py", url="https://example.org"),)),
            ]
        )
        index.commit()
    return folder


def answers(folder, encoder):
    """Return everything that an index says about a text, and about itself; only `check` verifies the other counts."""
    with CodeIndex.open(folder, encoder=encoder) as index:
        traces = [trace(MEDIAN, index, language="python", method=method) for method in ("union", "hst")]
        described = replace(index.info(), bytes={}, folder="", origins=0, seen=0, skipped={})
        return traces, described, index.languages(), index.licences(), index.documents([1, 2]), index.seen("c")


@pytest.fixture(scope="module")
def unharmed(whole, encoder):
    return answers(whole, encoder)


@given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), CHANGES)
@example("postings/manifest-0000000001.json", 0.5, ("overwrite", b"\xff"))  # bytes that are no UTF-8
@example("catalogue.sqlite", 0.9, ("overwrite", bytes(range(40))))  # a compressed text
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_damaged_index_gives_the_same_answer_or_is_refused_in_one_line(
    whole, encoder, unharmed, tmp_path, name, place, change
):
    content = bytearray((whole / name).read_bytes())
    kind, data = change
    at = int(place * len(content))
    if kind == "flip":
        data = bytes([content[at] ^ data[0]])
    content[at : {"truncate": len(content), "insert": at}.get(kind, at + len(data))] = data
    folder = tmp_path / "index"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    (folder / name).write_bytes(content)
    try:
        assert answers(folder, encoder) == unharmed
    except CorpusIndexError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017  both outcomes are right


@pytest.mark.slow
def test_no_byte_of_a_row_of_the_catalogue_can_change_an_answer(whole, encoder, unharmed, tmp_path):
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    catalogue = (whole / "catalogue.sqlite").read_bytes()
    rows = [catalogue.rindex(text) for text in (b"MIT", b"Ada", b"a.py", b"https://example.org", b"medianx")]
    refused = 0
    for at in (start + offset for start in rows for offset in range(-6, 12)):
        altered = bytearray(catalogue)
        altered[at] ^= 1
        (folder / "catalogue.sqlite").write_bytes(altered)
        try:
            assert answers(folder, encoder) == unharmed
        except CorpusIndexError:
            refused += 1
    assert refused > 60


@pytest.mark.parametrize("content", [b'"', b"{", b"[1, 2", b"\xff"])
@pytest.mark.parametrize("name", [name for name in FILES if "manifest" in name])
def test_a_manifest_with_a_forged_checksum_is_refused(whole, encoder, tmp_path, name, content):
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    (folder / name).write_bytes(f"{zlib.crc32(content):08x}\n".encode() + content)
    with pytest.raises(CorpusIndexError, match="damaged"), CodeIndex.open(folder, encoder=encoder):
        pass


def forgeries(content):
    """Yield a JSON value without one of its fields, and with a wrong value for it, at every depth."""
    if isinstance(content, list):
        yield from ([part, *content[1:]] for part in (*forgeries(content[0]), None)) if content else ()
    elif isinstance(content, dict):
        for key, value in content.items():
            yield {name: other for name, other in content.items() if name != key}
            yield from (content | {key: wrong} for wrong in (None, -1, "x", [], {}, *forgeries(value)))


@pytest.mark.parametrize("name", [name for name in FILES if "manifest" in name])
def test_a_manifest_that_lacks_a_field_but_has_the_right_checksum_is_refused(whole, encoder, unharmed, tmp_path, name):
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    manifest = json.loads((whole / name).read_bytes().partition(b"\n")[2])
    for forged in forgeries(manifest):
        content = json.dumps(forged).encode()
        (folder / name).write_bytes(f"{zlib.crc32(content):08x}\n".encode() + content)
        try:
            assert answers(folder, encoder) == unharmed
        except CorpusIndexError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017  both outcomes are right


def test_a_segment_with_forged_contents_and_right_checksums_is_refused(whole, encoder, unharmed, tmp_path):
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    name = "postings/0000000001.segment"
    data = (whole / name).read_bytes()
    length, _, version, magic = TAIL.unpack(data[-TAIL.size :])
    sections = data[: -TAIL.size - length]
    for forged in forgeries(json.loads(data[-TAIL.size - length : -TAIL.size])):
        content = json.dumps(forged).encode()
        tail = TAIL.pack(len(content), zlib.crc32(content), version, magic)
        (folder / name).write_bytes(sections + content + tail)
        try:
            assert answers(folder, encoder) == unharmed
        except CorpusIndexError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017  both outcomes are right
