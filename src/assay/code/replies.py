"""What a language model answered, read strictly: a list of strings in one of few forms, or nothing."""

import ast
import json
import re

_FENCED = re.compile(r"\A```[\w-]*\n(.*)\n```\Z", re.DOTALL)
_NUMBERED = re.compile(r"\A(?:\d+[.):]|[-*])\s+")


def strings_in(reply: str) -> tuple[str, ...] | None:
    """The strings of a reply; None where it is not in one of these forms, inside one code fence or not.

    A JSON array of strings; or lines that are quoted strings of JSON or Python, with numbers or bullets before all of
    them or before none. Prose around them, or a reply that breaks off, makes it none of these.
    """
    body = reply.strip()
    if fenced := _FENCED.match(body):
        body = fenced[1].strip()
    if body.startswith("["):
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return tuple(found) if found and all(isinstance(one, str) for one in found) else None
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    marked = [_NUMBERED.match(line) is not None for line in lines]
    if not lines or (any(marked) and not all(marked)):
        return None
    read = [_quoted(_NUMBERED.sub("", line).rstrip(",")) for line in lines]
    strings = tuple(one for one in read if one is not None)
    return strings if len(strings) == len(lines) else None


def string_in(reply: str) -> str:
    r"""The one string of a reply: quoted as in JSON or Python, or bare; line ends are such, or \n in one line."""
    body = reply.strip("\r\n")
    if fenced := _FENCED.match(body.strip()):
        body = fenced[1]
    quoted = _quoted(body.strip())
    if quoted is not None:
        return quoted
    return body if "\n" in body else body.replace("\\n", "\n")


def _quoted(line: str) -> str | None:
    if line[:1] not in {'"', "'"}:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(line)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, str):
            return found
    return None
