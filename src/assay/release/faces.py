"""The functions of `assay.release` under the names that users see; settings may be given by name."""

from pathlib import Path
from typing import Any

from assay.models import ModelSettings
from assay.release.comparing import compare_results
from assay.release.making import MadeRelease, make_release
from assay.release.publishing import rotate_release, verify_release, write_twins
from assay.release.settings import ReleaseSettings, ReleaseTestSettings
from assay.release.testing import ReleaseTest, run_release_test
from assay.types import Generator


def make_files(tasks: str | Path, out: str | Path, secret: str | Path, **settings: Any) -> MadeRelease:  # noqa: ANN401
    """Release a benchmark: of each task a copy that a lot chose, the others in a secret file.

    Args:
        tasks: file of the tasks: HumanEval, MBPP, EvalPlus, HumanEval-X, BigCodeBench, LiveCodeBench, any table.
        out: the public file, JSON lines; the page for its data card is written beside it.
        secret: the secret file, with mode 600.
        settings: copies, round, beacon, canary, and columns of a table: text, id, group, language.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    return make_release(Path(tasks), Path(out), Path(secret), ReleaseSettings.of(**settings))


def run_test(
    model: str | Generator,
    secret: str | Path,
    *,
    opened: ModelSettings | None = None,
    **settings: Any,  # noqa: ANN401
) -> ReleaseTest:
    """Test whether the outcome of the lot reached a model; the test is logged in the secret file.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        opened: how the model is opened.
        settings: access, parent (a tuple of names), tasks, placebo, spend.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    return run_release_test(model, secret, ReleaseTestSettings.of(**settings), opened)


make, test, verify, twins, rotate, compare = (
    make_files,
    run_test,
    verify_release,
    write_twins,
    rotate_release,
    compare_results,
)
