"""The folder of an index: what lies in it, what it was made with, and who may write.

index.json            format, profile, encoder
catalogue.sqlite      documents, origins, files seen: `assay.provenance.catalogue`
postings/             `assay.retrieval.postings`
vectors/              `assay.retrieval.vectors`; only where there is an encoder
writer.lock           held by the one process that writes
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from assay.errors import AssayError, CorpusIndexError
from assay.files import sync_folder
from assay.provenance.catalogue import Catalogue
from assay.retrieval import Channel, Postings, Profile, VectorIndex, writing
from assay.types import Encoder

FORMAT = 1
DESCRIPTION = "index.json"
CATALOGUE = "catalogue.sqlite"
POSTINGS = "postings"
VECTORS = "vectors"
LOCK = "writer.lock"


@dataclass(frozen=True, slots=True)
class Description:
    """What an index was made with.

    Attributes:
        profile: of the fingerprints.
        encoder: name of the encoder, None without vectors.
        encoder_digest: its digest.
    """

    profile: Profile
    encoder: str | None
    encoder_digest: str | None


def make_folder(folder: Path, profile: Profile, encoder: Encoder | None) -> None:
    """An empty index in a new or empty folder; `index.json` comes last and makes it one.

    Raises:
        CorpusIndexError: the folder holds something, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CorpusIndexError(f"{folder}: holds something already: an index is made in a new or empty folder")
    except OSError as error:
        raise CorpusIndexError(f"{folder}: no index can be made here: {error.strerror}") from error
    Catalogue.create(folder / CATALOGUE)
    Postings.create(folder / POSTINGS, profile)
    if encoder is not None:
        VectorIndex.create(folder / VECTORS, encoder.dimensions)
    with writing(folder / DESCRIPTION) as file:
        file.write(json.dumps(description_content(profile, encoder), indent=1).encode())
    sync_folder(folder)


def description_content(profile: Profile, encoder: Encoder | None) -> dict[str, Any]:
    """What is written down of an index when it is made, as JSON has it."""
    described = encoder and {"name": encoder.name, "digest": encoder.digest}
    return {"format": FORMAT, "profile": asdict(profile), "encoder": described}


def read_description(folder: Path) -> Description:
    """What the index in a folder was made with.

    Raises:
        CorpusIndexError: there is none, or one of another version.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise CorpusIndexError(f"{folder}: no index here: expected a folder made by `assay index build`")
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CorpusIndexError(f"{path}: damaged: {error}") from error
    return description_of(content, path)


def description_of(content: Any, place: Path | str) -> Description:  # noqa: ANN401  it is what is checked here
    """What `description_content` wrote.

    Args:
        content: parsed JSON.
        place: folder or address, for the error.

    Raises:
        CorpusIndexError: it is something else, or of another version.
    """
    try:
        version, profile = content["format"], content["profile"]
        encoder = content["encoder"] or {"name": None, "digest": None}
        channels = tuple(Channel(**one) for one in profile["channels"])
        described = Description(Profile(profile["name"], channels), encoder["name"], encoder["digest"])
    except (KeyError, TypeError, AssayError) as error:
        raise CorpusIndexError(f"{place}: its description is damaged: {error}") from error
    if version != FORMAT:
        raise CorpusIndexError(f"{place}: index of format {version}: this assay reads format {FORMAT}")
    return described


def fitting_encoder(
    place: Path | str, described: Description, encoder: Encoder | None, *, writable: bool
) -> Encoder | None:
    """The encoder, if it is the one that the index was made with.

    Raises:
        CorpusIndexError: it is another one, or it is missing where documents are to be added.
    """
    if described.encoder is None:
        return None
    if encoder is None:
        if writable:
            raise CorpusIndexError(f"{place}: holds vectors of {described.encoder}: adding needs that encoder")
        return None
    if encoder.digest != described.encoder_digest:
        raise CorpusIndexError(
            f"{place}: holds vectors of {described.encoder} (digest {str(described.encoder_digest)[:12]}), "
            f"not of {encoder.name} (digest {encoder.digest[:12]}): vectors of different encoders cannot be compared"
        )
    return encoder


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Inside this block no other process writes; the lock falls with the process.

    Raises:
        CorpusIndexError: another one writes.
    """
    lock = FileLock(folder / LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise CorpusIndexError(f"{folder}: another process is writing to this index; one can at a time") from None
    except OSError as error:
        raise CorpusIndexError(f"{folder}: cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
