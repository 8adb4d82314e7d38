"""Methods that their papers need and no verdict rests on; the entry points of `pyproject.toml` bring them to assay."""
