"""What holds of variants in every language, whatever the names are."""

# ruff: noqa: E501  programs read best as they are written

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.code import variants

TEMPLATES = {
    "java": 'class Solution {{\n    int {f}(int {a}, int[] {b}) {{ // {a} in "{b}"\n        int {c} = {a};\n'
    "        for (int {d} : {b}) {{ {c} += {d}; }}\n        return {c} + {f}(1, {b});\n    }}\n}}\n",
    "c": "int {f}(int {a}, int *{b}) {{ /* {a} */\n    int {c} = {a};\n    for (int {d} = 0; {d} < {a}; {d}++) {c} += {b}[{d}];\n"
    "    return {c} + {f}(1, {b});\n}}\n",
    "cpp": "int {f}(int {a}, vector<int> {b}) {{\n    int {c} = {a};\n    for (auto {d} : {b}) {c} += {d};\n"
    "    return [&]() {{ return {c} + {f}(1, {b}); }}();\n}}\n",
    "javascript": "const {f} = ({a}, {b}) => {{\n  let {c} = `${{{a}}}`;\n  for (const {d} of {b}) {{ {c} += {d}; }}\n"
    "  return {c} + {f}(1, {b});\n}};\n",
    "go": "func {f}({a} int, {b} []int) int {{\n\t{c} := {a}\n\tfor _, {d} := range {b} {{ {c} += {d} }}\n"
    "\treturn {c} + {f}(1, {b})\n}}\n",
}
NAMES = st.lists(st.from_regex(r"[a-z][a-zA-Z_]{1,7}[0-9]?q", fullmatch=True), min_size=5, max_size=5, unique=True)


@settings(max_examples=40)
@given(language=st.sampled_from(sorted(TEMPLATES)), names=NAMES, crlf=st.booleans(), seed=st.integers(0, 9))
def test_the_variant_with_its_old_names_is_the_original(language, names, crlf, seed):
    text = TEMPLATES[language].format(**dict(zip("fabcd", names, strict=True)))
    text = text.replace("\n", "\r\n") if crlf else text
    result = variants(text, 3, language=language, seed=seed)
    assert result.rejected == 0
    assert result.reason is None
    assert len({text, *(variant.text for variant in result.variants)}) == 4
    for variant in result.variants:
        back = {new: old for old, new in (*variant.functions.items(), *variant.variables.items())}
        assert len(back) == 5
        assert not back.keys() & set(re.findall(r"\w+", text))
        assert "".join(back.get(word, word) for word in re.split(r"(\W+)", variant.text)) == text


@given(text=st.text(alphabet="ab(){}[];=,*&:.\"'`$ \n→<>if", max_size=60), language=st.sampled_from(sorted(TEMPLATES)))
def test_no_text_breaks_the_engine(text, language):
    result = variants(text, 2, language=language)
    assert result.rejected == 0
    assert result.variants or result.reason


def test_deep_nesting_is_refused():
    text = "x = " + "(" * 5000 + "1" + ")" * 5000 + ";"
    assert "nested too deeply" in variants(text, 1, language="javascript").reason


def test_a_lone_surrogate_is_refused():
    assert "no valid Unicode" in variants('x = "\ud800"', 1, language="javascript").reason
