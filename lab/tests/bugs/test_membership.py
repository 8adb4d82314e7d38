"""Evidence of a copy: full for the text itself, little for unrelated or short code, robust to layout and context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_lab.bugs.membership import ENOUGH, copy_evidence, prepare

FUNCTION = '''def merge(left, right, key=None):
    """Merge two sorted lists."""
    result, first, second = [], 0, 0
    while first < len(left) and second < len(right):
        if ordering(left[first], key) <= ordering(right[second], key):
            result.append(left[first])
            first += 1
        else:
            result.append(right[second])
            second += 1
    return result + left[first:] + right[second:]
'''
OTHER = """class Window:
    def __init__(self, width, height, title="untitled"):
        self.width, self.height = width, height
        self.title = title.strip().capitalize()
        self.buttons = {name: Button(name, colour="grey") for name in DEFAULT_BUTTONS}

    def resize(self, factor):
        self.width = int(self.width * factor)
        self.height = int(self.height * factor)
        for button in self.buttons.values():
            button.redraw(self.width, self.height)
"""


def test_a_text_is_its_own_copy_whatever_layout_and_comments():
    assert copy_evidence(FUNCTION, FUNCTION, "python").value == 1
    commented = FUNCTION.replace("    result,", "    # a comment of the copier\n    result,").replace("    ", "\t")
    assert copy_evidence(FUNCTION, commented, "python").order == 1
    assert copy_evidence(FUNCTION, commented, "python").value > 0.9
    noticed = f"# Copyright Somebody, licensed under the MIT licence\n{FUNCTION}"
    assert copy_evidence(FUNCTION, noticed, "python").value == 1


def test_a_function_in_a_large_file_is_compared_with_its_stretch_alone():
    evidence = copy_evidence(FUNCTION, OTHER * 20 + FUNCTION + OTHER * 20, "python")
    assert evidence.is_copy
    assert evidence.value > 0.9


def test_unrelated_code_is_no_copy_and_prose_is_compared_word_by_word():
    assert copy_evidence(FUNCTION, OTHER, "python").value < 0.2
    issue = "The merge of two lists loses the last value when both have the same length and a key is given. " * 3
    assert copy_evidence(issue, f"# Changes\n\n{issue}").is_copy
    assert not copy_evidence(issue, FUNCTION, None, "python").is_copy


def test_brackets_and_constants_put_in_by_a_tool_cost_little():
    disguised = FUNCTION.replace("+= 1", "+= (0 + 1 - 0)").replace(
        "first < len(left)", "((first) < (len(left))) or False"
    )
    assert copy_evidence(disguised, FUNCTION, "python").order > 0.8
    assert copy_evidence(disguised, FUNCTION, "python").is_copy


def test_short_code_is_no_copy_even_word_for_word():
    hello = 'public static void main(String[] args) { System.out.println("Hello"); }'
    evidence = copy_evidence(hello, hello, "java")
    assert evidence.value == 1
    assert evidence.runs < ENOUGH
    assert not evidence.is_copy


def test_functions_of_one_kind_are_no_copies_of_each_other():
    bubble = """def sort(values):
    for last in range(len(values) - 1, 0, -1):
        for at in range(last):
            if values[at] > values[at + 1]:
                values[at], values[at + 1] = values[at + 1], values[at]
    return values
"""
    insertion = """def sort(values):
    for at in range(1, len(values)):
        value = values[at]
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    return values
"""
    assert not copy_evidence(bubble, insertion, "python").is_copy
    assert copy_evidence(bubble, bubble.replace("last", "end"), "python").is_copy


def test_of_a_task_with_fenced_code_only_the_code_has_an_order():
    task = f"Merge two lists.\n```python\n{FUNCTION}```\nExplain.\n"
    assert prepare(task, "python").words == prepare(FUNCTION, "python").words
    assert prepare(f"```\n{FUNCTION}", "python").words == prepare(FUNCTION, "python").words


@pytest.mark.parametrize("text", ["", "   \n", "+-*/"])
def test_a_text_without_words_has_no_evidence(text):
    assert copy_evidence(text, FUNCTION, "python").value == 0
    assert copy_evidence(FUNCTION, text, "python").value == 0


@given(st.text("abc(\n# ", max_size=80), st.text("abc(\n# ", max_size=80))
def test_evidence_lies_between_0_and_1(text, document):
    evidence = copy_evidence(text, document, "python")
    assert 0 <= evidence.value <= 1
    assert 0 <= evidence.order <= 1
    assert 0 <= evidence.similarity <= 1
