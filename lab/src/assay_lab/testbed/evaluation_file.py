"""`evaluation.json`: the numbers of a controlled experiment, read back exactly as they were written."""

from pathlib import Path

from assay.codec import decode, encode
from assay.errors import DataError, plain_reason
from assay.files import parse_json, write_json
from assay_lab.testbed.evaluation_result import Evaluation

SCHEMA = 1
EVALUATION = "evaluation.json"


def write_evaluation(folder: Path, evaluation: Evaluation) -> Path:
    """Write the numbers of a run; return the path.

    Raises:
        DataError: the folder cannot be written.
    """
    write_json(folder / EVALUATION, content_of(evaluation))
    return folder / EVALUATION


def content_of(evaluation: Evaluation) -> dict[str, object]:
    """Return what the file holds."""
    return {"schema": SCHEMA, **encode(evaluation)}


def read_evaluation(folder: Path) -> Evaluation:
    """Return the numbers of a run.

    Raises:
        DataError: the folder has none, or a file of another schema.
    """
    path = folder / EVALUATION
    try:
        content = parse_json(path.read_text("utf-8"))
        if content.pop("schema") != SCHEMA:
            raise DataError(f"{path}: expected schema {SCHEMA}")
        return decode(Evaluation, content)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a run that was evaluated") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: expected what `assay lab testbed evaluate` wrote ({plain_reason(error)})") from error
