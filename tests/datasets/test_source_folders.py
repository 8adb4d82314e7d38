"""Folders of code: one file is one sample, and what is left out is counted."""

import gzip
from pathlib import Path

import pytest

from assay import load
from assay.errors import DataError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, content in {
        "src/a.py": b"x = 1\r\n",
        "src/deep/B.JAVA": b"class B {}\n",
        "lib/c.cc": b"int c;\n",
        "README.md": b"# about\n",
        ".git/hooks/sample.py": b"never = 1\n",
        "src/__pycache__/a.py": b"never = 1\n",
    }.items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "repository"


def test_a_sample_is_a_file_known_by_its_path_with_the_language_of_its_suffix(repository):
    samples = load(repository).samples
    assert [(sample.id, sample.language) for sample in samples] == [
        ("lib/c.cc", "cpp"), ("src/a.py", "python"), ("src/deep/B.JAVA", "java"),
    ]  # fmt: skip


def test_line_ends_of_code_stay_as_they_are(repository):
    assert load(repository).samples[1].text == "x = 1\r\n"


def test_files_of_no_known_language_are_counted(repository):
    assert "repository: 1 file of no known programming language left out" in load(repository).notes


def test_binary_and_oversized_files_are_skipped_and_counted(repository):
    (repository / "blob.py").write_bytes(b"\0" * 100)
    (repository / "bundle.js").write_bytes(b"x" * (2**20 + 1))
    dataset = load(repository)
    assert len(dataset) == 3
    assert "repository: 1 file skipped: binary" in dataset.notes
    assert "repository: 1 file skipped: larger than 1048576 bytes" in dataset.notes


def test_a_loop_of_symbolic_links_is_not_walked(repository):
    (repository / "src" / "loop").symlink_to(repository)
    (repository / "src" / "again.py").symlink_to(repository / "src" / "a.py")
    (repository / "self.py").symlink_to("self.py")
    assert len(load(repository)) == 3


def test_a_folder_may_itself_be_a_symbolic_link(repository, tmp_path):
    (tmp_path / "link").symlink_to(repository)
    assert len(load(tmp_path / "link")) == 3


def test_an_unreadable_file_is_skipped_and_counted(repository, monkeypatch):
    plain = Path.open

    def refuse_one(self, *args, **options):
        if self.name == "a.py":
            raise PermissionError(13, "Permission denied", str(self))
        return plain(self, *args, **options)

    monkeypatch.setattr(Path, "open", refuse_one)
    dataset = load(repository)
    assert len(dataset) == 2
    assert "repository: 1 file skipped: unreadable" in dataset.notes


def test_a_folder_of_binary_files_only_is_refused(tmp_path):
    (tmp_path / "a.py").write_bytes(b"\0\0")
    with pytest.raises(DataError, match="none of its 1 files can be read"):
        load(tmp_path)


def test_files_in_latin1_are_read_and_counted(repository):
    (repository / "old.py").write_bytes("# é\n".encode("latin-1"))
    dataset = load(repository)
    assert "# é\n" in [sample.text for sample in dataset.samples]
    assert "repository: 1 file not UTF-8, read as Latin-1" in dataset.notes


def test_an_empty_code_file_stays_a_sample(repository):
    (repository / "src" / "__init__.py").write_bytes(b"")
    dataset = load(repository)
    assert "src/__init__.py" in [sample.id for sample in dataset.samples]
    assert "1 sample has an empty text: no score can judge it" in dataset.notes


def test_a_folder_of_prose_is_read_when_there_is_no_code(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Once upon a time\n")
    assert [(sample.id, sample.language) for sample in load(tmp_path).samples] == [("a.txt", None)]


@pytest.mark.parametrize("name", ["f.py", "f.py.gz"])
def test_a_code_file_is_one_sample_even_where_it_looks_like_a_table(name, tmp_path):
    text = b"a,b\n1,2\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    sample = load(tmp_path / name).samples[0]
    assert (sample.id, sample.text, sample.language) == ("f.py", "a,b\n1,2\n", "python")


def test_prose_with_commas_is_no_table(tmp_path):
    (tmp_path / "tale.txt").write_bytes(b"Hello, world\nand, again\n")
    assert load(tmp_path / "tale.txt").samples[0].text == "Hello, world\nand, again\n"
