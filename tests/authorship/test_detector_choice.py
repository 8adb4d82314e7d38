"""The detector that the options name, and the code of people that it is calibrated on."""

from collections import Counter
from datetime import date

from assay.authorship import WINDOW, DetectorChoice, past_units
from assay.authorship.older_code import older_units
from assay.authorship.settings import DetectorSettings
from assay.corpora import patches_before
from assay.models import ModelSettings
from assay.scoring import Opener
from support.dated_repository import DatedRepository


def test_a_context_length_of_the_user_holds_for_the_default_surrogate():
    def digest(length):
        return (
            DetectorChoice(DetectorSettings(scores="loss"), Opener(ModelSettings(max_length=length, cache=False)))
            .open()
            .name
        )

    assert digest(None) == digest(WINDOW) != digest(256)


def test_older_patches_to_files_that_a_program_wrote_are_left_out(tmp_path):
    history = DatedRepository(tmp_path / "project")
    written = {"a.js": "let x = 1;\n", "a.min.js": "let x=1;\n", "b.js": "// @generated\nlet y = 2;\n"}
    history.commit("2016-02-03", written)
    (past,) = patches_before(history.path, date(2020, 1, 1))
    skipped = Counter()
    assert [unit.path for unit in past_units(past, skipped)] == ["a.js"]
    assert skipped == {"minified": 1, "generated": 1}


def test_files_that_a_reference_cannot_take_are_counted_by_reason(tmp_path):
    history = DatedRepository(tmp_path / "project")
    (history.path / "link.py").symlink_to("a.py")
    files = {"a.py": "x = 1\n", "b.py": "\0\1", "c.js": "let x=1;" * 9000, "LICENSE": "MIT"}
    history.commit("2016-02-03", files)
    unread = {"binary": 1, "minified": 1, "no known language": 1}
    for before, of_links in (
        (None, {"link to a judged file": 1}),
        (date(2020, 1, 1), {"link or submodule": 1}),
    ):
        skipped = Counter()
        older_units([str(history.path)], before=before, by="file", most=None, skipped=skipped)
        assert skipped == unread | of_links
