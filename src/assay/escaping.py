"""Text of others made safe for the place where it is shown.

Paths, ids, licences and authors come from corpora and benchmarks, so whoever made those chose them. Every output
passes them through here: `visible` for terminals and logs, and on top of it what the format reads as syntax.
"""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

# invisible, but names in several scripts and emoji are spelled with them; after an ASCII character they only hide
_JOINERS = "\u200c\u200d"
_HIDDEN_JOINER = re.compile(r"(?<![^\x00-\x7f])[\u200c\u200d]")
# letters and marks to Python, nothing to a reader: fillers, selectors of variants, the empty pattern of Braille
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef"
_UNSEEN_LETTER = re.compile(f"[{_UNSEEN}]")
# unprintable to Python, harmless to a reader
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")

# What starts a command in a log of continuous integration: GitHub's ::name at the start of a line, its ##[ and Azure's
# ##vso[ anywhere, TeamCity's ##teamcity[. Wrapping decides where a line begins, so they are broken wherever they are.
_COMMAND = re.compile(
    r":(?=:(?:error|warning|notice|debug|group|endgroup|echo|add-mask|add-matcher|remove-matcher|add-path|set-env"
    r"|set-output|save-state|stop-commands|internal-)\b)|#(?=#(?:vso|teamcity|)\[)",
    re.IGNORECASE,
)
# control characters, separators of lines, what turns the direction of writing, and what has no width
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    rf"\ufff9-\ufffb\U000e0001-\U000e007f{_UNSEEN}]"
)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
# the wide forms too: spreadsheets in East Asian locales read them as the narrow ones
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def visible(text: str) -> str:
    """Return a text that stays on its line and shows all of its characters.

    Control characters, line breaks, characters that turn the direction of writing or have no width, and lone
    surrogates become backslash escapes; so does the first character of what a build log would run as a command.
    """
    text = _shown(text, lambda character: character.encode("unicode_escape").decode())
    return _COMMAND.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def cut_off(text: str, most: int) -> str:
    """Return a text of at most `most` characters; "…" at its end shows that it was longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def json_text(value: Any, *, indent: int | None = None, ensure_ascii: bool = True) -> str:  # noqa: ANN401  whatever JSON can hold
    """Return a value as JSON whose strings hold no raw character that `visible` would escape.

    A reader of JSON gets the same value: the escapes are JSON's own.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)
    # JSON's own line breaks; those in strings are escaped already
    lines = text.split("\n")
    return "\n".join(map(_json_line, lines))


def spreadsheet_cell(text: str) -> str:
    """Return a cell of a CSV file that no spreadsheet reads as a formula: with an apostrophe before what would be one.

    Numbers stay as they are.
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def markdown_text(text: str) -> str:
    """Return text for Markdown without markup that starts a column of a table, a tag, a link or an image."""
    return re.sub(r"\||<(?=[A-Za-z/!?])|\](?=[(\[])|!(?=\[)", lambda match: f"\\{match[0]}", visible(text))


def page_text(page: str) -> str:
    """Return a page whose hidden characters are written as JSON escapes, so that no terminal obeys them.

    Line breaks and tabs stay. In JSON inside of the page the escape is JSON's own, so a script reads the same value.
    """
    page = _HIDDEN.sub(lambda match: _json_escape(match[0]), page)
    return _HIDDEN_JOINER.sub(lambda match: _json_escape(match[0]), page)


def sarif_message(text: str) -> str:
    """Return a part of a SARIF message: brackets would make a link of it (SARIF 2.1.0, section 3.11.6)."""
    return re.sub(r"[\[\]]", lambda match: f"\\{match[0]}", visible(text).replace("\\", "\\\\"))


def web_address(address: str | None) -> str | None:
    """Return an address that a page may link to; None for every other, as `javascript:` and `file:` are."""
    # `urlsplit` drops tabs and line breaks, and so could see another scheme than a browser does
    if address is None or visible(address) != address or " " in address:
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in {"http", "https"} and parts.netloc else None


def _shows(character: str) -> bool:
    return character.isprintable() or character in _JOINERS or bool(_SPACES.match(character))


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def _json_line(line: str) -> str:
    return _COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", _shown(line, _json_escape))


def _shown(text: str, escape: Callable[[str], str]) -> str:
    """Return a text whose characters all show: the others are escaped."""
    text = _UNSEEN_LETTER.sub(lambda match: escape(match[0]), text)
    if not text.isprintable():
        text = "".join(character if _shows(character) else escape(character) for character in text)
    # last, as an escape is ASCII
    return _HIDDEN_JOINER.sub(lambda match: escape(match[0]), text)
