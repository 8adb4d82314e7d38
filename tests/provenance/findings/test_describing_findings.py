"""The answer of a trace: a headline for a copy, and none for what is too weak to be one."""

from dataclasses import replace

import pytest

from assay.corpora import Document, Origin, SourceText, short_name
from assay.provenance import CodeIndex, describe_files, trace_file
from assay.provenance.findings import Denial, Judgement, answer_lines, trace_verdict
from assay.provenance.findings.describing import place_details
from support.first_screen import LONGEST_LINE

SHIFT = """
def shift_block(data, start, size, offset):
    if size < 0 or offset == 0:
        raise ValueError("bad size")
    end = start + size
    block = data[start:end]
    for position in range(start, end):
        data[position] = 0
    target = start + offset
    if target + size > len(data):
        data.extend([0] * (target + size - len(data)))
    for number, value in enumerate(block):
        data[target + number] = value
    checksum = sum(block) % 65521
    return target, checksum
"""
CONFIG = """
class Config:
    def __init__(self, path):
        self.path = path
        self.values = {}

    def get(self, name, default=None):
        return self.values.get(name, default)
"""
OWN = """
import json


class Settings:
    def __init__(self, source):
        self.source = source
        self.entries = {}

    def get(self, key, fallback=None):
        return self.entries.get(key, fallback)

    def load(self):
        with open(self.source) as stream:
            self.entries = json.load(stream)
        return self
"""
RENAMED = SHIFT.replace("data", "buffer").replace("offset", "delta").replace("block", "part")


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    origin = Origin("mutagen-1.47.tar.gz", "mutagen/util.py", licence="GPL-2.0-or-later")
    with CodeIndex.create(tmp_path_factory.mktemp("describing") / "index") as index:
        index.add([Document(text, "python", "file", None, (origin,)) for text in (SHIFT, CONFIG)])
        index.commit()
        yield lambda path, text, language="python": trace_file(SourceText(path, text, language), index)


def test_a_copy_is_the_headline_with_licence_lines_and_project(traced):
    copied = traced("copied.py", RENAMED)
    assert trace_verdict([copied]) == "GPL-2.0-or-later: 13 of 14 lines of shift_part, renamed, from mutagen"
    first, step, place, *_ = answer_lines([copied])
    assert first == trace_verdict([copied])
    assert step.startswith("    next: keep its licence and notice")
    assert place == "    compare copied.py:2-14 with mutagen/util.py:2-14"
    assert all(len(line) <= LONGEST_LINE for line in (first, step, place))


def test_what_is_too_little_for_a_copy_is_no_headline(traced):
    own = traced("own.py", OWN)
    assert own.findings
    assert not any(finding.is_copy for finding in own.findings)
    assert trace_verdict([own]) == "no copy found; similar code in 1 source"
    first, *rest = answer_lines([own])
    assert "GPL" not in first
    assert any(line.startswith("    own.py:") and "GPL-2.0-or-later" in line for line in rest)
    assert describe_files([own], 10).statement == first


def test_a_confidence_is_that_of_a_copy_and_what_is_less_shows_none(traced):
    (copied, *_), (own, *_) = traced("copied.py", RENAMED).findings, traced("own.py", OWN).findings
    assert "; confidence 0.9" in place_details(copied)
    assert "confidence" not in place_details(own)
    assert " % of" not in place_details(own)


def test_a_language_without_rates_says_that_its_confidence_was_not_measured(traced):
    (finding, *_) = traced("copied.txt", RENAMED, "lua").findings
    assert "; confidence not measured" in place_details(finding)


def test_of_many_files_only_those_with_a_copy_have_a_headline(traced):
    lines = list(answer_lines([traced("copied.py", RENAMED), traced("own.py", OWN)]))
    assert lines[0] == "copies in 1 of 2 files: GPL-2.0-or-later"
    assert [line for line in lines if line.startswith("\ncopied.py:2-14\n    GPL-2.0-or-later: 13 of 14 lines")]
    assert not [line for line in lines if line.startswith("\nown.py")]
    assert "\nNot shown: similar code in 1 place; -v lists them." in lines


def test_a_file_without_a_copy_shows_its_best_similar_code_and_one_with_a_copy_none(traced):
    copied, own = traced("copied.py", RENAMED), traced("own.py", OWN)
    both = replace(copied, findings=(*copied.findings, *own.findings))
    assert not [line for line in answer_lines([both]) if "similar code" in line]
    assert [line for line in answer_lines([own]) if line.startswith("    own.py:")]


def test_what_the_gate_denies_comes_first_and_what_passes_is_counted(traced):
    files = [traced("allowed.py", SHIFT), traced("denied.py", RENAMED)]
    finding = files[1].findings[0]
    denial = Denial(finding, finding.evidence[:1], finding.places[0])
    lines = list(answer_lines(files, Judgement((denial,), parts=2, weak=0, uncalibrated=0, false_alarms=0)))
    headlines = [line for line in lines if line.startswith("\n") and "lines of" in line]
    assert [line[1:].split(":")[0] for line in headlines] == ["denied.py"]
    assert "\nNot shown: 1 copy that passes (GPL-2.0-or-later 1); -v lists them." in lines
    tables = describe_files(files, 5, Judgement((denial,), parts=2, weak=0, uncalibrated=0, false_alarms=0)).tables
    assert [table.name for table in tables] == ["failing", "passing"]


@pytest.mark.parametrize(
    ("source", "repository", "name"),
    [
        ("mutagen-1.47.tar.gz", None, "mutagen"),
        ("mutagen-1.47.tar.gz", "https://github.com/quodlibet/mutagen", "quodlibet/mutagen"),
        ("shop", "https://gitlab.example.org/owner/shop.git", "owner/shop"),
        ("mutagen-1.47.tar.gz", "https://mutagen.readthedocs.io/en/latest", "mutagen"),
        ("stack.parquet", "owner/shop", "owner/shop"),
    ],
)
def test_a_source_has_the_short_name_that_people_know(source, repository, name):
    assert short_name(source, repository) == name
