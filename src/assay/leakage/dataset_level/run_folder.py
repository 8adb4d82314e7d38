"""A judgement on disk: manifest.json (how it was made) and judgement.json (all values, schema 1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import DataError, plain_reason
from assay.files import parse_json, write_json
from assay.leakage.dataset_level.results import DatasetJudgement
from assay.leakage.run_folder import SUMMARY
from assay.reports import decode, encode

SCHEMA = 1
JUDGEMENT = "judgement.json"
MANIFEST = "manifest.json"


def is_judgement(folder: Path) -> bool:
    """Return True if a run folder holds a judgement of a data set."""
    return (folder / JUDGEMENT).is_file()


def write_judgement(folder: Path, judgement: DatasetJudgement, manifest: Mapping[str, object]) -> Path:
    """Write a run folder; files of an earlier run are replaced.

    Raises:
        DataError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the run folder {folder}: {error.strerror or error}") from error
    write_json(folder / JUDGEMENT, {"schema": SCHEMA} | encode(judgement), sort_keys=True)
    write_json(folder / MANIFEST, encode(manifest))
    return folder


def read_judgement(folder: Path) -> tuple[DatasetJudgement, dict[str, Any]]:
    """Return the judgement and the manifest of a run folder.

    Raises:
        DataError: it is not a run of `assay dataset`, or a file of it is missing, broken or of another version.
    """
    if not is_judgement(folder):
        kind = "a run of `assay audit`, which judges samples" if (folder / SUMMARY).is_file() else "not a run folder"
        raise DataError(f"{folder} is {kind}; expected a folder that `assay dataset` wrote")
    content, manifest = (_read(folder / name) for name in (JUDGEMENT, MANIFEST))
    if content.pop("schema", None) != SCHEMA:
        raise DataError(f"{folder / JUDGEMENT}: another schema, expected {SCHEMA}")
    try:
        return decode(DatasetJudgement, content), manifest
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / JUDGEMENT} is not a whole judgement: {plain_reason(error)}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a JSON file"
        raise DataError(f"{path} cannot be read: {reason}; expected a run of `assay dataset`") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds a {type(content).__name__}, expected a JSON object")
    return content
