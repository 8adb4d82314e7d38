"""Wording: a task that a document repeats in a comment is found, a licence or a template that all share is not."""

from hypothesis import given
from hypothesis import strategies as st

from assay_lab.bugs.wording import passages, same_wording, without_notices

TASK = """Given an array of integers and a target, return the positions of the two numbers that add up to the target.
You may assume that each input has exactly one solution, and you may not use the same element twice.
"""
NOTICE = """/*
 * Copyright 2020 Somebody. Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file
 * except in compliance with the License. You may obtain a copy of the License at the place that is named below, unless
 * required by applicable law or agreed to in writing by all of the holders of the rights in this work or their heirs.
 */
"""


def repeats(task: str, document: str) -> bool:
    return same_wording(passages(task), passages(document))


def test_a_task_repeated_in_comments_is_found_whatever_the_marks_and_the_code():
    commented = "".join(f"// {line}\n" for line in TASK.replace("two numbers", "**two** numbers").splitlines())
    assert repeats(TASK, f"{commented}int[] solve(int[] a, int t) {{ return new int[0]; }}")
    assert not repeats(TASK, "def solve(a, t):\n    return []\n")


def test_a_part_of_a_task_is_not_the_task():
    assert not repeats(TASK, TASK.splitlines()[1])
    assert not repeats(TASK.splitlines()[1], TASK.splitlines()[1])


def test_licence_notices_do_not_count():
    assert without_notices(f"{NOTICE}int x;  // a comment\n").strip() == "int x;  // a comment"
    assert not repeats(NOTICE, NOTICE)


@given(st.text("ab c.(#\n/*", max_size=200))
def test_passages_are_five_words(text):
    assert all(len(passage) == 5 for passage in passages(text))
