"""The engine: which (text, model) pairs the scores need, each run exactly once."""

from assay.scoring.plan import Plan, plan
from assay.scoring.run import ScoredSample, ScoreTable, pairs_to_run, score_samples, score_stream

__all__ = ["Plan", "ScoreTable", "ScoredSample", "pairs_to_run", "plan", "score_samples", "score_stream"]
