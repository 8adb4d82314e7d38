"""Ranking metrics, thresholds, grouped bootstrap, blind baselines, calibration and multiplicity."""

from assay.evaluation.blind import BlindBaseline, blind_baseline
from assay.evaluation.bootstrap import Difference, Resamples, grouped_bootstrap, paired_difference
from assay.evaluation.calibration import (
    ADVISED_UNSEEN,
    MINIMUM_UNSEEN,
    FlagRate,
    benjamini_hochberg,
    clopper_pearson,
    conformal_p_values,
    flag_rate,
    null_share,
    unseen_note,
    wilson,
)
from assay.evaluation.correlation import spearman
from assay.evaluation.dose import DosePoint, dose_correlation, dose_response
from assay.evaluation.estimate import Estimate
from assay.evaluation.ranking import auprc, auroc, roc_curve, tpr_at_fpr
from assay.evaluation.ranking_result import Ranking, rank, rank_all
from assay.evaluation.thresholds import Threshold, at_threshold, best_threshold, threshold_at_fpr

__all__ = [
    "ADVISED_UNSEEN",
    "MINIMUM_UNSEEN",
    "BlindBaseline",
    "Difference",
    "DosePoint",
    "Estimate",
    "FlagRate",
    "Ranking",
    "Resamples",
    "Threshold",
    "at_threshold",
    "auprc",
    "auroc",
    "benjamini_hochberg",
    "best_threshold",
    "blind_baseline",
    "clopper_pearson",
    "conformal_p_values",
    "dose_correlation",
    "dose_response",
    "flag_rate",
    "grouped_bootstrap",
    "null_share",
    "paired_difference",
    "rank",
    "rank_all",
    "roc_curve",
    "spearman",
    "threshold_at_fpr",
    "tpr_at_fpr",
    "unseen_note",
    "wilson",
]
