"""Pieces that the layouts share: texts of message parts, arguments of tool calls, and names of a task in a path."""

import json
from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.files import parse_json

_SUFFIXES = (".gz", ".json", ".jsonl", ".traj", ".eval")
_TEXT_KEYS = (
    *("text", "content", "output", "thinking", "aggregated_output", "stdout"),
    *("file", "snippet", "result", "error", "message"),
)


def text_of(content: object) -> str:
    """Return the text of a message: a string, or the parts of a list, as providers write them."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return next((text for key in _TEXT_KEYS if (text := text_of(content.get(key)))), "")
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return ""


def arguments_of(value: object) -> dict[str, str]:
    """Return the arguments of a call as texts by name; a text or a list of words is one command."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = mapping_or_empty(parse_json(value)) or value
    if isinstance(value, str | list):
        value = {"command": value}
    return {str(key): _argument(entry) for key, entry in mapping_or_empty(value).items() if entry is not None}


def _argument(entry: object) -> str:
    """Return an argument as a text; of ["bash", "-lc", SCRIPT] the script is the command."""
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, list) or not all(isinstance(word, str) for word in entry):
        return json.dumps(entry, ensure_ascii=False)
    is_script = len(entry) == 3 and entry[1] in {"-c", "-lc"}  # noqa: PLR2004  program, option and script
    return " ".join(entry[-1:] if is_script else entry)


def names_in(path: Path) -> tuple[str, ...]:
    """Return what in a path may be the id of a task: the name of the file without its suffixes, then the folders."""
    stem = path.name
    while stem.endswith(_SUFFIXES):
        stem = stem[: stem.rindex(".")]
    return (stem, *filter(None, map(attrgetter("name"), path.parents)))


def mapping_or_empty(value: object) -> Mapping[str, Any]:
    """Return an object of JSON; an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def is_mapping(value: object) -> bool:
    """Return True for an object of JSON."""
    return isinstance(value, Mapping)


def objects_of(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list of JSON; none in place of anything else."""
    return list(filter(is_mapping, value)) if isinstance(value, list) else []


def string_or_none(value: object) -> str | None:
    """Return a string of JSON; None in place of anything else."""
    return value if isinstance(value, str) else None


def outcome_of(value: object) -> float | None:
    """Return an outcome between 0 and 1; None where there is none."""
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    return None
