"""Students and their files, as course systems name them."""

import io
import json
import zipfile
from unicodedata import normalize

import pytest

from assay.errors import DataError
from assay.submissions import read_submissions, read_template

CODE = "def total(rows):\n    return sum(row.price for row in rows)\n"


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def written(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_files_of_one_name_in_two_folders_are_all_read(tmp_path):
    weeks = [written(tmp_path / week, {"ada/main.py": CODE + week, "bob/main.py": week}) for week in ("one", "two")]
    ada, _ = read_submissions(weeks)
    assert [file.text for file in ada.files] == [CODE + "one", CODE + "two"]


def test_files_of_one_name_do_not_say_whose_they_are(tmp_path):
    written(tmp_path, {"ada/main.py": CODE, "bob/main.py": "b = 1\n"})
    with pytest.raises(DataError, match="a further file named main"):
        read_submissions([tmp_path / "ada" / "main.py", tmp_path / "bob" / "main.py"])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_second_member_of_one_name_is_not_read_in_silence(tmp_path):
    with zipfile.ZipFile(tmp_path / "course.zip", "w") as archive:
        for name, text in (("ada/main.py", "x = 1\n"), ("ada/main.py", CODE), ("bob/main.py", CODE)):
            archive.writestr(name, text)
    ada, bob = read_submissions([tmp_path / "course.zip"])
    assert [str(file) for file in ada.unread] == ["ada/main.py (repeated path)"]
    assert not bob.unread


NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "code", "source": [CODE]}], "metadata": {"language_info": {"name": "python"}}}
)
MOODLE = {
    "Ada Lovelace_101_assignsubmission_file_/main.py": CODE,
    "Ada Lovelace_101_assignsubmission_file_/notes.ipynb": NOTEBOOK,
    "Bob O'Neill_102_assignsubmission_file_/work.zip": zipped({"src/a.py": CODE, "more.zip": zipped({"b.py": CODE})}),
}
CANVAS = {"lovelaceada_11_22_main.py": CODE, "lovelaceada_11_23_util.py": CODE, "oneillbob_LATE_12_24_main.py": CODE}
CLASSROOM = {"week-1-ada/main.py": CODE, "week-1-bob/main.py": CODE, "week-1-bob/README.md": "# Words\n"}
LISTED = "---\nsubmission_81:\n  :submitters:\n  - :name: Ada Fox\n    :sid: '1'\nsubmission_82:\n  :submitters:\n"
GRADESCOPE = {
    "export/submission_metadata.yml": LISTED + "  - :name: Bob Ray\n  - :name: 'Cy Oz'\n",
    "export/submission_81/a.py": CODE,
    "export/submission_82/a.py": CODE,
}
BLACKBOARD = {
    f"Week 1_{login}_attempt_2026-11-10-14-22-3{at}{ending}": content
    for at, login in enumerate(("ada", "bob"))
    for ending, content in ((".txt", "Name: somebody\n"), ("_a.py", CODE), ("_b.py", CODE))
}
BRIGHTSPACE = {"12-34 - Ada Fox - Nov 10, 2026 1422/a.py": CODE, "13-34 - Bob Ray - Nov 9, 2026 917/a.py": CODE}


@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize(
    ("layout", "students"),
    [
        (MOODLE, {"Ada Lovelace": 2, "Bob O'Neill": 2}),
        (CANVAS, {"lovelaceada": 2, "oneillbob": 1}),
        (CLASSROOM, {"ada": 1, "bob": 1}),
        ({"ada.py": CODE, "bob.zip": zipped({"x.py": CODE, "y.py": CODE})}, {"ada": 1, "bob": 2}),
        ({"all/ada/x.py": CODE, "all/bob/x.py": CODE}, {"ada": 1, "bob": 1}),
        (GRADESCOPE, {"Ada Fox": 1, "Bob Ray and Cy Oz": 1}),
        (BLACKBOARD, {"ada": 2, "bob": 2}),
        (BRIGHTSPACE, {"Ada Fox": 1, "Bob Ray": 1}),
    ],
    ids=["Moodle", "Canvas", "Classroom", "flat", "one folder around", "Gradescope", "Blackboard", "Brightspace"],
)
def test_the_layout_names_the_students(tmp_path, layout, students, as_zip):
    if as_zip:
        source = tmp_path / "course.zip"
        source.write_bytes(zipped(layout))
    else:
        source = written(tmp_path / "course", layout)
    read = read_submissions([source])
    assert {submission.student: len(submission.files) for submission in read} == students


def test_students_of_one_name_are_two(tmp_path):
    layout = {f"Ada Fox_{number}_assignsubmission_file_/a.py": CODE for number in (1, 2)}
    read = read_submissions([written(tmp_path / "course", layout)])
    assert [submission.student for submission in read] == ["Ada Fox (1)", "Ada Fox (2)"]


def test_a_name_in_two_forms_of_unicode_is_one_student(tmp_path):
    """A zip of a Mac has the longer form: the student would have copied from herself."""
    course = zipped({f"{normalize(form, 'Zoë')}/{form}.py": CODE for form in ("NFC", "NFD")} | {"Ada/a.py": CODE})
    (tmp_path / "course.zip").write_bytes(course)
    read = read_submissions([tmp_path / "course.zip"])
    assert {entry.student: len(entry.files) for entry in read} == {"Ada": 1, "Zoë": 2}


def test_what_was_not_read_stands_with_its_student(tmp_path):
    layout = {"ada/a.py": CODE, "bob/a.exe": b"MZ\x00\x01" * 50, "bob/empty.py": ""}
    ada, bob = read_submissions([written(tmp_path / "course", layout)])
    assert (ada.unread, bob.files) == ([], [])
    assert [file.path for file in bob.unread] == ["bob/a.exe"]
    assert bob.no_code["empty"] == 1


def test_a_template_is_a_file_a_folder_or_an_archive(tmp_path):
    folder = written(tmp_path / "given", {"a.py": CODE, "b/c.py": CODE})
    (tmp_path / "given.zip").write_bytes(zipped({"a.py": CODE}))
    assert [len(read_template([path])) for path in (folder, tmp_path / "given.zip", folder / "a.py")] == [2, 1, 1]
    written(tmp_path / "none", {"a.png": b"\x89PNG\r\n\x1a\n" + bytes(40)})
    with pytest.raises(DataError, match="expected code that was handed out"):
        read_template([tmp_path / "none"])


def test_what_a_system_puts_beside_the_files_is_no_submission(tmp_path):
    junk = {
        "__MACOSX/course/._ada": b"\0\5\x16\7",
        "course/.DS_Store": b"\0\0\0\1Bud1",
        "course/Thumbs.db": b"\xd0\xcf",
    }
    inner = zipped({"a.py": CODE, "__MACOSX/._a.py": b"\0\5\x16\7", ".DS_Store": b"\0\0\0\1Bud1"})
    source = tmp_path / "course.zip"
    source.write_bytes(zipped({"course/ada.zip": inner, "course/bob/a.py": CODE, **junk}))
    read = read_submissions([source])
    assert [(submission.student, len(submission.files), submission.unread) for submission in read] == [
        ("ada", 1, []),
        ("bob", 1, []),
    ]
