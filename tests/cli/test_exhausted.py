"""Memory, disk and open files at their limit are one line, and no fault of assay."""

import errno
import os

import pytest

from assay.cli.refusals import as_refusals
from assay.errors import DataError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_a_limit_of_the_system_is_one_line(number):
    with (
        pytest.raises(DataError, match=r"^a\.jsonl: .*, expected more room, or a higher limit \(ulimit\)$"),
        as_refusals(),
    ):
        raise OSError(number, os.strerror(number), "a.jsonl")


def test_a_full_memory_is_one_line():
    with pytest.raises(DataError, match=r"memory .* is full, expected more"), as_refusals():
        raise MemoryError
