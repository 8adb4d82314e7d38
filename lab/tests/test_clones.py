"""Fragments, renamed and edited copies."""

import ast
import re

import pytest

from assay.retrieval import fingerprint
from assay.retrieval.fingerprints import Fingerprints
from assay_lab.clones import TokenizedText, edit_lines, rename_all, strip_comments

FUNCTION = '''def mean(values, weight=1.5):
    """The mean.

    # no comment
    """
    total = 0  # so far
    for value in values:
        total += value * weight

    # done
    return {"sum": total, "n": len(values)}
'''


def test_a_fragment_begins_and_ends_with_its_tokens():
    cut = TokenizedText.of("a = b + 1.5  # c\nd(e)\n", "python")
    assert len(cut) == 9
    assert cut.fragment(2, 3) == "b + 1.5"
    assert cut.fragment(4, 3) == "1.5  # c\nd("
    assert cut.fragment(0, 9) == "a = b + 1.5  # c\nd(e)"


@pytest.mark.parametrize(("first", "count"), [(-1, 2), (0, 0), (8, 2), (9, 1)])
def test_tokens_that_are_not_there_are_refused(first, count):
    with pytest.raises(ValueError, match="expected tokens 0 to 8"):
        TokenizedText.of("a = b + 1.5  # c\nd(e)\n", "python").fragment(first, count)


def test_without_comments_docstrings_and_empty_lines_the_same_code_is_left():
    stripped = strip_comments(FUNCTION, "python")
    assert "#" not in stripped
    assert '"""' not in stripped
    assert "\n\n" not in stripped
    body = ast.parse(FUNCTION).body[0]
    del body.body[0]
    assert ast.unparse(ast.parse(stripped)) == ast.unparse(body)


def test_a_triple_quoted_value_is_no_docstring():
    text = 'def f():\n    x = """a"""\n    return """b"""\n'
    assert strip_comments(text, "python") == text


def test_a_comment_of_c_goes():
    assert strip_comments("int x; /* a\n b */ int y; // c\n", "c") == "int x;  int y;\n"


def test_every_name_is_another_and_the_shape_is_the_same():
    new = rename_all(FUNCTION, "python", seed=4)
    assert re.findall(r"\b(?:mean|values|weight|total|value|len)\b", strip_comments(new, "python")) == []
    old_tokens, new_tokens = (fingerprint(text, "python")["tokens"] for text in (FUNCTION, new))
    assert isinstance(old_tokens, Fingerprints)
    assert old_tokens.hashes.tolist() == new_tokens.hashes.tolist()


def test_one_name_becomes_one_name_and_two_become_two():
    before = "aa = bb + aa * cc - bb"
    after = rename_all(before, "python", seed=1)
    pairs = set(zip(re.findall(r"\w+", before), re.findall(r"\w+", after), strict=True))
    assert len(pairs) == 3
    assert len({new for _, new in pairs}) == 3


def test_a_spared_name_stays():
    assert rename_all("self.x = self.y", "python", seed=1, spare={"self"}).count("self") == 2


def test_seeds_decide():
    assert rename_all(FUNCTION, "python", seed=4) == rename_all(FUNCTION, "python", seed=4)
    assert rename_all(FUNCTION, "python", seed=4) != rename_all(FUNCTION, "python", seed=5)
    assert edit_lines(FUNCTION, ["pass"], seed=4) == edit_lines(FUNCTION, ["pass"], seed=4)
    assert len({edit_lines(FUNCTION, ["pass"], seed=seed) for seed in range(9)}) > 1


def test_many_names_all_become_different_and_none_a_reserved_word():
    names = [f"n{number}" for number in range(5000)]
    new = re.findall(r"\w+", rename_all(" ".join(names), "python", seed=1))
    assert len(set(new)) == 5000
    assert not {"class", "case", "double", "function"} & set(new)


def test_one_edit_adds_a_donors_line_removes_one_or_swaps_two():
    lines = ["a", "  b", "c", "d"]
    kinds = set()
    for seed in range(40):
        after = edit_lines("\n".join(lines), ["  new()\n"], seed=seed, share=0.1).split("\n")
        kinds.add(len(after))
        assert {line.strip() for line in after} <= {"a", "b", "c", "d", "new()"}
    assert kinds == {3, 4, 5}


def test_a_single_line_gains_one():
    assert edit_lines("x = 1", ["y = 2"], seed=1) == "x = 1\ny = 2"


def test_no_line_to_add_is_refused():
    with pytest.raises(ValueError, match="at least one donor"):
        edit_lines("x = 1", ["\n"], seed=1)
