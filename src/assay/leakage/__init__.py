"""Was this sample, this benchmark in the training data? Scores become calibrated answers here."""

from assay.leakage.audit import PRIMARY, audit
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.fail_on import Rule, rule
from assay.leakage.results import Audit, Calibration, Distribution, SampleTokens, ScoreSummary

__all__ = [
    "PRIMARY",
    "Audit",
    "Calibration",
    "Distribution",
    "Rule",
    "SampleTokens",
    "ScoreSummary",
    "UnseenScores",
    "audit",
    "rule",
]
