"""Every score of the literature as a pure function of token statistics, and the registry that lists them."""

from assay.scores.definition import Inputs, ScoreDefinition, View
from assay.scores.frequency import FrequencyTable
from assay.scores.registry import ALIASES, SCORES, ScoreRequest, one_pass, request, requests

__all__ = [
    "ALIASES",
    "SCORES",
    "FrequencyTable",
    "Inputs",
    "ScoreDefinition",
    "ScoreRequest",
    "View",
    "one_pass",
    "request",
    "requests",
]
