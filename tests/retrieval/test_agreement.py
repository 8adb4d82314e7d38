"""Python's own tokenizer as the yardstick, on the standard library."""

import io
import random
import sysconfig
import tokenize
from pathlib import Path

import pytest

from assay.languages import lexical_rules
from assay.retrieval.plain_marks import COMMENT
from assay.retrieval.scanning import find_regions
from assay.retrieval.source import Source
from assay.retrieval.token_channel import tokens

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = random.Random(0).sample(sorted(path.name for path in LIBRARY.glob("*.py")), 40)
LAYOUT = {"ENCODING", "NEWLINE", "NL", "INDENT", "DEDENT", "ENDMARKER"}


def tokenized(text):
    """Comments, and the other tokens: f-strings whole (from 3.12 on they come in parts), operators by character."""
    comments, others, depth, start = [], [], 0, None
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name in {"FSTRING_START", "TSTRING_START"}:
            start = start or token.start
            depth += 1
        elif name in {"FSTRING_END", "TSTRING_END"}:
            depth -= 1
            if not depth:
                others.append(between(lines, start, token.end))
                start = None
        elif depth or name in LAYOUT:
            continue
        elif name == "COMMENT":
            comments.append(token.string)
        else:
            others += token.string if name == "OP" else [token.string]
    return comments, others


def between(lines, start, end):
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right]
    return lines[first - 1][left:] + "".join(lines[first : last - 1]) + lines[last - 1][:right]


@pytest.mark.parametrize("name", FILES)
def test_comments_and_tokens_are_those_of_pythons_tokenizer(name):
    text = (LIBRARY / name).read_text("utf-8")
    source = Source.of(text)
    regions = find_regions(source, lexical_rules("python"))
    comments = [
        text[start:stop]
        for start, stop, kind in zip(regions.starts, regions.stops, regions.kinds, strict=True)
        if kind == COMMENT
    ]
    found = tokens(source, regions, lexical_rules("python"))
    others = [text[start:stop] for start, stop in zip(found.starts, found.stops, strict=True)]
    assert (comments, others) == tokenized(text)
