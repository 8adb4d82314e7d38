"""The pages of results, made from the files in `lab/results`."""
