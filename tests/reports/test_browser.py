"""The page in a browser: it works with mouse, keyboard and phone, in the dark and on paper."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from assay.leakage.results import Audit, SampleTokens
from assay.types import Sample
from support.audits import page

KINDS = ("demo", "confounded", "unlabelled", "single", "unscorable", "many", "odd")
ODD = (
    "x = '</script><script>document.title=\"owned\"</script>'\n"
    "<img src=x onerror=\"document.title='owned'\"> <!-- &amp; &lt; ]]>\n"
    "nul \x00 lone \ud800 astral 𝄞 combining é right-to-left \u202e line \u2028 bom \ufeff tab \t end"
)
PHONE = 390


@dataclass
class Reader:
    """A headless Chromium that looks at one page, and what a person does with it."""

    driver: webdriver.Chrome

    def look_at(self, page: Path, *, width: int = 1280, scheme: str = "light", medium: str = "screen") -> None:
        screen = {"width": width, "height": 850, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": [scheme_feature]})
        self.driver.get(page.as_uri())

    def ask(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def header(self, title: str) -> WebElement:
        return next(th for th in self.find_all("#samples thead th") if th.text == title)

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def column(self, title: str) -> list[str]:
        """The cells of one column on the page of the table that is shown."""
        return self.ask(
            "const heads = [...document.querySelectorAll('#samples thead th')];"
            "const at = heads.findIndex(th => th.innerText === arguments[0]);"
            "return [...document.querySelectorAll('#samples tbody tr')].map(tr => tr.cells[at].textContent)",
            title,
        )

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    @property
    def open_sample(self) -> str | None:
        return self.ask(
            "const d = document.getElementById('sample'); return d.open ? d.querySelector('h2').textContent : null"
        )


@pytest.fixture(scope="module")
def chromium(browser: webdriver.Chrome) -> Reader:
    return Reader(browser)


@pytest.fixture(scope="module")
def pages(
    every_audit: dict[str, Audit],
    light: Callable[[Audit], Audit],
    page_of_many: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    drawn = {kind: light(every_audit[kind]) for kind in ("demo", "confounded", "single", "unscorable")}
    drawn["unlabelled"] = every_audit["unlabelled"]
    single = drawn["single"]
    starts = np.arange(1, len(ODD))
    tokens = SampleTokens(
        ODD[:30],
        np.full(len(starts), -0.5, np.float32),
        np.ones(len(starts), np.int32),
        np.full(len(starts), 0.3, np.float32),
        np.array([starts, starts + 1], np.int32).T,
    )
    odd = Sample(ODD[:30], ODD, label=ODD[:20], group=ODD, metadata={ODD[:40]: ODD[:40]})
    drawn["odd"] = replace(single, samples=(odd,), tokens=(tokens,), benchmark=ODD[:60])
    written = {kind: page(audit, {"command": "assay demo"}) for kind, audit in drawn.items()}
    for kind, text in {**written, "many": page_of_many}.items():
        (folder / f"{kind}.html").write_text(text, "utf-8")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


@pytest.fixture
def reader(chromium: Reader, pages: dict[str, Path]) -> Reader:
    """A reader with the demonstration before them."""
    chromium.look_at(pages["demo"])
    return chromium


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.replace("−", "-")) for cell in cells if re.fullmatch(r"[−\d.]+(e[−\d]+)?", cell)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_without_complaint_and_asks_nothing_of_a_network(
    kind: str, chromium: Reader, pages: dict[str, Path]
):
    chromium.driver.get_log("browser"), chromium.driver.get_log("performance")  # of the page before
    chromium.look_at(pages[kind])
    assert chromium.driver.get_log("browser") == []
    assert chromium.ask("return performance.getEntriesByType('resource').map(e => e.name)") == []
    messages = [json.loads(entry["message"])["message"] for entry in chromium.driver.get_log("performance")]
    requested = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert pages[kind].as_uri() in requested
    assert {url.split(":", 1)[0] for url in requested} <= {"file", "data"}


def test_the_highest_headline_scores_come_first(reader: Reader):
    assert reader.header("mid_pit").get_attribute("aria-sort") == "descending"
    shown = numbers(reader.column("mid_pit"))
    assert len(shown) == 25
    assert shown == sorted(shown, reverse=True)


def test_a_click_on_a_header_sorts_and_another_one_turns_it_round(reader: Reader):
    reader.header("lrr").find_element(By.TAG_NAME, "button").click()
    assert reader.header("lrr").get_attribute("aria-sort") == "descending"
    assert reader.header("mid_pit").get_attribute("aria-sort") is None
    high = numbers(reader.column("lrr"))
    assert high == sorted(high, reverse=True)
    reader.header("lrr").find_element(By.TAG_NAME, "button").click()
    assert reader.header("lrr").get_attribute("aria-sort") == "ascending"
    low = numbers(reader.column("lrr"))
    assert low == sorted(low)
    assert max(low) < min(high)


def test_the_keyboard_sorts_too(reader: Reader):
    reader.ask("document.querySelector('#samples thead button').focus()")
    reader.press(Keys.ENTER)
    assert reader.header("Sample").get_attribute("aria-sort") == "ascending"
    first = reader.column("Sample")
    reader.press(Keys.SPACE)
    assert reader.header("Sample").get_attribute("aria-sort") == "descending"
    assert reader.column("Sample") != first
    reader.press(Keys.TAB)
    assert reader.focused.text == "mid_pit"


def test_the_unscorable_stay_last_whichever_way_and_say_why(reader: Reader):
    for _ in range(2):
        reader.header("lrr").find_element(By.TAG_NAME, "button").click()
        while reader.find("#next-page").is_enabled():
            reader.find("#next-page").click()
        assert reader.column("lrr")[-3:] == ["every token is the model's first choice"] * 3


def test_a_click_on_a_sample_shows_its_heat_map(reader: Reader):
    name = reader.column("Sample")[0]
    reader.find("#samples tbody button").click()
    assert reader.open_sample == name
    shades = reader.ask("return [...document.querySelectorAll('.token')].map(t => t.className.match(/k\\d/)[0])")
    assert len(shades) > 20
    assert len(set(shades)) > 1
    reader.press(Keys.ESCAPE)
    assert reader.open_sample is None
    assert reader.focused.text == name


def test_the_keyboard_opens_a_sample_reads_its_tokens_and_goes_on(reader: Reader):
    names = reader.column("Sample")
    reader.ask("document.querySelector('#samples tbody button').focus()")
    reader.press(Keys.ENTER)
    assert reader.open_sample == names[0]
    reader.ask("document.getElementById('sample-tokens').focus()")
    reader.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert re.search(r"rank \d+ · probability .+ tail mass u", reader.find("#sample-readout").text)
    reader.ask("document.getElementById('sample-later').focus()")
    reader.press(Keys.ENTER)
    assert reader.open_sample == names[1]
    reader.ask("document.querySelector('#sample summary').focus()")
    reader.press(Keys.SPACE)
    assert [row.text.split()[0] for row in reader.find_all("#sample-scores tr")] == ["mid_pit", "lrr"]


def test_a_token_may_be_shaded_by_its_own_probability(reader: Reader):
    reader.find("#samples tbody button").click()
    before = reader.ask("return document.getElementById('sample-tokens').innerHTML")
    Select(reader.find("#sample-shading")).select_by_value("probability")
    assert reader.ask("return document.getElementById('sample-tokens').innerHTML") != before


def test_the_filter_keeps_what_matches_and_counts_it(reader: Reader):
    reader.find("#filter").send_keys("zipfile")
    kept = reader.column("Group")
    assert kept
    assert set(kept) == {"zipfile"}
    assert re.fullmatch(rf"1–{len(kept)} of \d+ \(300 in all\)", reader.find("#count").text)
    reader.find("#filter").send_keys("nothing is called like this")
    assert reader.column("Group") == []
    assert reader.find("#count").text == "0–0 of 0 (300 in all)"


def test_the_unscorable_can_be_shown_alone(reader: Reader):
    Select(reader.find("#show")).select_by_value("unscorable")
    assert len(reader.column("Sample")) == 3


def test_every_control_is_reached_by_tabbing(reader: Reader):
    reader.press(Keys.TAB)
    assert reader.focused.text == "Skip to the content"
    unreachable = reader.ask(
        "return [...document.querySelectorAll('a, button, select, input, summary')].filter(e => e.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_a_score_can_be_chosen_to_stand_beside_the_headline_score(chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages["unlabelled"])

    def shown() -> list[str]:
        return [item.text for item in chromium.find_all("figure h3") if item.is_displayed()]

    assert shown() == ["Values of mid_pit", "Values of loss"]
    Select(chromium.find("select[data-chooses]")).select_by_visible_text("min_k")
    assert shown() == ["Values of mid_pit", "Values of min_k"]


CONTRAST = """
const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = (colour) => parts(colour).map(v => linear(v / 255))
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/rgba\\(.*, 0\\)/.test(colour)) return colour;
  }
};
const read = (n) => n.getClientRects().length && n.textContent.trim();
return [...document.querySelectorAll(arguments[0])].filter(read).map(n => {
  const [a, b] = [light(getComputedStyle(n).color), light(behind(n))];
  return [n.className || n.tagName, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)];
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground_in_light_and_dark(scheme: str, chromium: Reader, pages: dict[str, Path]):
    """At least 4.5 : 1 (WCAG AA), text on every shade of the heat map included."""
    chromium.look_at(pages["confounded"], scheme=scheme)
    paper = chromium.ask("return getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", paper)[0]) > 127) == (scheme == "light")
    chromium.find("#samples tbody button").click()
    contrasts = chromium.ask(
        CONTRAST, "p, a, th, td, dt, dd, h1, h2, h3, h4, figcaption, li, .token, .unscored, .interval"
    )
    assert len(contrasts) > 200
    assert [item for item in contrasts if item[1] < 4.5] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_needs_no_sideways_scrolling(kind: str, chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages[kind], width=PHONE)
    assert chromium.ask("return document.documentElement.scrollWidth") == PHONE
    chromium.find("#samples tbody button").click()
    assert chromium.ask("return document.querySelector('#sample .body').scrollWidth") <= PHONE
    assert chromium.ask("return document.documentElement.scrollWidth") == PHONE


