"""Settings declared once: their checks, their identity, and KEY=VALUE."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest

from assay.errors import SettingError
from assay.settings import Bundle, Setting, Settings, declared, from_pairs

RARE = Bundle(option="rare", help="Rarely needed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Settings):
    PANEL: ClassVar[str] = "Reading"
    limit: Annotated[int | None, Setting("Most.", least=1, common=True)] = None
    rate: Annotated[float, Setting("Rate.", least=0, most=1, inside=RARE)] = 0.5
    bos: Annotated[Literal["auto", "never"], Setting("Token.", inside=RARE)] = "auto"
    cache: Annotated[bool, Setting("Cache.", decides=False, inside=RARE)] = True
    doses: Annotated[tuple[int, ...], Setting("Doses.", inside=RARE)] = ()
    folder: Annotated[Path | None, Setting("Folder.", inside=RARE)] = None


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"limit": 0}, "limit: received 0, expected at least 1"),
        ({"rate": 2.0}, "rate: received 2.0, expected 0 to 1"),
        ({"rate": float("nan")}, "rate: received nan, expected 0 to 1"),
        ({"bos": "nevr"}, "bos: received 'nevr', expected auto, never; did you mean never?"),
        ({"limit": True}, "limit: received True, expected a whole number"),
        ({"cache": 1}, "cache: received 1, expected true or false"),
        ({"limt": 3}, "received limt, which is no setting of Reading; did you mean limit?"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(values, line):
    with pytest.raises(SettingError) as raised:
        Reading.of(**values)
    assert str(raised.value) == line


def test_single_values_replace_those_of_other_settings():
    changed = Reading.of(limit=3, rate=0.25).with_values(limit=4)
    assert (changed.limit, changed.rate) == (4, 0.25)
    with pytest.raises(SettingError, match="did you mean limit"):
        changed.with_values(limt=3)


def test_the_identity_has_what_decides_and_the_record_everything():
    settings = Reading(limit=3, cache=False, folder=Path("a"))
    assert settings.identity() == {"limit": 3, "rate": 0.5, "bos": "auto", "doses": [], "folder": "a"}
    assert settings.record() == settings.identity() | {"cache": False}
    assert settings.changed() == {"limit": 3, "cache": False, "folder": Path("a")}


def test_pairs_become_values_of_their_types():
    values = from_pairs(declared(Reading), ["rate=0.25,bos=never", "cache=no", "doses=1,2,4", "folder=a,b"], "--rare")
    assert values == {"rate": 0.25, "bos": "never", "cache": False, "doses": (1, 2, 4), "folder": Path("a,b")}


def test_the_last_of_two_pairs_counts():
    assert from_pairs(declared(Reading), ["rate=0.1", "rate=0.2"], "--rare") == {"rate": 0.2}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("raet=1", "--rare: received 'raet=1'; did you mean rate?"),
        ("rate", "--rare: received 'rate', expected KEY=VALUE with one of limit, rate, bos, cache, doses, folder"),
        ("rate=fast", "--rare rate: received 'fast', expected a number"),
        ("rate=3", "--rare rate: received 3.0, expected 0 to 1"),
    ],
)
def test_a_wrong_pair_is_refused_in_one_line(text, line):
    with pytest.raises(SettingError) as raised:
        from_pairs(declared(Reading), [text], "--rare")
    assert str(raised.value) == line
