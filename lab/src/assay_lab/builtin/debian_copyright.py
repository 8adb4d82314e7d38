"""The machine-readable `debian/copyright` (DEP-5): a licence for each file of a Debian package."""

import re
from dataclasses import dataclass

_FIELD = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*)$")
_SPDX = {
    "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "boost-1.0": "BSL-1.0",
    "bsl-1.0": "BSL-1.0",
    "cc0": "CC0-1.0",
    "cc0-1.0": "CC0-1.0",
    "expat": "MIT",
    "mit": "MIT",
    "isc": "ISC",
    "psf-2": "PSF-2.0",
    "unlicense": "Unlicense",
    "zlib": "Zlib",
    "0bsd": "0BSD",
}
"""Short names of Debian that mean one SPDX licence, in lower case."""


@dataclass(frozen=True, slots=True)
class FilesParagraph:
    """One `Files` paragraph: patterns of paths, and the short name of their licence as written."""

    patterns: tuple[str, ...]
    licence: str

    def matches(self, path: str) -> bool:
        """Return whether a pattern matches the whole path; `*` and `?` match slashes as well."""
        return any(_pattern(pattern).fullmatch(path) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class DebianCopyright:
    """The `Files` paragraphs in their order."""

    paragraphs: tuple[FilesParagraph, ...]

    def licence(self, path: str) -> str | None:
        """Return the SPDX licence of the last paragraph that matches a path; None if there is none or it is unknown."""
        # DEP-5: the last paragraph that matches a file holds for it
        for paragraph in reversed(self.paragraphs):
            if paragraph.matches(path):
                return spdx(paragraph.licence)
        return None


def parse_copyright(text: str) -> DebianCopyright:
    """Return the `Files` paragraphs of a copyright file; none if it is not machine-readable."""
    paragraphs = []
    for block in re.split(r"\n[ \t]*\n", text):
        fields = _fields(block)
        if "files" in fields and "license" in fields:
            short = fields["license"].split("\n", 1)[0].strip()
            paragraphs.append(FilesParagraph(tuple(fields["files"].split()), short))
    return DebianCopyright(tuple(paragraphs))


def spdx(short: str) -> str | None:
    """Return Debian's short name (`Expat or Apache-2.0`) as an SPDX expression, or None if a part is unknown."""
    words = re.split(r"\s+(and/or|and|or)\s+|\s*[|/]\s*", short.strip())
    parts = []
    for word in words:
        if word in {"and", "or", "and/or"}:
            parts.append("AND" if word == "and" else "OR")
        elif word is None:
            parts.append("OR")
        else:
            name = _SPDX.get(word.lower())
            if name is None:
                return None
            parts.append(name)
    return " ".join(parts)


def _fields(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in block.splitlines():
        match = _FIELD.match(line)
        if match:
            name = match[1].lower()
            fields[name] = match[2]
        elif name and line[:1] in " \t":
            fields[name] += "\n" + line
    return fields


def _pattern(glob: str) -> re.Pattern[str]:
    """Return DEP-5's pattern as a regular expression: only `*` and `?` are special, a backslash escapes them."""
    parts = re.findall(r"\\.|.", glob.removeprefix("./"), re.DOTALL)
    special = {"*": ".*", "?": "."}
    return re.compile("".join(special.get(part, re.escape(part.removeprefix("\\"))) for part in parts), re.DOTALL)