def test_a_text_that_is_markup_stays_text(chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages["odd"])
    title = chromium.driver.title
    chromium.find("#samples tbody button").click()
    units = "return Array.from(document.getElementById(arguments[0]).textContent, c => c.codePointAt(0))"
    assert chromium.ask(units, "sample-tokens") == [ord(c) for c in ODD]
    assert chromium.ask(units, "sample-title") == [ord(c) for c in ODD[:30]]
    assert chromium.find_all("img, #sample script, #samples script") == []
    assert chromium.driver.title == title != "owned"
    assert chromium.driver.get_log("browser") == []


def test_a_sample_without_tokens_shows_its_text_and_says_so(chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages["unscorable"])
    chromium.find("#samples tbody button").click()
    assert "unshaded" in chromium.find("#sample-missing").text
    assert chromium.find("#sample-tokens").text.startswith("def ")


def test_ten_thousand_samples_are_paged_sorted_and_filtered(chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages["many"])
    assert chromium.find("#count").text == "1–25 of 10,200"
    Select(chromium.find("#show")).select_by_value("tokens")
    assert re.fullmatch(r"1–25 of [1-9],\d{3} \(10,200 in all\)", chromium.find("#count").text)
    chromium.find("#samples tbody button").click()
    assert len(chromium.find_all("#sample-tokens .token")) > 20


def test_on_paper_there_are_no_controls(chromium: Reader, pages: dict[str, Path]):
    chromium.look_at(pages["demo"], medium="print")
    assert not any(item.is_displayed() for item in chromium.find_all("nav, .controls, .pager, .skip"))
    assert chromium.find("#headline").is_displayed()
    assert chromium.driver.print_page()
