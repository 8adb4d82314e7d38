"""Evidence of a copy: full for the text itself, little for unrelated or short code, robust to layout and context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_lab.bugs.membership import ENOUGH, LEAST_EVIDENCE, copy_evidence, evidence_of_words, words_of

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
    assert copy_evidence(FUNCTION, commented, "python").value == 1


def test_a_function_in_a_large_file_is_compared_with_its_stretch_alone():
    evidence = copy_evidence(FUNCTION, OTHER * 20 + FUNCTION + OTHER * 20, "python")
    assert evidence.is_copy
    assert evidence.value > 0.9


def test_unrelated_code_is_no_copy_and_prose_is_compared_word_by_word():
    assert not copy_evidence(FUNCTION, OTHER, "python").is_copy
    issue = "The merge of two lists loses the last value when both have the same length and a key is given. " * 3
    assert copy_evidence(issue, f"# Changes\n\n{issue}").is_copy
    assert not copy_evidence(issue, FUNCTION, None, "python").is_copy


def test_brackets_and_constants_put_in_by_a_tool_cost_little():
    disguised = FUNCTION.replace("+= 1", "+= (0 + 1 - 0)").replace(
        "first < len(left)", "((first) < (len(left))) or False"
    )
    assert copy_evidence(disguised, FUNCTION, "python").value > 0.7


def test_short_code_is_never_full_evidence():
    hello = 'public static void main(String[] args) { System.out.println("Hello"); }'
    evidence = copy_evidence(hello, hello, "java")
    assert evidence.value == pytest.approx(evidence.words / ENOUGH)
    assert evidence.value < LEAST_EVIDENCE


def test_of_a_task_with_fenced_code_only_the_code_counts():
    task = f"Merge two lists.\n```python\n{FUNCTION}```\nExplain.\n"
    assert words_of(task, "python") == words_of(FUNCTION, "python")
    assert words_of(f"```\n{FUNCTION}", "python") == words_of(FUNCTION, "python")


@pytest.mark.parametrize("text", ["", "   \n", "# only a comment\n", "+-*/"])
def test_a_text_without_words_has_no_evidence(text):
    assert copy_evidence(text, FUNCTION, "python").value == 0
    assert copy_evidence(FUNCTION, text, "python").value == 0


@given(st.lists(st.sampled_from("abcdef"), max_size=60), st.lists(st.sampled_from("abcdef"), max_size=60))
def test_evidence_lies_between_0_and_1(words, document):
    evidence = evidence_of_words(tuple(words), tuple(document))
    assert 0 <= evidence.value <= 1
    assert 0 <= evidence.order <= 1
