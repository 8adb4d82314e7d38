"""Samples from files, folders and hubs; one loader per benchmark family."""

from assay.datasets.benchmarks import BenchmarkInfo, benchmark, is_benchmark, list_benchmarks
from assay.datasets.dataset import Dataset
from assay.datasets.loading import load
from assay.datasets.sources import read_rows
from assay.datasets.splits import split_by_group

__all__ = [
    "BenchmarkInfo",
    "Dataset",
    "benchmark",
    "is_benchmark",
    "list_benchmarks",
    "load",
    "read_rows",
    "split_by_group",
]
