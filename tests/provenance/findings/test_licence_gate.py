"""The licence gate: what a copy is, which licences count, and what is no chance."""

import random

import pytest

from assay.corpora import Document, Origin, SourceText
from assay.corpora.lines import code_lines, merge_lines
from assay.corpora.texts import pieces
from assay.licences.notices import UNKNOWN_LICENCE
from assay.licences.rules import LicenceRules, read_rules
from assay.provenance import CodeIndex, Thresholds, TraceSettings, judge, trace_file
from assay.provenance.findings.finding import TracedFile, findings_of
from assay.provenance.findings.gate import FALSE_ALARMS, NEARLY_A_COPY
from assay.provenance.search import Trace
from assay.provenance.search.copies import LEAST
from assay.types import Match, Span

COPYLEFT = read_rules(["copyleft"])
WORDS = "basket count data edge field group head item key line mark node order path query row seed table".split()  # noqa: SIM905
LINES = (
    "    {a} = {b} {o} {n}",
    "    if {a} {o} {n} > {b}:\n        {c} = [{a}, {b}]",
    "    for {a} in {b}:\n        {c}.append({a} {o} {n})",
    "    {a} = {{{b}: {c}, {n}: '{d}'}}",
    "    with {a}({b}) as {c}:\n        {d}.write({c} {o} {n})",
    "    try:\n        {a}({b}[{n}])\n    except {c}Error:\n        {d} = None",
    "    while {a} < {n}:\n        {a} {o}= len({c}, {d})",
)


def function(seed, statements=8):
    """A function like no other."""
    draw = random.Random(f"gate {seed}")
    lines = []
    for _ in range(statements):
        a, b, c, d = (draw.choice(WORDS) + draw.choice(WORDS) for _ in range(4))
        lines.append(draw.choice(LINES).format(a=a, b=b, c=c, d=d, o=draw.choice("+-*%"), n=draw.randrange(999)))
    return f"def {draw.choice(WORDS)}_{str(seed).replace(' ', '_')}({draw.choice(WORDS)}):\n" + "\n".join(lines) + "\n"


COPIED = function("copied", 12)
TABLE = "TABLE = {\n" + "".join(f"    '{word}{at}': ({at * 7}, {word}),\n" for at, word in enumerate(WORDS)) + "}\n"


@pytest.fixture
def corpus(tmp_path):
    """Make an index of files: (source, path, licence, text); their functions are documents too."""

    def make(*files):
        index = CodeIndex.create(tmp_path / "corpus.index")
        for source, path, licence, text in files:
            origin = Origin(source, path, licence=licence)
            for piece in pieces(text, "python").pieces:
                place = Origin(source, path, licence=licence, first_line=piece.first_line)
                index.add([Document(piece.text, "python", piece.kind, piece.name, (place if piece.name else origin,))])
        index.commit()
        return index

    return make


def traced(text, index, rules=COPYLEFT, path="own.py", **options):
    def also(document):
        return any(rules.deny(origin.licence) for origin in document.origins)

    settings = TraceSettings(Thresholds())
    return trace_file(SourceText(path, text, "python"), index, settings=settings, also=also, **options)


def failures(text, index, rules=COPYLEFT):
    return judge([traced(text, index, rules)], rules).failures


OWN = "\n\n".join(function(f"own {at}", 6) for at in range(40))


def test_a_copied_function_among_forty_own_ones_fails(corpus):
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f"import os\n\n{COPIED}\n\n{function(1)}")) as index:
        (failure,) = failures(f"{OWN}\n\n{COPIED}\n", index)
    assert failure.evidence.part.kind == "function"
    assert failure.evidence.part.name == failure.place.name


def test_copied_code_outside_of_functions_fails(corpus):
    with corpus(("gnu", "table.py", "GPL-3.0-only", TABLE)) as index:
        (failure,) = failures(f"{OWN}\n\n{TABLE}\n", index)
    assert failure.evidence.part.kind == "remainder"
    (lines,) = failure.finding.lines
    assert lines.first == OWN.count("\n") + 3
    assert TABLE.count("\n") - 1 <= lines.last - lines.first + 1 <= TABLE.count("\n")


def test_forks_under_another_licence_hide_nothing(corpus):
    forks = [(f"fork {at}", "tool.py", "MIT", COPIED) for at in range(3)]
    others = [(f"variant {at}", "v.py", "MIT", COPIED.replace("def ", f"def v{at}")) for at in range(6)]
    with corpus(*forks, *others, ("gnu", "tool.py", "GPL-2.0-only", COPIED + function(2))) as index:
        result = traced(COPIED, index, top=1)
        assert judge([result], COPYLEFT).failures
    assert {licence for finding in result.findings for licence in finding.licences} == {"MIT", "GPL-2.0-only"}


