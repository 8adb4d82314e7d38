"""The corpus of `builtin:control`, made from tiny packages of every registry."""

import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.ground_truth import read_manifest
from assay.ground_truth.sketch import read_sketch
from assay_lab.builtin.control_corpus import (
    SUFFIXES,
    ControlRecipe,
    PackageList,
    build_control_corpus,
    read_packages,
    without_header,
)
from assay_lab.builtin.control_prepared import HELD_OUT, STREAM, read_control_files, write_control_corpus
from assay_lab.builtin.package_archives import REGISTRIES, download, source_files

FREE = "Files: *\nCopyright: A\nLicense: Expat\n\nFiles: old/*\nCopyright: B\nLicense: GPL-2\n"
RECIPE = ControlRecipe(vocabulary_size=300, context=64)


def code(name: str, lines: int = 30) -> str:
    """Return a text of made-up assignments, different for each name."""
    return "".join(f"{name}_{i} = compute_{name}({i}, {name}_limit_{i * 7 % 5})\n" for i in range(lines))


def tar(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def place(downloads: Path, registry: str, package: str) -> Path:
    folder = downloads / registry / package
    folder.mkdir(parents=True)
    return folder


def write_wheel(downloads: Path, package: str, files: dict[str, str], licence: str = "MIT") -> None:
    with zipfile.ZipFile(place(downloads, "pypi", package) / f"{package}-1.0-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.4\nName: {package}\nVersion: 1.0\nLicense-Expression: {licence}\n"
        wheel.writestr(f"{package}-1.0.dist-info/METADATA", metadata)
        for name, text in files.items():
            wheel.writestr(name, text)


def write_npm(downloads: Path, package: str, files: dict[str, str], licence: str = "MIT") -> None:
    described = {"package/package.json": json.dumps({"name": package, "license": licence})}
    members = described | {f"package/{name}": text for name, text in files.items()}
    (place(downloads, "npm", package) / f"{package}-2.1.0.tgz").write_bytes(tar(members))


def write_source(downloads: Path, package: str, files: dict[str, str]) -> None:
    folder = place(downloads, "debian-source", package)
    (folder / f"{package}_3-1.dsc").write_text("")
    (folder / f"{package}_3.orig.tar.gz").write_bytes(tar({f"{package}-3/{name}": t for name, t in files.items()}))
    (folder / f"{package}_3-1.debian.tar.gz").write_bytes(tar({"debian/copyright": FREE}))


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    write_wheel(folder, "alpha", {"alpha/a.py": code("a"), "alpha/_vendor/b.py": code("vendored")})
    write_wheel(folder, "closed", {"closed/c.py": code("closed")}, licence="GPL-3.0-only")
    write_wheel(folder, "kept", {"kept/h.py": code("held"), "kept/i.py": code("other")})
    write_npm(folder, "beta", {"src/b.js": code("js"), "dist/b.js": code("bundled"), "src/b.min.js": code("minified")})
    write_npm(folder, "gamma", {"src/g.ts": code("ts"), "src/g.d.ts": code("declared")})
    for language in ("java", "c", "cpp", "go", "rust"):
        suffix = SUFFIXES[language][0]
        write_source(folder, f"src-{language}", {f"x{suffix}": code(language), f"old/y{suffix}": code("restricted")})
    return folder


def lists() -> list[PackageList]:
    def section(language: str, registry: str, *train: str, held_out: tuple[str, ...] = ()) -> PackageList:
        return PackageList(language, registry, train, held_out, None, {})

    debian = [section(x, "debian-source", f"src-{x}") for x in ("java", "c", "cpp", "go", "rust")]
    return [
        section("python", "pypi", "alpha", "closed", held_out=("kept",)),
        section("javascript", "npm", "beta"),
        section("typescript", "npm", "gamma"),
        *debian,
    ]


def test_only_permissive_text_that_people_wrote_is_trained_on(downloads):
    corpus = build_control_corpus(RECIPE, lists(), downloads=downloads, benchmarks={})
    assert sorted((file.language, file.package, file.path) for file in corpus.files) == [
        ("c", "src-c", "x.c"),
        ("cpp", "src-cpp", "x.cc"),
        ("go", "src-go", "x.go"),
        ("java", "src-java", "x.java"),
        ("javascript", "beta", "src/b.js"),
        ("python", "alpha", "alpha/a.py"),
        ("rust", "src-rust", "x.rs"),
        ("typescript", "gamma", "src/g.ts"),
    ]
    assert {file.package for file in corpus.held_out} == {"kept"}


def test_training_text_near_a_benchmark_or_a_held_out_file_is_left_out(downloads, tmp_path):
    write_wheel(
        downloads, "copy", {"copy/h.py": code("held") + "x = 1\n", "copy/t.py": code("task"), "copy/n.py": code("n")}
    )
    benchmark = tmp_path / "HumanEval.jsonl"
    task = {"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": code("task", 20)}
    benchmark.write_text(json.dumps(task) + "\n")
    sections = lists()
    sections[0] = PackageList("python", "pypi", ("alpha", "copy"), ("kept",), None, {})
    corpus = build_control_corpus(RECIPE, sections, downloads=downloads, benchmarks={"humaneval": benchmark})
    assert {file.path for file in corpus.files if file.language == "python"} == {"alpha/a.py", "copy/n.py"}
    assert corpus.manifest.header["benchmarks"] == {"humaneval": 1}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("/* A licence.\n */\n// more\n#include <a.h>\n", "\n#include <a.h>\n"),
        ("#!/bin/python\n# A licence\n#\nimport a  # why\n", "\nimport a  # why\n"),
        ("int a; /* no header */\n", "int a; /* no header */\n"),
    ],
)
def test_comments_at_the_top_do_not_count_for_near_duplicates(text, rest):
    assert without_header(text) == rest


