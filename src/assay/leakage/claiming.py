"""The run that a folder holds: a finished one is never overwritten by accident, an unfinished one is continued."""

from collections.abc import Mapping
from pathlib import Path

from assay.errors import DataError
from assay.files import parse_json, write_json
from assay.leakage.run_folder import MANIFEST
from assay.reports import encode, listed

STARTED = "started.json"
"""Settings of a run that has begun; removed when it is finished."""


def refuse_finished(folder: Path, *, force: bool) -> None:
    """Check, before anything is loaded, that a folder holds no finished run.

    Raises:
        DataError: it does, and `force` is False.
    """
    if not force and (folder / MANIFEST).exists():
        raise DataError(
            f"{folder} holds a finished run; expected another folder, or --force to replace it "
            f"(`assay report {folder}` shows it)"
        )


def claim_run(folder: Path, settings: Mapping[str, object], *, force: bool) -> None:
    """Begin a run in a folder, or continue the unfinished run with the same settings.

    Args:
        folder: created where it does not exist.
        settings: everything that decides about the result.
        force: replace another run.

    Raises:
        DataError: the folder holds a finished run, or an unfinished one with other settings, and `force` is False; or
            it cannot be written.
    """
    refuse_finished(folder, force=force)
    entries = {key: encode(value) for key, value in settings.items()}
    before = _settings_of(folder / STARTED)
    if not force and before is not None and before != entries:
        differing = sorted(key for key in {*before, *entries} if before.get(key) != entries.get(key))
        raise DataError(
            f"{folder} holds an unfinished run with other settings ({listed(differing)}); expected the same settings "
            "to continue it, another folder, or --force to replace it"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the run folder {folder}: {error.strerror or error}") from error
    write_json(folder / STARTED, entries)


def finish_run(folder: Path) -> None:
    """Mark the run of a folder as finished."""
    (folder / STARTED).unlink(missing_ok=True)


def next_run_folder(folder: Path) -> Path:
    """Return the folder, or the first of `folder-2`, `folder-3`, … that holds no finished run."""
    number, candidate = 1, folder
    while (candidate / MANIFEST).exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate


def _settings_of(path: Path) -> Mapping[str, object] | None:
    """Return the settings of an unfinished run; None without one, or where its file is damaged."""
    try:
        settings = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None
