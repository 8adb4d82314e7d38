"""Packages by name: from a folder of wheels that pip is told of, without a network."""

import hashlib
import json
import tarfile
import zipfile
from functools import partial

import pytest
from test_building import function

import assay
from assay.api.unseen import automatic_unseen, undated_packages
from assay.datasets import Dataset
from assay.errors import DataError
from assay.reports import describe
from assay.types import Sample
from assay.unseen import packages
from assay.unseen.building import DOWNLOADS

WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder, name, version, number):
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/a.py", function(number))
        archive.writestr(
            f"{name}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(f"{name}-{version}.dist-info/WHEEL", WHEEL)
        archive.writestr(f"{name}-{version}.dist-info/RECORD", "")
    return path


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder of wheels that is all that pip knows; the cache is in a folder of the test."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return folder


def build(*corpora, **options):
    return assay.build_unseen(list(corpora), released="2026-01-01", download=True, **options)


def test_a_package_is_downloaded_and_each_text_names_version_and_digest(shop, tmp_path):
    path = wheel(shop, "first", "2.1.0", 3)
    wheel(shop, "first", "1.9", 4)
    result = build("First==2.1", out=tmp_path / "new.jsonl")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (row,) = map(json.loads, (tmp_path / "new.jsonl").read_text().splitlines())
    assert (row["package"], row["sha256"], row["group"]) == ("first==2.1.0", digest, "first")
    assert result.summary()["packages"] == [{"package": "first==2.1.0", "sha256": digest, "file": path.name}]
    assert [kept.name for kept in (tmp_path / "cache" / "packages").iterdir()] == [path.name]


def test_a_fixed_version_is_downloaded_once_and_the_newest_one_is_asked_for_again(shop):
    old = wheel(shop, "first", "1.0", 3)
    assert [package.version for package in (*build("first").packages, *build("first==1").packages)] == ["1.0", "1.0"]
    old.unlink()
    wheel(shop, "first", "2.0", 4)
    assert [package.version for package in (*build("first==1").packages, *build("first").packages)] == ["1.0", "2.0"]


def test_a_file_lists_packages(shop, tmp_path):
    for number, name in enumerate(("first", "second", "third")):
        wheel(shop, name, "1.0", number)
    listed = tmp_path / "requirements.txt"
    listed.write_text(
        "# of the project\nfirst==1.0 \\\n    --hash=sha256:00\n"
        "second[extra] ; python_version < '3'  # old\n\nthird>=0.5\n"
    )
    assert [package.name for package in build(str(listed)).packages] == ["first", "second", "third"]


@pytest.mark.parametrize("line", ["-e .", "-r other.txt", "first @ file:///first.tar.gz", "git+https://example.org/x"])
def test_a_line_that_names_no_package_is_refused(shop, tmp_path, line):
    listed = tmp_path / "requirements.txt"
    listed.write_text(line)
    with pytest.raises(DataError, match="expected names of packages, one a line"):
        build(str(listed))


def test_no_code_of_a_package_is_run(shop, tmp_path, monkeypatch):
    """Pip would run setup.py of a source archive, even to learn its name, and no setting of the user's lets it."""
    source = tmp_path / "evil-1.0"
    source.mkdir()
    ran = tmp_path / "ran"
    (source / "setup.py").write_text(
        f"open({str(ran)!r}, 'w')\nfrom setuptools import setup\nsetup(name='evil', version='1.0')\n"
    )
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    with tarfile.open(shop / "evil-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "evil-1.0")
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip's spelling of yes: no setuptools has to be found first
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "evil.txt"))
    (tmp_path / "evil.txt").write_text(f"evil @ {(shop / 'evil-1.0.tar.gz').as_uri()}")
    with pytest.raises(DataError, match=r"no function left: .*evil: pip found no wheel: No matching distribution"):
        build("evil")
    wheel(shop, "first", "1.0", 3)
    result = build("evil", "first")
    assert [package.name for package in result.packages] == ["first"]
    assert "Not downloaded: evil (pip found no wheel" in " ".join(describe(result).details)
    assert not ran.exists()


@pytest.mark.parametrize("corpus", ["numpy==2.1", "requests", "list.txt"])
def test_nothing_is_downloaded_without_leave(shop, tmp_path, monkeypatch, corpus):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("first\n")
    monkeypatch.setattr("subprocess.run", None)
    with pytest.raises(DataError, match=r"packages are downloaded with --download only$"):
        assay.build_unseen(corpus, released="2026-01-01")


def test_what_can_only_be_a_path_is_no_package(tmp_path):
    for name in ("missing.whl", "folder/missing"):
        with pytest.raises(DataError, match=name) as caught:
            assay.build_unseen(name, released="2026-01-01")
        assert "--download" not in str(caught.value)


def test_packages_are_counted_while_they_are_collected(shop, monkeypatch, capsys):
    monkeypatch.setattr("assay.progress.PERIOD", 0.0)
    wheel(shop, "first", "1.0", 1)
    build("first", "absent")
    assert "assay: collecting unseen text: 1 of 2 corpora" in capsys.readouterr().err


