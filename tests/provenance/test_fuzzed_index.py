"""Files of an index after any damage: it answers, or refuses in one line. It never crashes and never hangs."""

import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.errors import CorpusIndexError
from assay.provenance import CodeIndex, Document, Origin, trace
from assay.retrieval.encoding import open_encoder
from support.snippets import GRAPH, MEDIAN

FILES = (
    "index.json",
    "catalogue.sqlite",
    "postings/manifest-0000000001.json",
    "postings/0000000001.segment",
    "vectors/manifest-0000000001.json",
    "vectors/0000000001.usearch",
)
CHANGES = st.one_of(
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
                Document(MEDIAN, "python", "function", "median", (Origin("c", "a.py", licence="MIT", author="Ada"),)),
                Document(GRAPH, "python", "function", "path", (Origin("c", "b.py", url="https://example.org"),)),
            ]
        )
        index.commit()
    return folder


@given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), CHANGES)
@example("postings/manifest-0000000001.json", 0.5, ("overwrite", b"\xff"))  # bytes that are no UTF-8
@example("catalogue.sqlite", 0.9, ("overwrite", bytes(range(40))))  # a compressed text
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_damaged_index_answers_or_is_refused_in_one_line(whole, encoder, tmp_path, name, place, change):
    folder = tmp_path / "index"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    content = bytearray((folder / name).read_bytes())
    kind, data = change
    at = int(place * len(content))
    content[at : {"overwrite": at + len(data), "truncate": len(content), "insert": at}[kind]] = data
    (folder / name).write_bytes(content)
    try:
        with CodeIndex.open(folder, encoder=encoder) as index:
            for method in ("union", "hst"):
                assert len(trace(MEDIAN, index, language="python", method=method).matches) <= 10
            assert index.info().documents >= 0
            assert len(list(index.documents([1, 2]))) <= 2
    except CorpusIndexError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017  both outcomes are right


@pytest.mark.parametrize("content", [b'"', b"{", b"[1, 2", b"\xff"])
@pytest.mark.parametrize("name", [name for name in FILES if "manifest" in name])
def test_a_manifest_with_a_forged_checksum_is_refused(whole, encoder, tmp_path, name, content):
    import zlib

    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    (folder / name).write_bytes(f"{zlib.crc32(content):08x}\n".encode() + content)
    with pytest.raises(CorpusIndexError, match="damaged"), CodeIndex.open(folder, encoder=encoder):
        pass
