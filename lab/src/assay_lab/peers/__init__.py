"""Published tools and libraries beside assay, in one run."""
