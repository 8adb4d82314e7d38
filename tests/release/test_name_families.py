"""Names that belong together change alike, and a short task has copies in which some of its names stay."""

import pytest

from assay.code import ClosePool, Renamable
from assay.release.families import evened, name_families, partly_changed


def _names(*names: str) -> list[Renamable]:
    return [Renamable(name, "variable", places=(place,), global_scope=False) for place, name in enumerate(names)]


@pytest.mark.parametrize(
    ("old", "drawn", "kept"),
    [
        (("l1", "l2"), ("lst1", "lst2"), ("lst1", "lst2")),
        (("l1", "l2"), ("lst1", "items2"), ("l1", "l2")),
        (("x_vals", "y_vals"), ("x_values", "y_vals"), ("x_vals", "y_vals")),
        (("i", "j"), ("p", "q"), ("p", "q")),
        (("i", "j"), ("p", "t"), ("i", "j")),
        (("a", "c"), ("p", "r"), ("p", "r")),
        (("i", "n"), ("p", "k"), ("p", "k")),
        (("open_index", "close_index"), ("open_pos", "close_idx"), ("open_pos", "close_index")),
        (("min_age", "max_age"), ("minimum_age", "max_age"), ("min_age", "max_age")),
        (("min_age", "max_age"), ("minimum_age", "maximum_age"), ("minimum_age", "maximum_age")),
        (("LABELS", "label"), ("TAGS", "label"), ("LABELS", "label")),
        (("entries", "entry"), ("items", "item"), ("items", "item")),
        (("count_a", "total"), ("cnt_a", "sums"), ("cnt_a", "sums")),
    ],
)
def test_names_that_belong_together_change_alike_or_stay(old, drawn, kept):
    assert evened(old, drawn, [()] * len(old), name_families(_names(*old))) == kept


def test_a_word_that_changed_before_changes_to_the_same_word_where_it_can():
    old, drawn = ("l1", "l2", "max_l"), ("lst1", "items2", "max_l")
    candidates = [("lst1",), ("items2", "lst2"), ("max_l",)]
    assert evened(old, drawn, candidates, name_families(_names(*old))) == ("lst1", "lst2", "max_l")


def test_the_author_and_unrelated_words_may_part_a_family():
    names = _names("l1", "l2", "total")
    assert sorted(map(len, name_families(names))) == [1, 2]
    assert sorted(map(len, name_families(names, alone={"l1"}))) == [1, 1, 1]


def test_a_short_task_has_copies_in_which_some_names_stay_and_never_its_original():
    old = ("find_max", "l1", "l2")
    copies = [("get_max", "lst1", "lst2")]
    found = set(partly_changed(old, copies, name_families(_names(*old)), seed=1))
    assert found == {("get_max", "lst1", "lst2"), ("find_max", "lst1", "lst2"), ("get_max", "l1", "l2")}


def test_a_short_form_is_written_out_only_as_the_word_that_the_text_has():
    assert "column" in ClosePool().candidates("col", "variable")
    assert "column" not in ClosePool(words=frozenset({"color"})).candidates("col", "variable")
    assert "column" in ClosePool(words=frozenset({"color", "column"})).candidates("col", "variable")
    assert "column" in ClosePool(words=frozenset({"col", "cols"})).candidates("col", "variable")


def test_values_and_numbers_are_no_elements():
    pool = ClosePool()
    assert pool.candidates("byte_values", "variable") == ("byte_vals",)
    assert pool.candidates("numbers", "variable") == ("nums",)


def test_letters_stay_in_formulas_and_functions_are_not_abbreviated():
    pool = ClosePool()
    assert pool.candidates("nCr", "variable") == ()
    assert {"j", "k", "p"} <= set(pool.candidates("i", "variable"))
    assert pool.candidates("h", "variable") == ()  # a height
    assert pool.candidates("l1", "variable") == ()  # left, beside r1
    assert "lst1" in ClosePool(frozenset({"l1"})).candidates("l1", "variable")
    assert "cnt" in pool.candidates("count", "variable")
    assert ClosePool(frozenset({"count"})).candidates("count", "function") == ()
    assert pool.candidates("pancake_sort", "function") == ()
    assert pool.candidates("X", "variable") == ()
    in_prose = ClosePool(frozenset({"nums", "threshold"}), prose=frozenset({"nums", "threshold"}))
    assert in_prose.candidates("nums", "variable") == ()
    assert "limit" in in_prose.candidates("threshold", "variable")
