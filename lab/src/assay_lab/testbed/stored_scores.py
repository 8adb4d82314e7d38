"""Scores on disk, each column bound to what it was computed from.

The origin of a column is a digest of checkpoint, texts and settings. A resumed run reuses a column only if its origin
is the present one, so values of another model or of other settings are never taken for those of this run.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.errors import DataError
from assay.files import atomic_path

Columns = dict[str, NDArray[np.float64]]
"""Detector → float64 [texts], NaN where unscorable."""
_ORIGINS = b"origins"


def write_scores(
    path: Path,
    ids: Sequence[str],
    values: Mapping[str, NDArray[np.float64]],
    origins: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write one row a text and one column a detector; null where unscorable.

    Args:
        path: of the Parquet file.
        ids: of the texts.
        values: detector → float64 [texts].
        origins: detector → digest of what its column was computed from; a column without one is never current.

    Raises:
        DataError: the file cannot be written.
    """
    columns = {name: pa.array(column, pa.float64(), from_pandas=True) for name, column in values.items()}
    table = pa.table({"id": list(ids), **columns}).replace_schema_metadata({_ORIGINS: json.dumps(dict(origins))})
    with atomic_path(path) as unfinished:
        pq.write_table(table, unfinished)


def read_scores(path: Path, ids: Sequence[str]) -> Columns:
    """Return all columns of a file, whatever their origin.

    Raises:
        DataError: the file is of other texts, or no such file.
    """
    table = _table(path)
    if table.column("id").to_pylist() != list(ids):
        raise DataError(
            f"{path} holds scores of other texts; expected those of this run: remove it, or take a new folder"
        )
    return _columns(table)


def current_scores(path: Path, ids: Sequence[str], origins: Mapping[str, str]) -> Columns:
    """Return the columns of these origins; none if there is no file.

    Args:
        path: of the Parquet file.
        ids: of the texts.
        origins: detector → digest of what its column would be computed from now.

    Raises:
        DataError: the file cannot be read.
    """
    if not path.exists():
        return {}
    table = _table(path)
    if table.column("id").to_pylist() != list(ids):
        return {}
    stored = json.loads((table.schema.metadata or {}).get(_ORIGINS, b"{}"))
    # "" and None differ, so that a column without an origin is never current
    return {name: column for name, column in _columns(table).items() if origins.get(name, "") == stored.get(name)}


def _table(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
        table.column("id")
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DataError(f"{path}: expected scores that `assay lab testbed evaluate` wrote") from error
    return table


def _columns(table: pa.Table) -> Columns:
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names if name != "id"}
