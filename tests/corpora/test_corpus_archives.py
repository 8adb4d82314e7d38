"""Archives give their plain members, and are refused where they are no plausible package."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.corpora.archives import Archive, ArchiveLimits, inside, is_archive
from assay.corpora.entry import Entry, Skipped
from assay.errors import DataError

FILES = {"p-1/a.py": "a = 1\n", "p-1/d/b.c": "int b;\n", "p-1/PKG-INFO": "Name: p\nLicense: MIT\nAuthor: Ann\n"}


def tar_of(files, **special):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
        for name, kind in special.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    return data.getvalue()


def zip_of(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


PACKED = {
    "p.zip": zip_of,
    "p.whl": zip_of,
    "p.tar": tar_of,
    "p.tar.gz": lambda files: gzip.compress(tar_of(files)),
    "p.tar.bz2": lambda files: bz2.compress(tar_of(files)),
    "p.tar.xz": lambda files: lzma.compress(tar_of(files)),
    "p.tar.zst": lambda files: pa.compress(tar_of(files), "zstd", asbytes=True),
}


def read(path, **options):
    found = list(Archive(path, "a", **{"largest": 10**6} | options).files())
    return (
        {entry.path: entry for entry in found if isinstance(entry, Entry)},
        {entry.path: entry.reason for entry in found if isinstance(entry, Skipped)},
    )


@pytest.mark.parametrize("name", PACKED)
def test_every_form_gives_the_same_files_and_facts(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PACKED[name](FILES))
    assert is_archive(path)
    entries, skipped = read(path)
    assert {key: entry.content.read(100).decode() for key, entry in entries.items()} == FILES
    assert skipped == {}
    assert {(entry.facts.nearest, entry.facts.author) for entry in entries.values()} == {("MIT", "Ann")}


def test_a_member_above_the_limit_is_told_by_its_size_and_not_read(tmp_path):
    for name in ("p.zip", "p.tar.gz"):
        (tmp_path / name).write_bytes(PACKED[name]({"a.py": "x" * 500}))
        entries, _ = read(tmp_path / name, largest=100)
        assert entries["a.py"].size == 500
        assert entries["a.py"].content.read(1000) == b""


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/./b//c.py", "a/b/c.py"),
        ("a\\b.py", "a/b.py"),
        ("../a.py", None),
        ("a/../../b.py", None),
        ("/etc/passwd", None),
        ("C:\\a.py", None),
        ("\\a.py", None),
        ("a\0b", None),
        ("", None),
    ],
)
def test_a_path_stays_inside(name, path):
    assert inside(name) == path


def test_traversal_links_and_devices_are_counted_and_never_followed(tmp_path):
    (tmp_path / "t.tar").write_bytes(
        tar_of(
            {"../out.py": "1", "/abs.py": "1", "in.py": "1"},
            sym=tarfile.SYMTYPE, hard=tarfile.LNKTYPE, pipe=tarfile.FIFOTYPE, device=tarfile.CHRTYPE,
        )
    )  # fmt: skip
    entries, skipped = read(tmp_path / "t.tar")
    assert set(entries) == {"in.py"}
    assert skipped == {
        "../out.py": "path leads outside", "/abs.py": "path leads outside", "sym": "link", "hard": "link",
        "pipe": "not a plain file", "device": "not a plain file",
    }  # fmt: skip


def test_a_link_in_a_zip_is_counted(tmp_path):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        info = zipfile.ZipInfo("link.py")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    assert read(tmp_path / "z.zip") == ({}, {"link.py": "link"})


def test_a_path_that_comes_twice_counts_once(tmp_path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for text in (b"1", b"2"):
            info = tarfile.TarInfo("a.py")
            info.size = 1
            archive.addfile(info, io.BytesIO(text))
    (tmp_path / "t.tar").write_bytes(data.getvalue())
    assert read(tmp_path / "t.tar")[1] == {"a.py": "repeated path"}


def test_an_archive_inside_an_archive_is_opened_as_far_as_a_package_goes(tmp_path):
    nested = zip_of({"a.py": "1"})
    for name in ("d.zip", "c.zip", "b.zip"):
        nested = zip_of({name: nested, "x.py": "1"})
    (tmp_path / "z.zip").write_bytes(nested)
    entries, _ = read(tmp_path / "z.zip")
    assert set(entries) == {"x.py", "b.zip/x.py", "b.zip/c.zip/x.py", "b.zip/c.zip/d.zip/a.py"}
    (tmp_path / "z.zip").write_bytes(zip_of({"a.zip": nested, "broken.zip": "PK\3\4"}))
    assert read(tmp_path / "z.zip")[1] == {"a.zip/b.zip/c.zip/d.zip": "nested archive", "broken.zip": "corrupt"}


@pytest.mark.parametrize("name", ["p.zip", "p.tar.gz", "p.tar.xz", "p.tar.bz2", "p.tar.zst"])
def test_a_bomb_is_refused_before_its_first_file(tmp_path, name):
    (tmp_path / name).write_bytes(PACKED[name]({"a.py": "0" * 3_000_000}))
    limits = ArchiveLimits(ratio=50, ratio_from=1_000_000)
    archive = Archive(tmp_path / name, "a", 10**6, limits)
    with pytest.raises(DataError, match="expected at most 50 to 1"):
        next(archive.files())


def test_the_limits_of_members_and_bytes(tmp_path):
    for name in ("p.zip", "p.tar"):
        (tmp_path / name).write_bytes(PACKED[name](FILES))
        with pytest.raises(DataError, match="more than 2 members"):
            read(tmp_path / name, limits=ArchiveLimits(entries=2))
        with pytest.raises(DataError, match="more than 10 bytes"):
            read(tmp_path / name, limits=ArchiveLimits(total=10))


@pytest.mark.parametrize("name", PACKED)
def test_a_truncated_archive_is_one_line(tmp_path, name):
    whole = PACKED[name]({f"{i}.py": f"x = {i}\n" * 200 for i in range(50)})
    (tmp_path / name).write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(DataError, match="corrupt or truncated archive"):
        read(tmp_path / name)


def test_a_corrupt_member_of_a_zip_leaves_the_others(tmp_path):
    data = bytearray(zip_of({"a.py": "a" * 50, "b.py": "b = 2\n"}))
    data[35] ^= 0xFF
    (tmp_path / "z.zip").write_bytes(data)
    entries, skipped = read(tmp_path / "z.zip")
    assert set(entries) == {"b.py"}
    assert skipped == {"a.py": "corrupt"}


def test_an_encrypted_member_is_counted(tmp_path):
    data = bytearray(zip_of({"a.py": "x"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    (tmp_path / "z.zip").write_bytes(data)
    assert read(tmp_path / "z.zip") == ({}, {"a.py": "encrypted"})


@pytest.mark.parametrize("raw", [b"", b"x = 1\n", gzip.compress(b"x = 1\n", mtime=0), b"PAR1"])
def test_what_is_no_archive(tmp_path, raw):
    (tmp_path / "a").write_bytes(raw)
    assert not is_archive(tmp_path / "a")


def hostile_header(**fields):
    """A tar with one header whose fields were written by hand, with a right checksum."""
    info = tarfile.TarInfo("p-1/a.py")
    info.size = 4
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    for place, content in fields.values():
        head[place : place + len(content)] = content
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head)


SIZE = 124


def extended(records, kind=b"x"):
    head = hostile_header(kind=(156, kind), size=(SIZE, b"%011o\0" % len(records)))
    return head + records + bytes(-len(records) % 512)


HOSTILE = {
    "negative size": hostile_header(size=(SIZE, b"\x80" + b"\xff" * 11)),
    "endless size": hostile_header(size=(SIZE, b"\x80" + b"\x7f" * 11)),
    "a sparse map that ends with the file": hostile_header(kind=(156, b"S"), continued=(482, b"\1")) + b"a" * 5120,
    "long name of 60 MB": hostile_header(kind=(156, b"L"), size=(SIZE, b"00346404000\0"))
    + b"a/" * 30_000_000
    + tar_of({"a.py": "a = 1\n"}),
    "extended header of 60 MB": hostile_header(kind=(156, b"x"), size=(SIZE, b"00346404000\0")) + b"9" * 60_000_000,
    "size that is not there": hostile_header(size=(SIZE, b"\x80\0\0\0\0\0\0\1\0\0\0\0")),
    "headers before headers": (hostile_header(kind=(156, b"L")) + b"a.py".ljust(512, b"\0")) * 2000,
    "records whose length is that of others": extended(b"2 " * 5000 + b"a=b\n"),
    "records of digits": extended(b"100003 a=%b\n" % (b"9" * 99_993)),
    "records for all members": b"".join(
        extended(b"9 %03x=b\n" % number, b"g") + tar_of({"a.py": ""})[:512] for number in range(1001)
    ),
}


@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.timeout(20)
def test_a_hostile_header_is_refused_before_its_size_is_read(tmp_path, attack):
    (tmp_path / "p.tar.gz").write_bytes(gzip.compress(HOSTILE[attack], 1))
    limits = ArchiveLimits(ratio=10**9)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="corrupt or truncated archive"):
            read(tmp_path / "p.tar.gz", limits=limits)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


SPARSE = {
    "GNU": hostile_header(kind=(156, b"S")) + b"a" * 512,
    "GNU, a map of two blocks": hostile_header(kind=(156, b"S"), continued=(482, b"\1"))
    + b"\0" * 504 + b"\1" + b"\0" * 7 + b"\0" * 512 + b"a" * 512,
    "POSIX": extended(b"34 GNU.sparse.map=1,2,3,4,5,6,7,8\n") + hostile_header() + b"a" * 512,
    "POSIX, a name of its own": extended(b"28 GNU.sparse.name=p-1/a.py\n")
    + hostile_header(name=(0, b"x")) + b"a" * 512,
}  # fmt: skip


@pytest.mark.parametrize("form", SPARSE)
def test_a_sparse_file_is_counted_and_the_others_are_read(tmp_path, form):
    (tmp_path / "p.tar").write_bytes(SPARSE[form] + tar_of({"b.py": "b = 1\n"}))
    entries, skipped = read(tmp_path / "p.tar")
    assert (list(entries), skipped) == (["b.py"], {"p-1/a.py": "not a plain file"})


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_tar_of_unix_version_7_has_no_mark(tmp_path, pack):
    header = hostile_header(mark=(257, bytes(255)))
    (tmp_path / "a").write_bytes(pack(header + b"a=1\n".ljust(512, b"\0") + bytes(1024)))
    assert is_archive(tmp_path / "a")
    assert list(read(tmp_path / "a")[0]) == ["p-1/a.py"]


def test_an_archive_without_an_end_is_read_and_may_have_held_more(tmp_path):
    """Some writers leave the end out; the end of a compressed stream is another matter."""
    content = tar_of(FILES).rstrip(b"\0")
    content += bytes(-len(content) % 512)
    (tmp_path / "p.tar").write_bytes(content)
    entries, skipped = read(tmp_path / "p.tar")
    assert (set(entries), skipped) == (set(FILES), {"(end)": "no end of the archive"})
    (tmp_path / "p.tgz").write_bytes(gzip.compress(content)[:-6])
    with pytest.raises(DataError, match="corrupt or truncated"):
        read(tmp_path / "p.tgz")


def test_a_member_with_an_endless_path_is_counted_as_one_that_leads_outside(tmp_path):
    (tmp_path / "p.tar").write_bytes(tar_of({"a/" * 40_000 + "b.py": "b = 1\n", "a.py": "a = 1\n"}))
    entries, skipped = read(tmp_path / "p.tar")
    assert (set(entries), list(skipped.values())) == ({"a.py"}, ["path leads outside"])


@given(st.data())
@settings(max_examples=150)
def test_damaged_archives_are_read_or_refused_in_one_line(data):
    """Bytes of sound archives of every form are replaced; the hostile headers above are among the first examples."""
    packed = data.draw(st.sampled_from([PACKED["p.tar"], PACKED["p.tar.gz"], PACKED["p.zip"]]))
    content = bytearray(packed(FILES))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[place] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p"
        path.write_bytes(content)
        refused = []
        try:
            if is_archive(path):
                read(path)
        except DataError as error:
            refused.append(str(error))
        assert not [line for line in refused if "\n" in line]
