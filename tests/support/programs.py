"""Optional programs: the sandbox of bubblewrap, and a headless Chromium; conftest marks what uses them `program`."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium import webdriver


@pytest.fixture(scope="session")
def sandbox() -> None:
    """Skip, with the sandbox's own reason, where code of others cannot be run."""
    from assay.code import require_sandbox
    from assay.errors import SandboxUnavailable

    try:
        require_sandbox()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator["webdriver.Chrome"]:
    """A browser with a fresh profile; skips where none is installed."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("Chromium or its driver is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to start for root with it
    with webdriver.Chrome(options=options, service=Service(driver, log_output=subprocess.DEVNULL)) as chromium:
        yield chromium
