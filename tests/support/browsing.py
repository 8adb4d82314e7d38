"""A headless Chromium, where there is one."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service


@contextmanager
def headless_chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser with a fresh profile; skips the test where none is installed."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("Chromium or its driver is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to start for root with it
    found = webdriver.Chrome(options=options, service=Service(driver, log_output=subprocess.DEVNULL))
    try:
        yield found
    finally:
        found.quit()
