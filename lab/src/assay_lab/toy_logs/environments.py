"""An environment of its own for each harness, made of its package in one version, and what it writes there."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from assay.errors import DataError
from assay_lab.toy_logs import harness_runs


@dataclass(frozen=True, slots=True)
class Harness:
    """A harness that writes toy logs.

    Attributes:
        packages: requirements of its environment.
        logs: patterns of the files that are kept.
        checkout: True where its program is a checkout of a repository and not a package.
    """

    packages: tuple[str, ...]
    logs: tuple[str, ...]
    checkout: bool = False


HARNESSES: Mapping[str, Harness] = {
    "evalplus": Harness(("evalplus==0.3.1",), ("samples_eval_results.json",)),
    # it imports matplotlib where it runs a solution, and does not ask for it
    "bigcodebench": Harness(
        ("bigcodebench==0.2.5", "matplotlib"), ("samples_eval_results.json", "samples_pass_at_k.json")
    ),
    # later versions of xxhash take no text, which lighteval 0.13.0 gives them
    "lighteval": Harness(("lighteval==0.13.0", "xxhash<4"), ("details/**/*.parquet", "results/**/*.json")),
    "livecodebench": Harness(("datasets<4", "numpy", "tqdm"), ("*_eval.json", "*_eval_all.json"), checkout=True),
}
VERSIONS = "versions.json"
"""Name of the file that states the version of each harness."""


def write_toy_logs(out: Path, names: Sequence[str], environments: Path, checkout: Path | None) -> None:
    """Write the logs of harnesses into folders of their names, and their versions beside them.

    Args:
        out: folder of the logs.
        names: keys of `HARNESSES`.
        environments: folder of the environments; one that is there is used as it is.
        checkout: of the harness that is no package.

    Raises:
        DataError: a harness is unknown, has no checkout, or ends with an error.
    """
    unknown = [name for name in names if name not in HARNESSES]
    if unknown:
        raise DataError(f"received the harness {unknown[0]!r}, expected one of {', '.join(HARNESSES)}")
    if any(HARNESSES[name].checkout for name in names) and checkout is None:
        raise DataError("livecodebench: received no checkout, expected --checkout DIR: it is no package")
    versions = json.loads((out / VERSIONS).read_text("utf-8")) if (out / VERSIONS).is_file() else {}
    for name in names:
        harness = HARNESSES[name]
        python = _environment(environments.absolute() / name, harness.packages)
        work = environments.absolute() / f"{name}-files"
        work.mkdir(parents=True, exist_ok=True)
        for earlier in filter(Path.is_file, work.rglob("*")):
            earlier.unlink()
        arguments = [str(checkout.absolute())] if harness.checkout and checkout is not None else []
        _run([str(python), str(Path(harness_runs.__file__)), name, str(work), *arguments], work)
        for pattern in harness.logs:
            for path in sorted(work.glob(pattern)):
                target = out / name / path.relative_to(work)
                target.parent.mkdir(parents=True, exist_ok=True)
                copyfile(path, target)
        versions[name] = _version(python, harness, checkout)
    (out / VERSIONS).write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n", "utf-8")


def _environment(folder: Path, packages: Sequence[str]) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)], Path())
        _run([str(python), "-m", "pip", "install", "--quiet", *packages], folder)
    return python


def _version(python: Path, harness: Harness, checkout: Path | None) -> str:
    if harness.checkout:
        return _run(["git", "-C", str(checkout), "rev-parse", "HEAD"], Path()).strip()
    package = harness.packages[0].partition("==")[0]
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return _run([str(python), "-c", code], Path()).strip()


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  our own list
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(f"{' '.join(command[:4])} ended with {done.returncode}: {last}")
    return done.stdout
