"""`evaluation.json`: the numbers of a controlled experiment, read back as they were written."""

import json
from pathlib import Path

from assay.errors import DataError
from assay.pages.codec import decode
from assay.testbed import Evaluation

SCHEMA = 1
EVALUATION = "evaluation.json"


def read_evaluation(folder: Path) -> Evaluation:
    """The numbers of a run.

    Raises:
        DataError: the folder has none, or a file of another schema.
    """
    path = folder / EVALUATION
    try:
        content = json.loads(path.read_text("utf-8"))
        if content.pop("schema") != SCHEMA:
            raise DataError(f"{path}: expected schema {SCHEMA}")
        return decode(Evaluation, content)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a run that was evaluated") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: expected what `assay testbed evaluate` wrote ({error})") from error