def test_several_licences_for_one_snippet_are_a_conflict(corpus):
    with corpus(("fork", "a.py", "MIT", COPIED), ("gnu", "b.py", "GPL-2.0-only", COPIED)) as index:
        (finding,) = traced(COPIED, index).findings
    assert finding.conflict == ("GPL-2.0-only", "MIT")
    assert {place.origin.path for place in finding.places} == {"a.py", "b.py"}


def test_a_licence_that_is_unknown_is_no_conflict(corpus):
    with corpus(("fork", "a.py", UNKNOWN_LICENCE, COPIED), ("gnu", "b.py", "GPL-2.0-only", COPIED)) as index:
        (finding,) = traced(COPIED, index).findings
    assert finding.conflict == ()


def test_file_and_function_of_one_source_are_one_finding_at_its_best_place(corpus):
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f"import os\n\n\n{COPIED}\n{function(1)}")) as index:
        (finding,) = traced(f"import sys\n\n\n{COPIED}", index).findings
    (place,) = finding.places
    assert (place.origin.path, place.name) == ("tool.py", finding.best.part.name)
    assert [str(lines) for lines in place.lines] == [f"4-{3 + COPIED.count(chr(10))}"]


def test_the_lines_of_a_finding_are_those_of_its_copies(corpus):
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f"{function(5, 12)}\n\n{COPIED}")) as index:
        finding = traced(f"{COPIED}\n\n{OWN}", index).findings[0]
    assert finding.is_copy
    assert finding.lines == merge_lines(lines for evidence in finding.evidence for lines in evidence.copied)


def test_thirty_copied_lines_within_a_function_of_a_hundred_fail(corpus):
    body = function("long", 18)
    with corpus(("gnu", "tool.py", "GPL-3.0-only", body)) as index:
        stretch = "\n".join(body.splitlines()[1:31])
        before, after = (function(f"around {at}", 24).partition("\n")[2] for at in range(2))
        (failure,) = failures(f"{OWN}\n\ndef own(table):\n{before}{stretch}\n{after}", index)
    assert failure.evidence.share < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "def size(self):\n    return len(self._list)\n",
        "def add(self, item):\n    self._list.append(item)\n    self._size += 1\n    return self\n",
    ],
)
def test_a_few_common_lines_do_not_fail(corpus, text):
    with corpus(("gnu", "list.py", "GPL-3.0-only", text)) as index:
        result = traced(text, index)
        judgement = judge([result], COPYLEFT)
    assert judgement.failures == ()
    assert judgement.weak == len(result.findings)


def test_imports_alone_are_no_copy(corpus):
    imports = "".join(f"from {word}.{word} import {word}_of\n" for word in WORDS)
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f"{imports}\n\n{COPIED}")) as index:
        assert failures(f"{imports}\n\n{OWN}", index) == ()


BODY = [f"    {word}{at} = {word}.{word}({at * 37}, '{word}')" for at, word in enumerate(WORDS)]


def interleaved(body, run):
    """Put two lines of another kind behind every few lines of a body."""
    parts = []
    for at in range(0, len(body), run):
        parts += [
            *body[at : at + run],
            f"    while {WORDS[at]} < {at}:",
            f"        yield lambda: {WORDS[-at - 1]}, None",
        ]
    return "\n".join(parts)


@pytest.mark.parametrize(("count", "run", "fails"), [(2, 2, False), (6, 1, True), (6, 6, True), (12, 4, True)])
def test_little_evidence_fails_only_in_one_stretch(corpus, count, run, fails):
    body = BODY[:count]
    with corpus(("gnu", "tool.py", "GPL-3.0-only", "def original(a):\n" + "\n".join(body) + "\n")) as index:
        result = traced(f"def own(table):\n{interleaved(body, run)}\n", index)
    assert bool(judge([result], COPYLEFT).failures) == fails


@pytest.mark.parametrize("joined", [1, 3, 12])
def test_layout_does_not_change_what_fails(corpus, joined):
    """Twelve statements fail in as many lines, in four, and in one."""
    body = [line.strip() for line in BODY[:12]]
    lines = ["    " + "; ".join(body[at : at + joined]) for at in range(0, 12, joined)]
    with corpus(("gnu", "tool.py", "GPL-3.0-only", "def original(a):\n" + "\n".join(BODY[:12]) + "\n")) as index:
        text = "def own(table):\n" + "\n".join(lines) + "\n"
        assert failures(text, index)


