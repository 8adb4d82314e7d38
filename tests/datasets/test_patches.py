"""A patch is read by side, and only its hunks are text."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from assay.datasets.patches import patch_side, patched_files

PATCH = """\
From 1 Mon Sep 17 00:00:00 2001
Subject: [PATCH] mend
---
 a.c | 2 +-
diff --git a/a.c b/a.c
--- a/a.c
+++ b/a.c
@@ -1,3 +1,3 @@ int f()
 int f() {
-  return 0;
+  return 1;
 }
@@ -9 +9,2 @@
-x
+y
+z
\\ No newline at end of file
diff --git a/gone.c b/gone.c
--- a/gone.c
+++ /dev/null
@@ -1 +0,0 @@
-int gone;
--\x20
2.25.1
"""


def test_the_new_side_is_context_and_added_lines_hunk_by_hunk():
    assert patch_side(PATCH, "new") == "int f() {\n  return 1;\n}\n\ny\nz\n"


def test_the_old_side_has_the_deleted_file_and_no_mail_signature():
    assert patch_side(PATCH, "old") == "int f() {\n  return 0;\n}\n\nx\n\nint gone;\n"


def test_without_context_only_what_differs_is_left():
    assert patch_side(PATCH, "new", context=False) == "  return 1;\n\ny\nz\n"


def test_a_deleted_file_keeps_its_name():
    assert patched_files(PATCH) == ("a.c", "gone.c")


def test_a_created_file_has_its_new_name():
    assert patched_files("--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+int n;\n") == ("new.c",)


def test_a_context_line_that_lost_its_space_is_an_empty_line():
    assert patch_side("--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "new") == "a\n\nc\n"


def test_deleted_lines_that_look_like_a_header_are_lines():
    assert patch_side("--- a\n+++ a\n@@ -1,2 +1 @@\n--- not a header\n x\n", "old") == "-- not a header\nx\n"


def test_a_patch_that_was_cut_off_keeps_what_is_there():
    assert patch_side("--- a\n+++ a\n@@ -1,9 +1,9 @@\n a\n+b", "new") == "a\nb\n"


def test_no_hunk_is_an_empty_text():
    assert patch_side("", "new") == ""
    assert patch_side("Binary files a/x and b/x differ\n", "old") == ""


LINES = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=8), max_size=12)


@given(old=LINES, new=LINES)
def test_a_diff_with_all_its_context_gives_back_both_files(old: list[str], new: list[str]):
    diff = list(difflib.unified_diff(old, new, "a", "b", lineterm="", n=10**6))
    if diff:
        patch = "\n".join(diff)
        assert patch_side(patch, "old") == "".join(f"{line}\n" for line in old)
        assert patch_side(patch, "new") == "".join(f"{line}\n" for line in new)
