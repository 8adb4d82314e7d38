"""Recognition of media, which cannot hold code, by the bytes of a file.

Media are recognised by their content, never by their name. An image may begin as one and go on as a script, so a long
readable stretch inside of media is text like any other.
"""

import re
from typing import Final

from assay.datasets import is_binary

_MEDIA: Final = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"\0\0\1\0", b"\0\0\2\0", b"II*\0", b"MM\0*",
    b"8BPS", b"DDS ", b"\0\1\0\0\0", b"OTTO", b"wOFF", b"wOF2", b"ttcf", b"ID3", b"\xff\xfb", b"\xff\xf3", b"OggS",
    b"fLaC", b"MThd", b"FLV\1", b"\x1aE\xdf\xa3", b"\0\0\0\x0cJXL ", b"\xff\x0a",
)  # fmt: skip
"""First bytes of images, fonts, sounds and films."""
_RIFF: Final = frozenset({b"WEBP", b"WAVE", b"AVI "})
_READABLE: Final = re.compile(rb"[\t\r\n\x20-\x7e]{200,}")
_LINES: Final = 4
"""Line ends from which a readable stretch of media is text: a description of an image has few, or is XML."""


_ARCHIVES: Final = (b"PK\3\4", b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\0", b"Rar!\x1a\7")
"""Marks of archives, which programs find anywhere in a file."""
_DOCUMENTS: Final = (b"%PDF-", b"{\\rtf")


def is_document(raw: bytes) -> bool:
    """Return True if bytes are a document whose text stands between marks, also where all of them are readable."""
    return raw.startswith(_DOCUMENTS)


def is_media(raw: bytes) -> bool:
    """Return True if bytes are an image, a font, a sound or a film, with no archive inside."""
    has_mark = raw.startswith(_MEDIA) or raw[4:8] == b"ftyp" or (raw[:4] == b"RIFF" and raw[8:12] in _RIFF)
    # a text may begin with the letters of a mark, such as BM or ID3
    return has_mark and is_binary(raw) and not any(mark in raw for mark in _ARCHIVES)


def text_in_media(raw: bytes) -> str:
    """Return the readable stretches of media; "" where there are none."""
    stretches = [stretch[0] for stretch in _READABLE.finditer(raw) if stretch[0].count(b"\n") >= _LINES]
    return b"\n".join(stretches).decode("ascii")
