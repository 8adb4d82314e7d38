"""The training manifest on disk."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError
from assay.ground_truth import Manifest, ManifestEntry, read_manifest
from assay_lab.builtin.shipped_files import manifest_digest, write_manifest

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
COUNTS = st.integers(0, 10**6)
ENTRIES = st.builds(
    ManifestEntry,
    kind=st.sampled_from(["package file", "library function"]),
    package=WORDS,
    version=WORDS,
    path=WORDS,
    name=WORDS,
    line=COUNTS,
    sha256=WORDS,
    licence=WORDS,
    dose=COUNTS,
    characters=COUNTS,
    tokens=COUNTS,
)
MANIFESTS = st.builds(Manifest, st.dictionaries(WORDS, WORDS | COUNTS), st.lists(ENTRIES, max_size=4).map(tuple))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("manifests")


@pytest.mark.slow
@settings(deadline=None)
@given(MANIFESTS)
def test_what_is_written_is_read(folder, manifest):
    digest = write_manifest(folder / "round", manifest)
    assert read_manifest(folder / "round") == manifest
    assert manifest_digest(folder / "round") == digest


@settings(deadline=None)
@given(MANIFESTS)
def test_equal_manifests_are_equal_bytes(folder, manifest):
    write_manifest(folder / "one", manifest)
    write_manifest(folder / "two", Manifest(dict(manifest.header), tuple(manifest.entries)))
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        lambda data: flipped(data, len(data) // 2),
        lambda data: flipped(data, 10),
        lambda _: b"",
        lambda _: b"plain text",
        lambda _: gzip.compress(b""),
        lambda _: gzip.compress(b"[]\n"),
        lambda _: gzip.compress(b'{"kind": "header"}\n{"kind": "package file"}\n'),
        lambda _: gzip.compress(b'{"kind": "header"}\n\xff\n'),
        lambda data: gzip.compress(gzip.decompress(data)[:-30]),
    ],
    ids=[
        "cut",
        "flipped",
        "flipped-first-block",
        "empty",
        "no-gzip",
        "no-line",
        "no-header",
        "no-entry",
        "no-utf-8",
        "cut-inside",
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path, damage):
    path = tmp_path / "manifest.jsonl.gz"
    entry = ManifestEntry(
        kind="package file",
        package="p",
        version="1",
        path="p/a.py",
        name="",
        line=1,
        sha256="0" * 64,
        licence="MIT",
        dose=1,
        characters=10,
        tokens=4,
    )
    write_manifest(path, Manifest({"kind": "header"}, (entry,) * 3))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="expected a training manifest"):
        read_manifest(path)


def test_a_missing_manifest_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected a training manifest"):
        read_manifest(tmp_path / "nowhere")
    with pytest.raises(DataError, match="expected a training manifest"):
        manifest_digest(tmp_path / "nowhere")
