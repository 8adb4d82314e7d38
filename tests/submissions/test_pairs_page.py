"""The page of a course."""

import re

import pytest

from assay.corpora import SourceText
from assay.submissions import Submission, compare_submissions, render_page, write_pages
from assay_lab.clones import rename_all

CODE = """def shares(basket, rate):
    total = sum(item.price * rate for item in basket)
    parts = []
    for item in basket:
        parts.append(item.price * rate / total)
        print("<script>alert(1)</script>", item)
    while total > rate and parts:
        total = total - parts[0] * rate
    return parts
"""
GIVEN = "def given(left, right):\n    best = max(left * 2, right)\n    return best + left\n"


@pytest.fixture(scope="module")
def comparison():
    texts = {"ada": GIVEN + CODE, "<b>bob</b>": GIVEN + rename_all(CODE, "python", seed=1), "eve": "x = 1\n"}
    course = [Submission(name, [SourceText(f"{name}.py", text, "python")]) for name, text in texts.items()]
    return compare_submissions(course, template=[SourceText("given.py", GIVEN, "python")])


def test_both_sides_have_the_same_matches_and_no_markup_of_students(comparison):
    page = render_page(comparison)
    left, right = page.split('<section class="side">')[1:]
    numbers = [re.findall(r'<mark class="c[0-5]" data-m="([0-9]+)"', side) for side in (left, right)]
    assert set(numbers[0]) == set(numbers[1]) != set()
    assert "<b>bob</b>" not in page
    assert "<script>alert" not in page
    assert '<span class="given">' in left
    assert "<u>basket</u>" in left
    assert "<svg" not in page


def test_more_than_two_that_belong_together_are_a_graph():
    texts = [CODE, *(rename_all(CODE, "python", seed=seed) for seed in (1, 2))]
    course = [Submission(f"s{at}", [SourceText("a.py", text, "python")]) for at, text in enumerate(texts)]
    assert render_page(compare_submissions(course)).count("<circle") == 3


def test_the_page_loads_nothing(comparison):
    page = render_page(comparison)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|\b(?:src|href)=", page)


def test_a_page_for_each_pair(comparison, tmp_path):
    write_pages(comparison, tmp_path / "pages")
    (page,) = (tmp_path / "pages").iterdir()
    assert page.name == "001-ada--b-bob-b-.html"
    assert "<section" in page.read_text("utf-8")