@pytest.mark.parametrize(
    "row", ["    {!r},\n", "    {!r}: ({!r}, 7),  # a row\n", "    ({!r}, 'a, \\'b'), 0x1f, None,\n"]
)
def test_a_list_of_constants_is_no_finding(corpus, row):
    table = "TABLE = {\n" + "".join(row.format(word, word[::-1]) for word in WORDS) + "}\n"
    with corpus(("gnu", "table.py", "GPL-3.0-only", f"{table}\n\n{COPIED}")) as index:
        assert traced(table, index).findings == ()
        assert failures(f"{table}\n\n{COPIED}", index)


def test_equal_rows_are_one_row_for_its_tokens(corpus):
    table, other = (
        "TABLE = {\n" + "".join(f"    {w!r}: table({at}, {w}),\n" for at, w in enumerate(words)) + "}\n"
        for words in (WORDS, [word[::-1] for word in WORDS])
    )
    with corpus(("gnu", "table.py", "GPL-3.0-only", table)) as index:
        assert failures(table, index)
        assert failures(other, index) == ()


def test_code_of_many_documents_is_little_evidence_of_one(corpus):
    body = "def shared(a):\n" + "\n".join(BODY[:4]) + "\n"
    others = [("mit", f"{at}.py", "MIT", body + function(at)) for at in range(60)]
    with corpus(("gnu", "tool.py", "GPL-3.0-only", body), *others) as index:
        result = traced(body, index)
        assert "GPL-3.0-only" not in {licence for finding in result.findings for licence in finding.licences}
        assert judge([result], COPYLEFT).failures == ()


def test_a_vector_match_alone_never_fails(tmp_path, letter_encoder):
    with CodeIndex.create(tmp_path / "vectors.index", encoder=letter_encoder) as index:
        index.add([Document(function(7), "python", "function", "f", (Origin("gnu", "f.py", licence="GPL-3.0-only"),))])
        index.commit()
        other = "def unlike(z):\n" + "".join(f"    z.q{at}(y{at})\n" for at in range(9))
        result = trace_file(SourceText("own.py", other, "python"), index, settings=TraceSettings())
    assert [finding.best.match.channel for finding in result.findings] == ["vector"]
    assert judge([result], COPYLEFT).failures == ()


def test_without_rules_or_without_a_denied_licence_nothing_fails(corpus):
    with corpus(("shop", "tool.py", "MIT", COPIED)) as index:
        assert failures(COPIED, index) == ()
        assert failures(COPIED, index, LicenceRules()) == ()
        assert len(failures(COPIED, index, read_rules(allowed=["Apache-2.0"]))) == 1


@pytest.mark.parametrize("inserted", [1, 3])
def test_statements_without_effect_between_all_lines_hide_no_copy_under_other_names(corpus, inserted):
    renamed = COPIED
    for word in WORDS:
        renamed = renamed.replace(word, f"q{word[::-1]}")
    lines = []
    for at, line in enumerate(renamed.splitlines()):
        lines.append(line)
        if not line.endswith(":") or at == 0:
            indent = line[: len(line) - len(line.lstrip())] or "    "
            lines += [f"{indent}junk{at}_{number} = {at} * {number}" for number in range(inserted)]
    with corpus(("gnu", "tool.py", "GPL-3.0-only", COPIED)) as index:
        assert len(failures("\n".join([*lines, ""]), index)) == 1


def test_a_copy_fails_in_a_run_of_any_size(corpus):
    with corpus(("gnu", "tool.py", "GPL-3.0-only", COPIED)) as index:
        alone = judge([traced(COPIED, index)], COPYLEFT)
        many = judge([traced(f"{COPIED}\n\n{OWN}", index)] * 30, COPYLEFT)
    assert (alone.parts, alone.false_alarms) == (1, FALSE_ALARMS)
    assert (many.parts, many.false_alarms) == (30 * 42, 30 * 42 * FALSE_ALARMS)
    assert len(many.failures) == 30


