"""Tests that run other people's code: they need a sandbox that works."""

import pytest

from assay.code import require_sandbox
from assay.errors import SandboxUnavailable


def skip_without_sandbox():
    """Skip, with the sandbox's own reason, where it cannot run here."""
    try:
        require_sandbox()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
