"""Files of a folder that could not be judged are counted beside the answer."""

import json
import zipfile

from assay.authorship.reading import read_code

CODE = "def add_up(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n"


def test_a_folder_counts_what_was_not_judged(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "b.py").write_bytes(b"\0\1\2\3" * 100)
    (tmp_path / "c.py").write_text(f"x = 1  # {'y' * 2_000_000}\n")
    read = read_code([tmp_path], by="file", lines=None, patch=False, language=None, text=None)
    assert [unit.path for unit in read.units] == [f"{tmp_path.as_posix()}/a.py"]
    reasons = "1 binary, and no kind of media that cannot hold code, 1 larger than 1,000,000 bytes"
    assert f"Files in {tmp_path} that were not judged: {reasons}." in read.unread


def test_a_folder_that_was_read_whole_has_no_remark(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    read = read_code([tmp_path], by="file", lines=None, patch=False, language=None, text=None)
    assert not any("not judged" in sentence for sentence in read.unread)


def test_code_inside_notebooks_pages_and_archives_of_a_folder_is_judged(tmp_path):
    cell = {"cell_type": "code", "source": CODE, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"cells": [cell], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "b.vue").write_text("<template>\n<p>two</p>\n</template>\n<script>\nlet two = 2;\n</script>\n")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("d.py", CODE)
    (tmp_path / "notes.txt").write_text("Only words are written here, and no code at all.\n")
    read = read_code([tmp_path], by="function", lines=None, patch=False, language=None, text=None)
    places = sorted((unit.path.removeprefix(f"{tmp_path.as_posix()}/"), unit.first_line) for unit in read.units)
    assert [place for place, _ in places] == ["a.ipynb", "b.vue", "c.zip/d.py"]
    assert places[1][1] in {4, 5}  # the block of the page keeps its lines
    assert f"Files in {tmp_path} that were not judged: 1 no known language." in read.unread
