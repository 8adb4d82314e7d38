"""Files of a folder that could not be judged are counted beside the answer."""

from assay.authorship.reading import read_code

CODE = "def add_up(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n"


def test_a_folder_counts_what_was_not_judged(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "b.py").write_bytes(b"\0\1\2\3" * 100)
    (tmp_path / "c.py").write_text(f"x = 1  # {'y' * 2_000_000}\n")
    read = read_code([tmp_path], by="file", lines=None, patch=False, language=None, text=None)
    assert [unit.path for unit in read.units] == [f"{tmp_path.as_posix()}/a.py"]
    assert f"Files in {tmp_path} that were not judged: 1 binary, 1 too large." in read.unread


def test_a_folder_that_was_read_whole_has_no_remark(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    read = read_code([tmp_path], by="file", lines=None, patch=False, language=None, text=None)
    assert not any("not judged" in sentence for sentence in read.unread)
