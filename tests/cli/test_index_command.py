"""`assay index` as a person meets it."""

import io
import json
import re
import sys
import zipfile

import pytest

FUNCTION = "def {0}(values):\n    return sorted(value * 2 for value in values if value != '{0}')\n"


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    (folder / "vendor").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
    (folder / "notes.md").write_text("# Notes\n")
    for name in ("alpha", "vendor/beta"):
        (folder / f"{name}.py").write_text(f'"""{name}."""\n\n' + FUNCTION.format(name[-4:]))
    return folder


def info(assay):
    return json.loads(assay("index", "info", "--index", "i", "--json").out)


def test_build_add_remove_info_compact(assay, corpus):
    built = assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    assert built.code == 0
    assert "4 files: 2 read, 0 unchanged, 0 gone, 2 skipped; 4 new documents, 0 known ones" in built.out
    assert re.search(r"prose or data +2\n", built.out)
    assert "\r" not in built.err
    found = info(assay)
    assert (found["documents"], found["languages"], found["licences"]) == (4, {"python": 4}, {"MIT": 2})
    assert found["sources"] == [str(corpus)]
    assert found["skipped"] == {"prose or data": 2}

    (corpus / "gamma.py").write_text('"""New."""\n\n' + FUNCTION.format("gamma"))
    added = json.loads(assay("index", "add", corpus, "--index", "i", "--jobs", 1, "--json").out)
    assert (added["unchanged"], added["read"], added["documents"]) == (2, 1, 2)

    removed = assay("index", "remove", corpus, "--path", "vendor/", "--index", "i")
    assert removed.out == "1 file and 2 documents removed\n"
    assert "now" in assay("index", "compact", "--index", "i").out
    assert info(assay)["documents"] == 4
    shown = assay("index", "info", "--index", "i").out
    assert "4 documents at 4 places" in shown
    assert "MIT" in shown


@pytest.mark.slow
def test_check_names_damage_with_exit_code_2_and_repair_removes_it(assay, corpus, tmp_path):
    assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    assert assay("index", "verify", "--index", "i").out == "i: 4 documents, no damage\n"
    catalogue = tmp_path / "i" / "catalogue.sqlite"
    catalogue.write_bytes(catalogue.read_bytes().replace(b"MIT", b"ZIT"))
    for command in (
        ("index", "verify", "--index", "i"),
        ("trace", corpus / "alpha.py", corpus / "vendor" / "beta.py", "--index", "i", "--fail-on-licence", "GPL-*"),
    ):
        refused = assay(*command)
        assert refused.code == 2
        (line,) = refused.err.splitlines()
        assert line.startswith("assay: error: ")
        assert "catalogue.sqlite: damaged" in line
    repaired = assay("index", "verify", "--index", "i", "--repair")
    assert repaired.code == 0
    assert "i: 0 documents, no damage left" in repaired.out
    assert "0 documents computed again, 4 removed" in repaired.out
    assert "rows were removed, 4 documents with them; no trace finds these until `assay index add" in repaired.err
    assay("index", "add", corpus, "--index", "i", "--jobs", 1)
    assert (info(assay)["documents"], info(assay)["licences"]) == (4, {"MIT": 2})
    assert assay("index", "verify", "--index", "i").code == 0
    segment = next((tmp_path / "i").rglob("*.segment"))
    segment.write_bytes(segment.read_bytes()[:-8])
    damaged = assay("index", "verify", "--index", "i")
    assert (damaged.code, "see `assay index verify --repair`" in damaged.err) == (2, True)
    assert assay("index", "verify", "--index", "i", "--repair").code == 0


def test_a_build_given_again_goes_on(assay, corpus):
    assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    again = assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    assert (again.code, "2 unchanged" in again.out) == (0, True)
    other = assay("index", "build", corpus, "--index", "i", "--profile", "paper")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "an index of profile 'default' and encoder 'builtin:fragments', not 'paper'" in other.err


def test_documents_get_vectors_unless_told_otherwise(assay, corpus):
    assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    found = info(assay)
    assert (found["vectors"], found["encoder"]) == (4, "builtin:fragments")


def test_a_build_that_goes_on_keeps_profile_and_encoder_of_the_index(assay, corpus):
    assay("index", "build", corpus, "--index", "j", "--jobs", 1, "--encoder", "none", "--profile", "paper")
    (corpus / "gamma.py").write_text((corpus / "alpha.py").read_text().replace("(", "( ", 1) + "\nprint('gamma')\n")
    again = assay("index", "build", corpus, "--index", "j", "--jobs", 1)
    assert (again.code, "1 read, 2 unchanged" in again.out) == (0, True)
    described = json.loads(assay("index", "info", "--index", "j", "--json").out)
    assert (described["vectors"], described["encoder"], described["profile"]["name"]) == (0, None, "paper")


