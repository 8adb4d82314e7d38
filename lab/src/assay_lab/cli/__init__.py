"""`assay lab`."""
