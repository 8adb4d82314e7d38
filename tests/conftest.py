"""Fixtures that every room's tests share."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# One thread a process, as xdist gives each core a worker: threads that wait for each other cost several times what they
# give, and equal runs have equal bits. Workers and programs that tests start inherit it.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported: no test asks a hub

# Time says nothing on a busy machine. CI judges every change by the same examples; elsewhere new ones are tried.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

pytest_plugins = ["support.audits", "support.training_fixtures"]

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_finish() -> None:
    """Hide modules and tests, which stay to the end, from the garbage collector: it would walk them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real benchmarks for trying and measuring; they lie beside the repository and are never part of it."""
    folder = Path(os.environ.get("ASSAY_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no real benchmarks here: {folder} is absent")
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """Values from published implementations, with the tiny models they were computed on."""
    return ROOT / "tests" / "data" / "golden"
