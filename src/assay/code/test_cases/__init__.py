"""Variants of a problem by other test cases, each confirmed by the solution itself."""
