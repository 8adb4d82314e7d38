"""How Contaminated Is Your Benchmark? (Choi et al. 2025): kernel divergence against scores of a data set."""