def test_what_is_less_than_a_copy_fails_where_it_is_no_chance():
    """Two thirds of the evidence of a copy, alone in a run or among a thousand parts."""

    def file(confidence, evidence, parts):
        span = Span(2, 5, 12, 15, evidence)
        match = Match(1, "a.py", 0.1, 0.1, (span,), "GPL-3.0-only", None, None, "tokens", confidence=confidence)
        text = SourceText("own.py", COPIED, "python", "f", kind="function")
        origins = {1: (Origin("gnu", "a.py", licence="GPL-3.0-only"),)}
        found = (text, Trace((match,), origins, "union", "python", 90, ()))
        nothing = (text, Trace((), {}, "union", "python", 90, ()))
        every = (found, *[nothing] * (parts - 1))
        return TracedFile(text, "python", every, findings_of("own.py", every))

    def fails(confidence, evidence, parts=1):
        return bool(judge([file(confidence, evidence, parts)], COPYLEFT).failures)

    assert fails(0.999, NEARLY_A_COPY * LEAST["tokens"])
    assert not fails(0.999, NEARLY_A_COPY * LEAST["tokens"], parts=1000)
    assert not fails(0.9, NEARLY_A_COPY * LEAST["tokens"])
    assert not fails(None, NEARLY_A_COPY * LEAST["tokens"])
    assert not fails(0.999, 0.9 * NEARLY_A_COPY * LEAST["tokens"])
    assert fails(None, LEAST["tokens"], parts=1000)


def test_overlapping_lines_are_merged_and_one_line_is_one_number(corpus):
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f"{COPIED}\n\n{function(3, 12)}")) as index:
        result = traced(f"{COPIED}\n\n\n{function(3, 12)}", index)
    (finding,) = result.findings
    assert len(finding.lines) <= 2
    assert all(line.last < two.first for line, two in zip(finding.lines, finding.lines[1:], strict=False))


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n"])
def test_a_text_without_a_token_has_no_line_with_code(text):
    assert code_lines(text, "python") == {}


def test_lines_with_code_are_equal_in_characters_or_in_structure():
    lines = code_lines("a = b\n\n# c\na  =  b\nx = y\n", "python")
    assert list(lines) == [1, 4, 5]
    assert lines[1] == lines[4]
    assert (lines[1][0] == lines[5][0], lines[1][1] == lines[5][1]) == (False, True)


@pytest.mark.parametrize("licence", ["unknown", "MIT AND unknown", "Our Own Terms"])
def test_a_copy_under_an_unknown_licence_is_neither_denied_nor_passed(corpus, licence):
    with corpus(("somebody", "tool.py", licence, COPIED)) as index:
        judgement = judge([traced(COPIED, index)], COPYLEFT)
        allowed = judge([traced(COPIED, index)], read_rules(["copyleft"], ["unknown"]))
    assert not judgement.failures
    assert [finding.place.origin.licence for finding in judgement.open] == [licence]
    if licence == "unknown":
        assert not allowed.open


def test_weak_matches_under_an_unknown_licence_leave_nothing_open(corpus):
    with corpus(("somebody", "tool.py", "unknown", function(3))) as index:
        assert not judge([traced(OWN, index)], COPYLEFT).open


NOTICE = """    IN NO EVENT SHALL THE AUTHOR BE LIABLE TO ANY PARTY FOR DIRECT, INDIRECT,
    SPECIAL, INCIDENTAL, OR CONSEQUENTIAL DAMAGES ARISING OUT OF THE USE OF
    THIS CODE, EVEN IF THE AUTHOR HAS BEEN ADVISED OF THE POSSIBILITY OF SUCH
    DAMAGE. THE AUTHOR SPECIFICALLY DISCLAIMS ANY WARRANTIES, INCLUDING, BUT NOT
    LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A
"""


def test_the_words_of_a_licence_are_no_copy(corpus):
    """Other packages have the text of a licence in a string; a file of licences is no copy of them."""
    with corpus(("gnu", "tool.py", "GPL-3.0-only", f'"""Read the licence.\\n\\n{NOTICE}"""\\n\\n{COPIED}')) as index:
        assert failures(NOTICE, index) == ()
        assert failures(f'"""{NOTICE}"""\\n\\n{COPIED}', index)


def test_a_name_of_another_language_hides_nothing(corpus):
    """Python in a file that is called .ipp; an apostrophe of a comment opens no character of C++."""
    text = COPIED.replace("\n", "\n    # what's here isn't C++\n", 3)
    with corpus(("gnu", "tool.py", "GPL-3.0-only", COPIED)) as index:
        result = trace_file(SourceText("file.ipp", text, "cpp"), index)
        assert judge([result], COPYLEFT).failures
        assert {part.language for part, _ in result.parts} == {"cpp", "python"}
