"""Selection of files: by name and size before they are opened, by content afterwards."""

import codecs
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import PurePosixPath

from identify import identify
from pathspec import GitIgnoreSpec

from assay.corpora.content import is_document, is_media
from assay.corpora.entry import Reason
from assay.corpora.settings import CorpusSettings
from assay.datasets import is_binary, wide_encoding
from assay.languages import LANGUAGES, checked_language, language_named, language_of

_LOCK_FILES = frozenset(
    {
        *("Cargo.lock", "Gemfile.lock", "Pipfile.lock", "composer.lock", "go.sum", "mix.lock", "npm-shrinkwrap.json"),
        *("package-lock.json", "packages.lock.json", "pdm.lock", "pnpm-lock.yaml", "poetry.lock", "pubspec.lock"),
        *("uv.lock", "yarn.lock"),
    }
)
_GENERATED_NAME = re.compile(
    r"(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.(?:cs|dart)|\.designer\.(?:cs|vb)|[_.]generated\.\w+)$",
    re.IGNORECASE,
)
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|css|mjs|cjs)$", re.IGNORECASE)
# Only comments count: prose and strings may be about other files that are generated.
_GENERATED_MARK = re.compile(
    r"""^[ \t]*(?:\#|//|/\*|\*|--|;|%|<!--|\(\*|\"\"\")[^\r\n]*?
    (?:@generated\b|\bauto(?:matically)?[- ]?generated\b|\bmade\ by\ GNU\ Bison\b
      |\bdo\ not\ (?:hand[- ])?(?:edit|modify|change)
        (?=\ (?:this|the)\ (?:\w+\ )?file|\ (?:it\ )?(?:by\ hand|manually|directly)|[\s.!;:,*/-]*$)
      |(?<=\ )(?:file|code|module|source|parser|class)\ (?:is|was|has\ been)\ (?:machine[- ])?generated\b)
    |^[ \t]*(?:\#|//|/\*|\*|--|;|%|<!--|\(\*|\"\"\")[\s*!/#-]*(?:code\ )?generated\ (?:by|from|with|using)\b""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_MARK_WITHIN = 2000  # characters from the top
_PUNCTUATION = re.compile(r"[;{}()=,:]")
_DENSE_LINE = 200
"""Characters from which a line can be minified code."""
_DENSE = (0.1, 0.1)
"""Share of punctuation at least, and of white space at most, in a line of minified code."""
_PROSE_OR_DATA = frozenset({
    ".adoc", ".asc", ".asciidoc", ".bib", ".cfg", ".conf", ".crt", ".csv", ".dat", ".desktop", ".diff", ".dtd",
    ".env", ".geojson", ".htm", ".html", ".ics", ".ini", ".ipynb", ".json", ".json5", ".jsonl", ".key",
    ".license", ".lock", ".log", ".map", ".markdown", ".md", ".mdx", ".ndjson", ".org", ".out", ".patch",
    ".pem", ".plist", ".po", ".pot", ".properties", ".qmd", ".rdf", ".rmd", ".rst", ".rtf", ".sig", ".snap",
    ".spdx", ".srt", ".sum", ".svg", ".tex", ".text", ".toml", ".tsv", ".ttl", ".txt", ".vtt", ".webmanifest",
    ".xhtml", ".xml", ".xsd", ".yaml", ".yml",
})  # fmt: skip
"""Suffixes of texts that hold prose or data, and code in blocks at most."""
LONG_LINE = 1000
"""Characters; a text of which such lines make up more than half was not written by hand."""


def skip_by_name(path: str, size: int | None, settings: CorpusSettings) -> Reason | None:
    """Return the reason to skip a file without opening it; None to open it."""
    name = PurePosixPath(path).name
    is_included = not settings.include or patterns(settings.include).match_file(path)
    if not is_included or (settings.exclude and patterns(settings.exclude).match_file(path)):
        return "excluded"
    if not settings.generated and (name in _LOCK_FILES or _GENERATED_NAME.search(name)):
        return "generated"
    if not settings.generated and _MINIFIED_NAME.search(name):
        return "minified"
    if size == 0:
        return "empty"
    if size is not None and size > settings.largest:
        return "too large"
    return None


def skip_by_bytes(content: bytes | str, largest: int) -> Reason | None:
    """Return the reason why content of at most `largest` bytes is not readable text; None if it may be."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(raw) > largest:
        return "too large"
    if not raw.strip():
        return "empty"
    if raw.startswith(b"version https://git-lfs.github.com/spec/"):
        return "git LFS pointer"
    # before the test for binary content: media cannot hold code, other binaries could
    if is_media(raw):
        return "media"
    if is_binary(raw) or is_document(raw):
        return "binary"
    return None


def skip_by_text(text: str, settings: CorpusSettings) -> Reason | None:
    """Return the reason why a text was not written by a person; None if it may be."""
    if not text or text.isspace():
        return "empty"
    if settings.generated:
        return None
    if is_minified(text):
        return "minified"
    if is_generated(text):
        return "generated"
    return None


def skip_by_language(language: str | None, settings: CorpusSettings) -> Reason | None:
    """Return the reason to skip a file of this language; None to read it."""
    if settings.language and language not in languages_named(settings.language):
        return "other language"
    if language is None and not (settings.language or settings.all_text):
        return "no known language"
    return None


def is_generated(text: str) -> bool:
    """Return True if a comment near the top says that a program wrote the text."""
    return bool(_GENERATED_MARK.search(text, 0, _MARK_WITHIN))


def is_minified(text: str) -> bool:
    """Return True if more than half of a text is in lines of over `LONG_LINE` characters."""
    if len(text) <= LONG_LINE:
        return False
    return 2 * sum(len(line) for line in text.split("\n") if len(line) > LONG_LINE) > len(text)


def is_minified_code(path: str, text: str, language: str | None) -> bool:
    """Return True if a program made most of a text short: its copies do not look like their source."""
    if _MINIFIED_NAME.search(path) and text.strip():
        return True
    if language is None:
        return False
    dense = sum(len(line) for line in text.split("\n") if len(line) > _DENSE_LINE and _is_dense(line))
    return 2 * dense > len(text)


def _is_dense(line: str) -> bool:
    marks, spaces = len(_PUNCTUATION.findall(line)), sum(map(str.isspace, line))
    least, most = _DENSE
    return marks >= least * len(line) and spaces <= most * len(line)


def is_prose_or_data(path: str) -> bool:
    """Return True for the name of a text that is no program: a document, or a file without a suffix."""
    return PurePosixPath(path).suffix.lower() in {"", *_PROSE_OR_DATA}


def language_of_file(path: str, head: str = "") -> str | None:
    """Return the programming language of a file, as `Sample.language` spells it, by its name or its first line (#!)."""
    if language := language_of(path, head):
        return language
    if head.startswith("#!"):
        command = head[2:].split("\n", 1)[0].split()
        # in `#!/usr/bin/env -S python3` the command comes third
        command = [word for word in command if word.rpartition("/")[2] != "env" and word != "-S"]
        if not command:
            return None
        return _language_of_tags(identify.tags_from_interpreter(command[0]))
    return _language_of_tags(identify.tags_from_filename(PurePosixPath(path).name))


@cache
def languages_named(names: tuple[str, ...]) -> frozenset[str]:
    """Return names of languages as assay spells them.

    Raises:
        DataError: there is no language of such a name.
    """
    return frozenset(map(checked_language, names))


@cache
def patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    """Return the compiled form of patterns as in .gitignore."""
    return GitIgnoreSpec.from_lines(lines)


def decode_source(raw: bytes, declared: str | None = None) -> tuple[str, bool]:
    """Return the text of a file, and True if Latin-1 was assumed.

    The encoding is UTF-16 or UTF-32 if there is their byte order mark, else UTF-8 if the bytes are valid, else the one
    that the file or its source declares, else Latin-1, which accepts any bytes.

    Args:
        raw: the whole file.
        declared: name of an encoding.

    Raises:
        UnicodeError: there is a mark of UTF-16 or UTF-32, but the content is not valid.
    """
    if wide := wide_encoding(raw):
        return raw.decode(wide), False
    # hardly any text of another encoding is valid UTF-8 by chance, so it is tried before what the file declares
    try:
        return raw.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        pass
    if name := declared or _cookie(raw):
        try:
            return raw.decode(codecs.lookup(name).name), False
        except (LookupError, ValueError):
            pass
    return raw.decode("latin-1"), True


def _cookie(raw: bytes) -> str | None:
    """Return the encoding that a comment in the first two lines declares, as Python, Ruby, Emacs and Vim write it."""
    head = b"\n".join(raw[:400].split(b"\n", 2)[:2])
    match = re.search(rb"^[ \t\f]*(?:#|//|/\*).*?coding[:=][ \t]*([-\w.]+)", head, re.MULTILINE)
    if match is None:
        return None
    return match[1].decode("ascii", "replace")


def _language_of_tags(tags: Iterable[str]) -> str | None:
    # tags are a set: without an order two runs could differ
    return next((name for tag in sorted(tags) if (name := language_named(tag)) in LANGUAGES), None)