def test_a_text_with_the_name_of_a_special_token_is_left_out(downloads):
    write_wheel(downloads, "special", {"special/s.py": code("s") + "END = '<eos>'\n"})
    sections = [PackageList("python", "pypi", ("alpha", "special"), (), None, {}), *lists()[1:]]
    corpus = build_control_corpus(RECIPE, sections, downloads=downloads, benchmarks={})
    assert "special" not in {file.package for file in corpus.files}


def test_the_written_corpus_is_whole_and_every_text_is_in_the_manifest(downloads, tmp_path):
    corpus = build_control_corpus(RECIPE, lists(), downloads=downloads, benchmarks={})
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_control_corpus(folder, corpus)
    stream = np.load(folder / STREAM)
    decoded = corpus.tokenizer.decode(stream.tolist(), skip_special_tokens=False)
    assert decoded == "".join(f"<bos>{file.text}<eos>" for file in corpus.files)
    entries = read_manifest(folder / "manifest.jsonl.gz").entries
    assert [(e.sha256, e.language, e.registry) for e in entries] == [
        (file.digest, file.language, file.registry) for file in corpus.files
    ]
    assert {file["package"] for file in json.loads((folder / HELD_OUT).read_text())} == {"kept"}
    assert len(read_sketch(folder / "sketch.npz"))
    assert read_control_files(folder, language_cap=10**9) == list(corpus.files)
    package = corpus.files[0].package
    others = [file for file in corpus.files if file.package != package]
    assert read_control_files(folder, language_cap=10**9, left_out=[package]) == others
    least = min(len(file.text) for file in corpus.files)
    assert all(len(file.text) == least for file in read_control_files(folder, language_cap=least))


def test_texts_that_are_not_those_of_the_manifest_are_refused(downloads, tmp_path):
    corpus = build_control_corpus(RECIPE, lists(), downloads=downloads, benchmarks={})
    write_control_corpus(tmp_path, corpus)
    stream = np.load(tmp_path / STREAM)
    stream[1], stream[2] = stream[2], stream[1] + 1
    np.save(tmp_path / STREAM, stream)
    with pytest.raises(DataError, match="is not that of the manifest"):
        read_control_files(tmp_path, language_cap=10**9)
    (tmp_path / STREAM).unlink()
    with pytest.raises(DataError, match="expected a corpus of `build-control-corpus`"):
        read_control_files(tmp_path, language_cap=1)


def test_a_language_without_text_is_refused(downloads):
    with pytest.raises(DataError, match="no training text in java"):
        build_control_corpus(RECIPE, [s for s in lists() if s.language != "java"], downloads=downloads, benchmarks={})


def test_the_committed_list_names_every_language():
    assert {section.language for section in read_packages()} == set(SUFFIXES)
    assert {section.registry for section in read_packages()} <= set(REGISTRIES)
    for section in read_packages():
        assert not set(section.train) & set(section.held_out)


@pytest.mark.program
@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb, which reads packages of Debian, is not here")
def test_a_debian_package_of_a_crate_gives_its_sources(tmp_path):
    root = tmp_path / "root"
    crate = root / "usr/share/cargo/registry/tiny-1.0/src"
    crate.mkdir(parents=True)
    (crate / "lib.rs").write_text("fn main() {}\n")
    documents = root / "usr/share/doc/librust-tiny-dev"
    documents.mkdir(parents=True)
    (documents / "copyright").write_text(FREE)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: librust-tiny-dev\nVersion: 1.0-1\nArchitecture: all\nMaintainer: A <a@example.org>\n"
        "Description: tiny\n"
    )
    folder = place(tmp_path / "downloads", "debian-binary", "librust-tiny-dev")
    command = ["dpkg-deb", "--build", "--root-owner-group", str(root), str(folder / "librust-tiny-dev_1.0-1_all.deb")]
    subprocess.run(command, check=True, capture_output=True)
    archive = download("debian-binary", "librust-tiny-dev", tmp_path / "downloads")
    files = list(source_files(archive, (".rs",)))
    assert [(str(file.path), file.licence) for file in files] == [("src/lib.rs", "MIT")]
    assert archive.version == "1.0-1"


def test_a_folder_without_the_files_of_a_package_is_refused(tmp_path):
    (place(tmp_path, "npm", "broken") / "x.txt").write_text("")
    with pytest.raises(DataError, match="expected the files of a npm package"):
        download("npm", "broken", tmp_path)
