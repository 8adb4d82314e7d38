"""The laboratory of assay: how far its answers can be trusted, and the tables of the papers."""
