"""Reports whose every name is an attack, opened in a browser: nothing runs, nothing is fetched, nothing is linked."""

from dataclasses import replace
from itertools import cycle

import pytest

from assay.leakage.results import Audit
from support.audits import page as page_of

NAMES = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "</title></style></textarea><svg onload=alert(3)>",
    "\"><a href='javascript:alert(4)'>click</a>",
    "{{ 7 * 7 }}${7*7}",
    "http://example.org/\u202egpj.exe\x1b[2J\x00",
    "__proto__",
    "constructor",
)


@pytest.fixture
def hostile(unlabelled: Audit) -> Audit:
    """An audit in which every name is one of the attacks."""
    named = tuple(
        replace(sample, id=f"{name} {number}", label=None, group=name, language=name, metadata={name: name})
        for number, (sample, name) in enumerate(zip(unlabelled.samples, cycle(NAMES), strict=False))
    )
    return replace(unlabelled, samples=named, benchmark=NAMES[1], model=NAMES[0])


def test_a_report_with_hostile_ids_is_text_to_a_browser(hostile, tmp_path, browser):
    page = tmp_path / "report.html"
    page.write_text(page_of(hostile, {name: name for name in NAMES} | {"command": ["assay", *NAMES]}), "utf-8")
    browser.get(page.as_uri())  # an alert would end this with an exception
    for row in range(20):
        browser.execute_script("document.querySelectorAll('#samples tbody button')[arguments[0]].click()", row)
        title = browser.execute_script("return document.getElementById('sample-title').textContent")
        assert title.rpartition(" ")[0] in NAMES
        browser.execute_script("document.getElementById('sample').close()")
    assert browser.find_elements("css selector", "img, svg[onload], [onerror], #samples a, #sample a") == []
    links = browser.execute_script("return [...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert not [link for link in links if not link.startswith(("#", "https://arxiv.org/", "https://doi.org/"))]
    assert browser.execute_script("return ({}).polluted === undefined && document.scripts.length") <= 3
    requests = [entry["message"] for entry in browser.get_log("performance") if "requestWillBeSent" in entry["message"]]
    assert not [request for request in requests if "example.org" in request or '"http' in request.split('"url"')[1][:9]]
    assert browser.get_log("browser") == []
