"""The detectors of SrDetection's tables: the paper's own, as the registry names them, and ours beside them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress

import numpy as np

from assay.errors import DataError
from assay.evaluation import Estimate, grouped_share
from assay.scores import DETECTORS, Access, default_scores
from assay.types import Float64Array
from assay_lab.columns import among, attributes, without
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.papers import paper
from assay_lab.mappings import mapped
from assay_lab.testbed import CONTENDERS, Ties, writing_detectors
from assay_lab.testbed.detectors import chosen

PAPER = paper("srdetection")
WRITING: tuple[Access, ...] = ("labelled", "black")
"""Access of the detectors that need no more of the model than the text that it generates."""
NAMES: Mapping[str, str] = {
    "perplexity": "PPL",
    "zlib": "Zlib",
    "min_k": "Min-K% Prob",
    "min_k_plus_plus": "Min-K%++ Prob",
    "dc_pdd": "DC-PDD",
    "lowercase": "Lowercase",
    "sr_gray": "SrDetection",
    "sr_black": "SrDetection",
    "dpdllm": "DPDLLM",
    "veil_probe": "VeilProbe",
}
"""Our detector → its row in the tables of the paper."""


def in_paper(*accesses: Access) -> dict[str, str]:
    """Return the paper's name of a method → our detector, in the order of its Tables 2 and 1."""
    order = *printed_methods("table-2"), *printed_methods("table-1")
    # two scores have the row SrDetection, one for each access
    rows = {row: name for name, row in NAMES.items() if DETECTORS[name].access in accesses}
    return mapped(rows.__getitem__, sorted(rows, key=order.index))


def printed_methods(table: str) -> Iterable[str]:
    """Return the rows of a table of the paper."""
    return PAPER.tables[table].rows("macro-F1", PAPER.models[0])


def paper_score(access: Access) -> str:
    """Return SrDetection's own score for an access, whose rule is to flag values above 0."""
    return in_paper(access)["SrDetection"]


def gray_rows() -> dict[str, str]:
    """Return row → detector with gray-box access: the paper's methods, then the contenders."""
    return in_paper("gray") | dict(zip(CONTENDERS, CONTENDERS, strict=True))


def black_rows() -> dict[str, str]:
    """Return row → detector of generated text: the paper's methods, then the others."""
    methods = in_paper(*WRITING)
    others = without(attributes(writing_detectors(), "name"), methods.values())
    return methods | dict(zip(others, others, strict=True))


def named_detectors(bench: Bench, accesses: Collection[Access]) -> tuple[str, ...]:
    """Return the detectors of an access that the configurations of a bench name; none where they name none at all.

    Raises:
        DataError: they name others alone.
    """
    fitting: dict[str, None] = {}
    for configuration in bench.configurations:
        compared = chosen(configuration.judging.detectors) if configuration.judging.detectors else ()
        own = attributes(among(compared, "access", accesses), "name")
        if compared and not own:
            words = "generated text" if set(accesses) == set(WRITING) else "token probabilities"
            names = ", ".join(configuration.judging.detectors)
            raise DataError(f"{bench.scale}: received judging.detectors {names}; expected some that read {words}")
        fitting |= dict.fromkeys(own)
    return tuple(fitting)


def calibrated_black() -> str:
    """Return the detector whose calibrated decisions on generated text stand beside SrDetection's rule."""
    return default_scores("black")[0]


def drawn_black() -> tuple[str, ...]:
    """Return the detectors in the figure of generated text; four lines can be distinguished."""
    return (*in_paper(*WRITING).values(), calibrated_black())


def rule_share(values: Float64Array, groups: Sequence[str | None], ties: Ties) -> Estimate | None:
    """Return the share of the values that SrDetection's rule calls leaked, those above 0; None where there is none."""
    scored = ~np.isnan(values)
    if not scored.any():
        return None
    above = np.greater_equal if ties == "inclusive" else np.greater
    return grouped_share(above(values[scored], 0), list(compress(groups, scored)))
