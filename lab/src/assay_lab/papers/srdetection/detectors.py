"""The detectors of SrDetection's tables: the paper's own, as the registry names them, and ours beside them."""

from assay.scores import DETECTORS, SRDETECTION, Access, default_scores, flagged
from assay_lab.experiments.papers import paper
from assay_lab.testbed import writing_detectors

PAPER = paper("srdetection")
WRITING: tuple[Access, ...] = ("labelled", "black")
"""Access of the detectors that need no more of the model than the text that it generates."""


def in_paper(*accesses: Access) -> dict[str, str]:
    """Return the paper's name of a method → our detector, in the order of its Tables 2 and 1."""
    methods = [
        name for table in ("table-2", "table-1") for name in PAPER.tables[table].rows("macro-F1", PAPER.models[0])
    ]
    entries = [entry for entry in DETECTORS.values() if SRDETECTION in entry.names_in and entry.access in accesses]
    entries.sort(key=lambda entry: methods.index(entry.names_in[SRDETECTION]))
    return {entry.names_in[SRDETECTION]: entry.name for entry in entries}


def paper_score(access: Access) -> str:
    """Return SrDetection's own score for an access, whose rule is to flag values above 0."""
    return in_paper(access)["SrDetection"]


def gray_rows() -> dict[str, str]:
    """Return row → detector with gray-box access: the paper's methods, then the contenders."""
    return {**in_paper("gray"), **{name: name for name in flagged("contender")}}


def black_rows() -> dict[str, str]:
    """Return row → detector of generated text: the paper's methods, then the others."""
    methods = in_paper(*WRITING)
    others = [detector.name for detector in writing_detectors() if detector.name not in methods.values()]
    return {**methods, **{name: name for name in others}}


def calibrated_black() -> str:
    """Return the detector whose calibrated decisions on generated text stand beside SrDetection's rule."""
    return default_scores("black")[0]


def drawn_black() -> tuple[str, ...]:
    """Return the detectors in the figure of generated text; four lines can be distinguished."""
    return (*in_paper(*WRITING).values(), calibrated_black())
