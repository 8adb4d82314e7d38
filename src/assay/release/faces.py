"""The functions of `assay.release`, with paths as text and settings by name."""

from pathlib import Path
from typing import Any

from assay.models import ModelSettings
from assay.release.comparing import TwinComparison, compare_results
from assay.release.making import MadeRelease, make_release
from assay.release.publishing import (
    VerifiedRelease,
    WrittenTwins,
    rotate_release,
    verify_release,
    write_twins,
)
from assay.release.settings import ReleaseSettings, ReleaseTestSettings
from assay.release.testing import ReleaseTest, run_release_test
from assay.types import Generator


def make_files(
    tasks: str | Path,
    out: str | Path,
    secret: str | Path,
    *,
    settings: ReleaseSettings | None = None,
    **by_name: Any,  # noqa: ANN401  the types of the settings
) -> MadeRelease:
    """Release a benchmark: of each task a copy that a lot chose, the others in a secret file.

    Args:
        tasks: file of the tasks: HumanEval, MBPP, EvalPlus, HumanEval-X, BigCodeBench, LiveCodeBench, any table.
        out: the public file, JSON lines; its data card is written beside it.
        secret: the secret file, with mode 600.
        settings: copies, round, beacon, canary, columns.
        by_name: instead of it, its settings by name.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    return make_release(Path(tasks), Path(out), Path(secret), settings or ReleaseSettings.of(**by_name))


def verify_file(public: str | Path, secret: str | Path) -> VerifiedRelease:
    """Check that a public file belongs to a secret, and that its copies pass their tests.

    Raises:
        AssayError: it does not; the line names the tasks that differ.
    """
    return verify_release(Path(public), Path(secret))


def run_test(
    model: str | Generator,
    secret: str | Path,
    *,
    settings: ReleaseTestSettings | None = None,
    opened: ModelSettings | None = None,
    **by_name: Any,  # noqa: ANN401  the types of the settings
) -> ReleaseTest:
    """Test whether a model knows the outcome of the lot; the test is logged in the secret file.

    Args:
        model: name of a model, or a model.
        secret: the secret file.
        settings: access, parent, tasks, placebo, spend.
        opened: how the model is opened.
        by_name: instead of `settings`, its settings by name.

    Raises:
        AssayError: bad input; one line says what was received and what was expected.
    """
    return run_release_test(model, Path(secret), settings or ReleaseTestSettings.of(**by_name), opened)


def write_twin_file(secret: str | Path, out: str | Path) -> WrittenTwins:
    """Write the twin of each task, for evaluations that stay private.

    Raises:
        AssayError: bad input.
    """
    return write_twins(Path(secret), Path(out))


def rotate_files(secret: str | Path, out: str | Path, *, beacon: str = "") -> MadeRelease:
    """Publish a later version, of copies that no version has.

    Raises:
        AssayError: bad input, or too few copies would stay secret.
    """
    return rotate_release(Path(secret), Path(out), beacon)


def compare_logs(public: str | Path, twin: str | Path, *, secret: str | Path | None = None) -> TwinComparison:
    """Compare an evaluation on the public file with the same evaluation on the twins.

    Raises:
        AssayError: the logs have no single tasks, or are not alike.
    """
    return compare_results(Path(public), Path(twin), None if secret is None else Path(secret))


make, verify, twins, rotate, compare, test = (  # the names that users see: `assay.release.make`
    make_files,
    verify_file,
    write_twin_file,
    rotate_files,
    compare_logs,
    run_test,
)
