"""What a person meets on the page of the service."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from support.serving import PATIENCE, serving
from support.snippets import GRAPH, MEDIAN


@pytest.fixture(scope="module")
def address(small_index):
    with serving(small_index) as found:
        yield found


@pytest.fixture
def page(browser, address):
    """The page, loaded and ready."""
    browser.get(address)
    until(browser, "return document.getElementById('language').options.length > 5")
    return browser


def until(driver, script):
    WebDriverWait(driver, PATIENCE, 0.02).until(lambda browser: browser.execute_script(script))


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def trace(driver, text, keys=Keys.CONTROL + Keys.ENTER):
    driver.execute_script("document.getElementById('code').value = arguments[0]", text)
    find(driver, "#code").send_keys(keys)
    until(driver, "return /ms\\.|answered|too/.test(document.getElementById('status').textContent)")


def test_pasted_code_is_traced_by_the_keyboard_alone_and_the_verdict_comes_first(page):
    trace(page, MEDIAN)
    assert find(page, "#verdict").text == "MIT: 7 of 7 lines of median_of_values, from example/stats"
    assert find(page, ".match h3").text.startswith("stats/<b>middle.py:12-")
    assert find(page, ".badge").text == "MIT"
    assert "permissive" in find(page, ".badge").get_attribute("class")
    assert find(page, ".match h3 a").get_attribute("href") == "https://example.org/stats/middle.py"


def test_a_token_is_asked_for_only_where_the_service_wants_one(page, small_index):
    assert not find(page, "#token").is_displayed()
    with serving(small_index, token="secret") as guarded:  # noqa: S106  a word of the test
        page.get(guarded)
        until(page, "return document.getElementById('about').textContent.includes('token')")
        find(page, "#token").send_keys("secret")
        trace(page, MEDIAN)
        assert find(page, ".badge").text == "MIT"


def test_an_address_that_is_none_is_no_link_and_copyleft_is_told(page):
    trace(page, GRAPH)
    assert not page.find_elements(By.CSS_SELECTOR, ".match h3 a")
    assert "copyleft" in find(page, ".badge").get_attribute("class")


def test_matched_lines_stand_side_by_side_with_their_numbers(page):
    trace(page, "import os\n\n" + MEDIAN)
    until(page, "return document.querySelector('.document-side .line.hit') !== null")
    mine = page.execute_script("return [...document.querySelectorAll('.query-side .hit')].map(l => l.dataset.line)")
    there = page.execute_script("return [...document.querySelectorAll('.document-side .hit')].map(l => l.dataset.line)")
    assert mine[0] == "3"
    assert there[0] == "12"


def test_the_attribution_can_be_taken_along(page):
    trace(page, MEDIAN)
    find(page, ".copy").click()
    until(page, "return document.querySelector('.attribution span').childNodes.length > 0")
    offered = page.execute_script(
        "const box = document.querySelector('.attribution textarea');"
        "return box ? box.value : navigator.clipboard.readText().catch(() => 'copied')"
    )
    assert offered == "copied" or "Licence: MIT" in offered


def test_what_has_no_source_is_told_with_the_reason(page):
    trace(page, "x = 1")
    assert not page.find_elements(By.CSS_SELECTOR, ".match")
    assert find(page, "#verdict").text.startswith("No source: too short")


WEAK = "\n".join(MEDIAN.splitlines()[:4]) + "\n"


def test_a_weaker_match_is_folded_and_offers_no_attribution(page):
    trace(page, WEAK)
    assert page.find_elements(By.CSS_SELECTOR, "#copies .match") == []
    assert not find(page, "#others .match").is_displayed()
    find(page, "#weaker > summary").click()
    assert find(page, "#others .match").is_displayed()
    assert page.find_elements(By.CSS_SELECTOR, ".copy") == []


def test_both_sides_are_coloured_and_scroll_together(page):
    trace(page, "\n" * 60 + MEDIAN + "\n" * 60)
    until(page, "return document.querySelector('.document-side .line.hit') !== null")
    assert find(page, ".document-side .keyword").text == "def"
    shown = find(page, ".document-side").get_attribute("innerText").splitlines()
    assert shown[:3] == MEDIAN.splitlines()[:3]
    page.execute_script("document.querySelector('.document-side').style.maxHeight = '4rem'")
    page.execute_script("const box = document.querySelector('.query-side'); box.scrollTop += 40;")
    until(page, "return document.querySelector('.document-side').scrollTop > 0")


def test_the_page_uses_no_names_of_methods(page):
    trace(page, MEDIAN)
    text = find(page, "body").text
    assert not [word for word in ("union", "hst", "winnowing", "HST") if word in text]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_and_nothing_complains(page, width, scheme):
    screen = {"width": width, "height": 850, "deviceScaleFactor": 1, "mobile": width < 600}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.get_log("browser")
    trace(page, MEDIAN)
    until(page, "return document.querySelector('.document-side .line.hit') !== null")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert page.get_log("browser") == []


def test_every_request_goes_to_the_service_itself(page, address):
    trace(page, MEDIAN)
    asked = page.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert asked
    assert all(entry.startswith(address) for entry in asked)


DOCSTRING = '"""The middle of the values."""'
RENAMED = MEDIAN.replace("median_of_values", "middle_of").replace("ordered", "ranks").replace(
    DOCSTRING, '"""Return the median.\n\n    Of an even number: the mean\n    of both in the middle.\n    """'
)  # fmt: skip


def test_lines_stay_level_after_a_docstring_of_another_length_and_new_names_are_marked(page):
    # tests before this one may have left a narrow screen, which shows one side below the other
    screen = {"width": 1280, "height": 850, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    trace(page, RENAMED)
    until(page, "return document.querySelector('.document-side .line.hit') !== null")
    tops = page.execute_script(
        "return ['.query-side', '.document-side'].map((side) => [...document.querySelectorAll(side + ' .line')]"
        ".filter((line) => /return .* 2$/.test(line.textContent)).map((line) => line.offsetTop))"
    )
    assert len(tops[0]) == len(tops[1]) == 1
    assert tops[0] == tops[1]
    marks = page.execute_script(
        "return [...document.querySelectorAll('.query-side mark')].map(m => [m.textContent, m.title])"
    )
    assert {text for text, _ in marks} == {"middle_of", "ranks"}
    assert ["ranks", "on the other side: ordered"] in marks
    assert page.execute_script("return document.querySelectorAll('.document-side .gap').length") == 4


def test_the_same_code_has_no_mark(page):
    trace(page, MEDIAN)
    until(page, "return document.querySelector('.document-side .line.hit') !== null")
    assert not page.find_elements(By.CSS_SELECTOR, "mark")


def test_a_text_that_is_too_short_gets_one_line(page):
    trace(page, "x = 1")
    assert "too short" in find(page, "#verdict").text.casefold() or "expected" in find(page, "#verdict").text
    assert find(page, "#status").text.endswith("ms.")
    assert len(find(page, "#status").text.split()) == 2
