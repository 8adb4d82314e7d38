"""A cluster of Ray on this machine, for tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import ray

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def local_cluster(*, workers: int) -> Iterator[None]:
    """Start workers with little memory and nothing that watches; they can import these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        paths = os.pathsep.join(str(ROOT / place) for place in ("src", "tests", "plugins/ray/src", "plugins/ray/tests"))
        ray.init(
            address="local",
            num_cpus=workers,
            object_store_memory=80_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            runtime_env={"env_vars": {"PYTHONPATH": paths}},
        )
        yield
        ray.shutdown()
