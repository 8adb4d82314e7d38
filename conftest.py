"""Fixtures that every room's tests share."""

import gc
import os
import sys
from collections.abc import Generator
from itertools import count
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

pytest_plugins = ["support.audits", "support.command_line", "support.training_fixtures"]

ROOT = Path(__file__).resolve().parent


finished_files = count(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while the tests are imported; hide the modules and tests that are there then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        hide_from_collector()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Forget the options of a command that ran in this process; hide imports after 1, 2, 4, 8, … files of tests."""
    if common := sys.modules.get("assay.cli.common"):
        common.forget_options()  # `-q` of one test is not for the next
    if nextitem is not None and nextitem.path != item.path and next(finished_files).bit_count() == 1:
        hide_from_collector()


def hide_from_collector() -> None:
    """Hide modules, which stay to the end, from the garbage collector: it would walk them again and again."""
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