def test_options_choose_what_is_read(assay, corpus):
    def taken(*options):
        counts = json.loads(
            assay("index", "build", corpus, "--index", "-".join(options), "--jobs", 1, "--json", *options).out
        )
        return counts["read"], counts["documents"]

    assert taken("--granularity", "file") == (2, 2)
    assert taken("--granularity", "function") == (2, 2)
    assert taken("--exclude", "vendor/") == (1, 2)
    assert taken("--include", "vendor/") == (1, 2)
    assert taken("--all-text", "--exclude", "*.toml") == (2, 4)
    assert taken("--max-file-size", "50B") == (0, 0)
    assert taken("--language", "go") == (0, 0)


def test_a_stream_of_rows_and_a_name(assay, monkeypatch):
    rows = json.dumps({"body": FUNCTION.format("alpha"), "content": "x", "lang": "Python"}) + "\n{half"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
    done = assay("index", "build", "-", "--name", "clipboard", "--columns", "text=body", "--index", "i", "--jobs", 1)
    assert (done.code, bool(re.search(r"broken row.* 1\n", done.out))) == (0, True)
    assert info(assay)["sources"] == ["clipboard"]


@pytest.fixture(scope="module")
def bomb():
    """An archive that unpacks to 80 MB."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.py", b"0" * 80_000_000)
    return archive.getvalue()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "nowhere", "--index", "i"], "nowhere: No such file or directory"),
        (["build", "empty", "--index", "i"], "contains no file"),
        (["build", "broken.zip", "--index", "i"], "corrupt or truncated archive"),
        (["build", "bomb.zip", "--index", "i"], "expected at most 200 to 1"),
        (["build", "corpus", "--index", "i", "--language", "klingon"], "no language is called 'klingon'"),
        (["build", "corpus", "--index", "i", "--max-file-size", "much"], "size 'much'"),
        (["build", "corpus", "--index", "i", "--columns", "text"], "expected KEY=VALUE"),
        (["build", "corpus", "--index", "i", "--as", "git"], "git cannot read it"),
        (["build", "corpus", "--index", "corpus"], "is not empty"),
        (["add", "corpus", "--index", "empty"], "empty"),
        (["info", "--index", "nowhere"], "nowhere"),
        (["remove", "--index", "i"], "nothing to remove was named"),
    ],
)
def test_bad_input_is_one_line_and_code_2(assay, corpus, bomb, tmp_path, arguments, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no")
    (tmp_path / "bomb.zip").write_bytes(bomb)
    done = assay("index", *arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_a_corpus_that_fails_leaves_the_others_and_is_told(assay, corpus, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no")
    done = assay("index", "build", "broken.zip", corpus, "--index", "i", "--jobs", 1)
    assert (done.code, "corrupt" in done.err) == (2, True)
    assert info(assay)["documents"] == 4


def test_a_sparse_file_of_2_gb_costs_nothing(assay, corpus):
    with (corpus / "large.py").open("wb") as file:
        file.truncate(2 * 10**9)
    done = assay("index", "build", corpus, "--index", "i", "--jobs", 1)
    assert (done.code, bool(re.search(r"too large.* 1\n", done.out))) == (0, True)


def test_archives_in_a_folder_are_opened(assay, tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in ("alpha", "beta"):
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", FUNCTION.format(name))
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", f"{name}/__init__.py,,\n")
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Name: {name}\nLicense-Expression: GPL-3.0-only\n")
    (folder / "broken.zip").write_bytes(b"PK\3\4")
    built = assay("index", "build", folder, "--index", "i", "--jobs", 1)
    assert (built.code, bool(re.search(r"corrupt +1\n", built.out))) == (0, True)
    assert info(assay)["licences"] == {"GPL-3.0-only": 2}
    again = json.loads(assay("index", "add", folder, "--index", "i", "--jobs", 1, "--json").out)
    assert (again["read"], again["documents"], again["gone"]) == (0, 0, 0)


def test_a_build_without_code_leaves_nothing_and_a_trace_in_an_empty_index_says_what_it_needs(assay, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "read.md").write_text("no code\n")
    built = assay("index", "build", tmp_path / "notes", "--index", tmp_path / "code.index")
    assert built.code == 2
    assert "no code was read, so nothing was added: received 1 prose or data; expected code" in built.err
    assert not (tmp_path / "code.index").exists()
    code = tmp_path / "code.py"
    code.write_text("def double(x):\n    return 2 * x\n")
    for command in ("build", "remove"):
        assert assay("index", command, code, "--index", tmp_path / "code.index").code == 0
    assert assay("index", "build", tmp_path / "notes", "--index", tmp_path / "code.index").code == 2
    traced = assay("trace", code, "--index", tmp_path / "code.index")
    assert traced.code == 2
    assert "the index holds no document" in traced.err
