"""The functions of `assay.release` under the names that users see."""

from assay.release.comparing import compare_results
from assay.release.making import make_release
from assay.release.publishing import rotate_release, verify_release, write_twins
from assay.release.testing import run_release_test

make = make_release
test = run_release_test
verify = verify_release
twins = write_twins
rotate = rotate_release
compare = compare_results
