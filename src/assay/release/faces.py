"""The functions of `assay.release` under the names that users see."""

from assay.release.comparing import compare_results
from assay.release.making import make_release
from assay.release.publishing import rotate_release, verify_release, write_twins
from assay.release.testing import run_release_test

make, test, verify = make_release, run_release_test, verify_release
twins, rotate, compare = write_twins, rotate_release, compare_results
