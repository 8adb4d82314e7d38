"""Fixtures that every room's tests share."""

import gc
import os
import random
import sys
from collections.abc import Generator, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

# One thread a process, as xdist gives each core a worker: threads that wait for each other cost several times what they
# give, and equal runs have equal bits. Workers and programs that tests start inherit it.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported: no test asks a hub

# Every run judges by the same examples, so none fails by chance; `make fuzz` takes the profile "new".
# Time says nothing on a busy machine.
settings.register_profile("fixed", deadline=None, derandomize=True, database=None, max_examples=50)
settings.register_profile("new", deadline=None, derandomize=False, max_examples=1000)
settings.load_profile("fixed")

pytest_plugins = ["support.audits", "support.command_line", "support.programs", "support.training_fixtures"]

ROOT = Path(__file__).resolve().parent
PROGRAMS = {"browser", "sandbox"}
"""Fixtures of `support.programs`."""

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


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need an optional program: they are those that use a fixture that skips without it."""
    for item in items:
        if isinstance(item, pytest.Function) and PROGRAMS.intersection(item.fixturenames):
            item.add_marker("program")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Draw the same numbers in every run, in whatever order the tests come."""
    random.seed(0)
    if numpy_random := sys.modules.get("numpy.random"):
        numpy_random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


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


@pytest.fixture
def same_keys() -> Iterator[None]:
    """Releases draw the same lots in every run: a real lot would reject a true hypothesis once in twenty runs."""
    numbers = count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.release.making.new_key", lambda: sha256(str(next(numbers)).encode()).hexdigest())
        yield


@pytest.fixture(scope="session")
def golden() -> Path:
    """Values from published implementations, with the tiny models they were computed on."""
    return ROOT / "tests" / "data" / "golden"
