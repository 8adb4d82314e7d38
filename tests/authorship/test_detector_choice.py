"""The detector that the options name, and the code of people that it is calibrated on."""

from datetime import date

from assay.authorship import WINDOW, DetectorChoice, past_units
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
    assert [unit.path for unit in past_units(past)] == ["a.js"]
