"""Errors of Python and of libraries in plain words."""

import json
import sys
from pathlib import Path

import pytest

from assay.errors import install_command, plain_reason


def caught(call):
    with pytest.raises(Exception) as raised:  # noqa: PT011  any
        call()
    return raised.value


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Path("/nowhere/at/all").read_text, "No such file or directory"),
        (lambda: json.loads('{"a": }'), "line 1, column 7 is not JSON"),
        (b"ab\xff".decode, "byte 2 is not UTF-8 text"),
        (lambda: {}["score"], "the field 'score' is missing"),
        (lambda: int("x"), "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_the_reason_has_no_numbers_of_errors_and_no_names_of_types(call, words):
    assert plain_reason(caught(call)) == words


def test_a_message_without_words_is_the_kind_of_error_and_numbers_inside_are_left_out():
    assert plain_reason(TimeoutError()) == "TimeoutError"
    assert plain_reason(ValueError("cannot open [Errno 2] No such file\n  below")) == "cannot open No such file below"


def test_an_extra_is_added_by_make_in_a_checkout_and_by_pip_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert install_command("gguf") == "pip install 'assay-code[gguf]'"
    (tmp_path / "src" / "assay").mkdir(parents=True)
    assert install_command("gguf") == "make install EXTRAS=gguf"
