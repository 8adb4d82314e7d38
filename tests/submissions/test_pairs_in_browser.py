"""The page of a course in a real browser, by keyboard."""

import random
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from assay.corpora import SourceText
from assay.submissions import Submission, compare_submissions, render_page
from assay_lab.clones import rename_all

OPEN = "return [...document.querySelectorAll('main > details')].map((pair) => pair.open)"
TOPS = """
return [...document.querySelectorAll('main > details[open] .side mark.now')].map((mark) => Math.round(
  mark.getBoundingClientRect().top - mark.closest('.code').getBoundingClientRect().top))
"""
FOCUSED = "const mark = document.activeElement; return [mark.tagName, mark.dataset.m, mark.className.split(' ')[0]]"


def program(seed: int) -> str:
    draw = random.Random(seed)
    lines = [f"    total_{draw.randrange(9)} = rows[{draw.randrange(99)}] {draw.choice('+-*')} rate" for _ in range(80)]
    return f"def main_{seed}(rows, rate):\n" + "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def page(browser: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> webdriver.Chrome:
    texts = [program(1), program(2), program(3)]
    copies = [rename_all(texts[0], "python", seed=1), "x = 1\n" * 60 + rename_all(texts[1], "python", seed=2)]
    course = [Submission(f"s{at}", [SourceText(f"{at}.py", text, "python")]) for at, text in enumerate(texts + copies)]
    path: Path = tmp_path_factory.mktemp("course") / "pairs.html"
    path.write_text(render_page(compare_submissions(course)), "utf-8")
    browser.get(path.as_uri())
    return browser


def press(page: webdriver.Chrome, key: str) -> None:
    ActionChains(page).send_keys(key).perform()


def test_the_page_works_by_keyboard_and_loads_nothing(page: webdriver.Chrome):
    assert page.get_log("browser") == []
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.execute_script(OPEN) == [True, False]
    press(page, "j")
    assert page.execute_script(OPEN) == [False, True]
    press(page, "j")  # the last one stays open
    assert page.execute_script(OPEN) == [False, True]
    for _ in range(30):
        press(page, "n")
    kind, number, colour = page.execute_script(FOCUSED)
    assert kind == "MARK"
    tops = page.execute_script(TOPS)
    assert max(tops) - min(tops) <= 2, "both sides of a match stand at one height"
    press(page, Keys.ENTER)
    assert page.execute_script(FOCUSED) == [kind, number, colour], "the other side has the same number and colour"
    press(page, "k")
    assert page.execute_script(OPEN) == [True, False]


def test_what_can_be_used_is_reached_by_tab(page: webdriver.Chrome):
    page.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(12):
        press(page, Keys.TAB)
        reached.add(page.execute_script("return document.activeElement.tagName"))
    assert {"SUMMARY", "MARK"} <= reached
