"""Verdicts on whole benchmarks: methods, contaminated share, conditions, report and statement."""
