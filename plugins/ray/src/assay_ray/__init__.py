"""Work of assay on a Ray cluster: reading corpora (`--readers ray:ADDRESS`), scoring (models `ray:MODEL@ADDRESS`)."""
