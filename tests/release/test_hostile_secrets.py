"""A secret that an attacker made: its commitment fits what it holds, and reading it ends with one line."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.release import read_secret

WRONG = (None, True, -1, 7, 10**30, 1e308, "", "x", [], ["x"], {}, {"x": 1}, [[]], [None])
DEEP = "[" * 100_000 + "]" * 100_000


def committed_to(content: dict[str, Any]) -> str:
    """The file of a secret whose commitment is right, whatever it holds."""
    committed = json.dumps(content["committed"], sort_keys=True, separators=(",", ":"))
    content["commitment"] = hashlib.sha256(committed.encode()).hexdigest()
    return json.dumps(content)


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The address of each value in a JSON value; of lists the first two entries."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_of(inner, (*path, name))
    if isinstance(value, list):
        for place, inner in enumerate(value[:2]):
            yield from paths_of(inner, (*path, place))


def used(path: Path) -> None:
    """Read a secret, and use all that it holds."""
    secret = read_secret(path)
    for task in secret.committed.tasks:
        for index in (0, len(task.copies) - 1):
            secret.scored(task, index, 0)
        if secret.versions:
            secret.set_of(task, 1)
            secret.published(1)
    assert secret.log_state


def small(path: Path) -> str:
    """A secret of few tasks with few copies, which is read fast."""
    content = json.loads(path.read_text())
    committed = content["committed"]
    del committed["tasks"][2:], committed["order"][2:]
    for task in committed["tasks"]:
        del task["copies"][12:]
    path.write_text(committed_to(content))
    used(path)
    return path.read_text()


def refused_or_used(path: Path, text: str) -> None:
    path.write_text(text)
    with suppress(DataError):
        used(path)


def test_a_wrong_value_in_any_place_is_one_line(secret_path):
    whole = small(secret_path)
    addresses = [address for address in paths_of(json.loads(whole)) if len(address) > 1]
    assert len(addresses) > 60
    for turn, address in enumerate(addresses):
        for wrong in (WRONG[turn % len(WRONG)], WRONG[(turn * 5 + 3) % len(WRONG)]):
            content = json.loads(whole)
            parent = content
            for step in address[:-1]:
                parent = parent[step]
            parent[address[-1]] = wrong
            refused_or_used(secret_path, committed_to(content))


def test_a_missing_or_a_second_entry_in_any_place_is_one_line(secret_path):
    whole = small(secret_path)
    for address in paths_of(json.loads(whole)):
        if len(address) < 2:
            continue
        for is_missing in (True, False):
            content = json.loads(whole)
            parent = content
            for step in address[:-1]:
                parent = parent[step]
            if is_missing:
                del parent[address[-1]]
            elif isinstance(parent, list):
                parent.append(parent[address[-1]])
            refused_or_used(secret_path, committed_to(content))


def first_task(content: dict[str, Any], **changes: Any) -> None:
    content["committed"]["tasks"][0].update(changes)


def cell(content: dict[str, Any], **changes: Any) -> None:
    content["committed"]["tasks"][0]["contents"][0]["cells"][0].update(changes)


def number_in_a_cell(content: dict[str, Any]) -> None:
    task = content["committed"]["tasks"][0]
    task["row"][task["contents"][0]["cells"][0]["column"]] = 7


def many_names(content: dict[str, Any]) -> None:
    task = content["committed"]["tasks"][0]
    task["words"][0] = ["x" * 1_000_000, *task["words"][0][1:]]
    cell(content, pieces=[""] * 100_001, order=[0] * 100_000)


def repeated_task(content: dict[str, Any]) -> None:
    content["committed"]["tasks"] *= 2
    content["committed"]["order"] *= 2


def many_versions(content: dict[str, Any]) -> None:
    version = content["versions"][0]
    content["versions"] = [{**version, "number": number} for number in range(1, 11)]


def logged_test(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        test = {"day": "2126-01-01", "model": "m", "subject": "s", "settings": "gray", "p_value": 0.5, "placebo": False}
        content["tests"] = [{**test, "place": 2, "digest": "", **changes}]

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["committed"].update(first=10**12),
        lambda c: c["committed"].update(first=-5),
        lambda c: c["committed"].update(first=True),
        lambda c: c["committed"].update(first="9"),
        lambda c: c["committed"].update(key=""),
        lambda c: c["committed"].update(key="ab"),
        lambda c: c["committed"].update(key="\u0661" * 64),
        lambda c: c["committed"].update(order=[]),
        lambda c: c["committed"].update(tasks=[], order=[]),
        lambda c: c["committed"]["order"].append("other"),
        lambda c: c["committed"].update(created="yesterday"),
        lambda c: c["committed"].update(name="\ud800"),
        lambda c: first_task(c, copies=[]),
        lambda c: first_task(c, copies=["0"] * 20),
        lambda c: first_task(c, copies=["9" * 5000] * 20),
        lambda c: first_task(c, copies=[" ".join(["-1"] * 9)] * 20),
        lambda c: first_task(c, contents=[]),
        lambda c: first_task(c, words=[]),
        lambda c: first_task(c, row={}),
        lambda c: first_task(c, language="none"),
        lambda c: first_task(c, level="none"),
        lambda c: cell(c, column="none"),
        lambda c: cell(c, place=10**9),
        lambda c: cell(c, place=-7),
        lambda c: cell(c, pieces=[]),
        lambda c: cell(c, order=[10**9]),
        number_in_a_cell,
        lambda c: c["committed"]["tasks"][0]["row"].update(x=float("nan")),
        lambda c: c["committed"]["tasks"][0]["row"].update(x=float("inf")),
        many_names,
        repeated_task,
        many_versions,
        lambda c: c["versions"][0].update(day="soon"),
        lambda c: c.update(spent=[{"day": "2126-01-01", "server": "s", "tranche": 10**9}]),
        lambda c: c.update(seal=7),
        logged_test(p_value=None),
        logged_test(p_value=-1),
        logged_test(p_value=10**400),
        logged_test(p_value="inf"),
        logged_test(p_value=[]),
        logged_test(placebo=1),
        logged_test(day="2126-13-01"),
    ],
)  # fmt: skip
def test_a_form_that_nothing_could_have_written_is_refused(secret_path, change):
    content = json.loads(secret_path.read_text())
    change(content)
    secret_path.write_text(committed_to(content))
    with pytest.raises(DataError, match=r"is damaged|not a JSON file|after the commitment") as raised:
        read_secret(secret_path)
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("form", ["deep", "deep row", "twice", "twice within", "digits", "infinite"])
def test_a_text_that_readers_would_differ_on_is_refused(secret_path, form):
    content = json.loads(secret_path.read_text())
    text = committed_to(content)
    key = content["committed"]["key"]
    levels = (sys.getrecursionlimit() // 3) - 50
    forms = {
        "deep": DEEP,
        "deep row": text.replace('"row": {', f'"row": {{"x": {"[" * levels}{"]" * levels}, ', 1),
        "twice": text.replace('"tests": ', '"tests": [], "tests": ', 1),
        "twice within": text.replace(f'"key": "{key}"', f'"key": "{"0" * 64}", "key": "{key}"', 1),
        "digits": text.replace('"row": {', f'"row": {{"x": {"9" * 5000}, ', 1),
        "infinite": text.replace('"row": {', '"row": {"x": 1e999, ', 1),
    }
    assert forms[form] != text
    secret_path.write_text(forms[form])
    with pytest.raises(DataError, match=r"is damaged|not a JSON file|after the commitment"):
        read_secret(secret_path)


def test_the_lots_of_many_versions_take_no_time(secret):
    committed = replace(secret.committed, first=100)
    version = secret.versions[0]
    versions = tuple(replace(version, number=number, beacon=str(number)) for number in range(1, 41))
    many = replace(secret, committed=committed, versions=versions)
    lots = many.lots(committed.tasks[0].cluster, 40)
    assert len(set(lots)) == 41
    assert many.lot(committed.tasks[0].cluster, 40) == lots[-1]