def test_progress_is_towards_enough_projects_and_few_packages_are_fetched_ahead(shop, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("assay.progress.PERIOD", 0.0)
    names = [f"package{number}" for number in range(9)]
    for number, name in enumerate(names):
        wheel(shop, name, "1.0", number)
    build(*names, groups=2)
    assert "assay: collecting unseen text: 1 of 2 projects" in capsys.readouterr().err
    assert len(list((tmp_path / "cache" / "packages").glob("*.whl"))) <= DOWNLOADS + 1


def test_a_day_in_the_future_is_refused():
    with pytest.raises(DataError, match="not in the future"):
        assay.build_unseen("package", released="9999-01-01")
    with pytest.raises(DataError, match="not in the future"):
        automatic_unseen("auto:9999-01-01", "model", Dataset.of("p", [Sample("1", "x = 1")], source="p"), download=True)


def test_an_interruption_is_answered_at_once_and_begins_no_further_download(shop, monkeypatch, capsys):
    begun, fetched = [], packages.PackageFolder.fetched

    def interrupted(folder, requirement):
        begun.append(requirement.name)
        if requirement.name == "package0":
            raise KeyboardInterrupt
        return fetched(folder, requirement)

    monkeypatch.setattr(packages.PackageFolder, "fetched", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(*(f"package{number}" for number in range(2 * DOWNLOADS)))
    assert capsys.readouterr().err.count("interrupted: downloads that run") == 1
    assert len(begun) <= DOWNLOADS


@pytest.mark.slow
def test_reading_stops_when_there_are_enough_projects(shop):
    for number, name in enumerate(("first", "second", "third", "fourth")):
        wheel(shop, name, "1.0", number)
    names = ("first", "second", "third", "fourth")
    result = build(*names, groups=2)
    assert [package.name for package in result.packages] == ["first", "second"]
    assert result.counts["corpora not read: there were enough projects"] == 2
    assert build(*names).groups == 4
    with pytest.raises(DataError, match="groups 0: expected at least 1"):
        build(*names, groups=0)


def test_a_killed_download_leaves_no_half_of_a_wheel(shop, tmp_path, monkeypatch):
    def killed(requirement, folder):
        (folder / "first-1.0-py3-none-any.whl").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(packages, "_download", killed)
    with pytest.raises(KeyboardInterrupt):
        build("first==1.0")
    assert list((tmp_path / "cache" / "packages").iterdir()) == []


@pytest.fixture
def dated(monkeypatch):
    """An index that knows the day of the first upload of two packages; the calls are counted."""
    first, calls = {"first": "2026-01-01", "second": "2024-01-01"}, []

    def lists_versions(name, *options):
        calls.append(name)
        return name in first and (not options or first[name] < options[-1])

    monkeypatch.setattr(packages, "_lists_versions", lists_versions)
    return calls


def test_packages_that_were_uploaded_before_a_day_are_left_out(shop, dated):
    for number, name in enumerate(("first", "second")):
        wheel(shop, name, "1.0", number)
    result = assay.build_unseen(["first", "second"], after="2025-08-01", download=True)
    assert [package.name for package in result.packages] == ["first"]
    assert "Not downloaded: second (it was uploaded before 2025-08-01)." in describe(result).details
    assert result.dated == "not before 2025-08-01"
    dated.clear()
    assert undated_packages(["first", "second", "gone"], "2025-08-01") == {
        "second": "it was uploaded before 2025-08-01",
        "gone": "pip finds no version of it",
    }
    assert "first" not in dated  # its day is kept


def test_unseen_text_of_our_list_is_downloaded_with_leave_and_kept(shop, dated, tmp_path, monkeypatch, capsys):
    wheel(shop, "first", "1.0", 3)
    (tmp_path / "list.txt").write_text("first==1.0\n")
    monkeypatch.setattr(packages, "LATER_PACKAGES", tmp_path / "list.txt")
    benchmark = Dataset.of("b", [Sample(f"t{at}", function(at + 50)) for at in range(4)], source="b")
    made = partial(automatic_unseen, "auto:2025-08-01", "model", benchmark)
    with pytest.raises(DataError, match=r"expected --download as well"):
        made(download=False)
    texts = made(download=True).samples
    assert "some minutes; for a benchmark in a form of its own, only with --parent" in capsys.readouterr().err
    assert [sample.group for sample in texts] == ["first"]
    assert made(download=False).samples == texts
    assert capsys.readouterr().err == ""
    with pytest.raises(DataError, match="expected auto:YYYY-MM-DD"):
        automatic_unseen("auto", "model", benchmark, download=True)
    java = Dataset.of("j", [Sample("1", "int f() { return 1; }", "java")], source="j")
    with pytest.raises(DataError, match="the list has packages in Python, and j has no Python"):
        automatic_unseen("auto:2025-08-01", "model", java, download=True)
    with pytest.raises(DataError, match="auto: the list has packages in Python, and j has no Python"):
        build("auto", like=java)
    with pytest.raises(DataError, match="expected a day as YYYY-MM-DD"):
        automatic_unseen("auto:soon", "model", benchmark, download=True)


def test_our_list_is_of_at_most_a_hundred_fixed_versions():
    head, *listed = packages.LATER_PACKAGES.read_text("utf-8").splitlines()
    assert head.startswith("# Packages of Python")
    assert 35 <= len(listed) <= 100
    assert all("==" in line for line in listed)
