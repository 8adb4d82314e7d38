"""`python -m assay` is `assay`."""

from assay.cli.app import main

main()
