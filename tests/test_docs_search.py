"""The search of the built documentation works from a folder, without a server and without a network."""

import re
import shutil
from pathlib import Path

from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[1]
SHIM = ROOT / "docs" / "assets" / "iframe-worker.js"


def test_the_search_is_built_for_a_folder_and_loads_nothing_from_elsewhere():
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert re.search(r"^  - offline\b", settings, re.MULTILINE)
    assert "use_directory_urls: false" in settings
    assert re.search(r"polyfills:\n    - assets/iframe-worker\.js", settings)


def test_a_worker_runs_on_a_page_that_was_opened_from_a_folder(tmp_path, browser):
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "worker.js").write_text("addEventListener('message', (event) => postMessage(event.data + 1));")
    (tmp_path / "page.html").write_text(
        "<html><body><script src='iframe-worker.js'></script><script>"
        "const worker = new Worker('worker.js');"
        "worker.addEventListener('message', (event) => { document.title = 'answer ' + event.data; });"
        "worker.postMessage(41);</script></body></html>"
    )
    browser.get((tmp_path / "page.html").as_uri())
    WebDriverWait(browser, 30).until(lambda page: page.title == "answer 42")
