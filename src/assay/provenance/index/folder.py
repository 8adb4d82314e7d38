"""The folder of an index: its files, its profile and encoder, and the lock of its writer.

index.json            format, profile, encoder; the catalogue has a copy, which it must equal
catalogue.sqlite      documents, origins, files seen: `assay.provenance.index.catalogue`
postings/             `assay.retrieval.postings`
vectors/              `assay.retrieval.vectors`; only where there is an encoder
writer.lock           held by the one process that writes
"""

import json
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, CorpusIndexError, plain_reason
from assay.files import check_target_folder, parse_json, sole_process, sync_folder
from assay.licences import LICENCE_READER
from assay.provenance.index.catalogue import Catalogue
from assay.provenance.index.damage import reset_state
from assay.provenance.index.tables import BUILD_AGAIN
from assay.retrieval import Postings, Profile, VectorIndex, durable_writer, generations_in
from assay.types import Encoder

INDEX_FORMAT = 1
DESCRIPTION = "index.json"
CATALOGUE = "catalogue.sqlite"
POSTINGS = "postings"
VECTORS = "vectors"
LOCK = "writer.lock"

WRITTEN_FIRST = (LOCK, CATALOGUE, POSTINGS, VECTORS, f".{DESCRIPTION}.")
"""Beginnings of the names in a new folder before its index.json; the last is that of its temporary file."""


@dataclass(frozen=True, slots=True)
class Description:
    """Profile and encoder of an index.

    Attributes:
        profile: of the fingerprints.
        encoder: name of the encoder; None without vectors.
        encoder_digest: its digest.
        licence_reader: name and version of what read the licences; None of an older index.
    """

    profile: Profile
    encoder: str | None
    encoder_digest: str | None
    licence_reader: str | None = None

    @property
    def content(self) -> dict[str, Any]:
        """The description as JSON has it."""
        encoder = None if self.encoder is None else {"name": self.encoder, "digest": self.encoder_digest}
        described = {"format": INDEX_FORMAT, "profile": self.profile.content(), "encoder": encoder}
        return described if self.licence_reader is None else described | {"licence_reader": self.licence_reader}


def make_folder(folder: Path, profile: Profile, encoder: Encoder | None, licence_reader: str) -> None:
    """Create an empty index in a new or empty folder.

    Raises:
        CorpusIndexError: the folder is not empty, or cannot be written.
        DataError: a file or a broken link is in its place.
    """
    check_target_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not all(map(_is_written_first, folder.iterdir())):
            raise CorpusIndexError(f"{folder}: the folder is not empty; expected a new or empty folder for an index")
    except OSError as error:
        raise CorpusIndexError(f"{folder}: an index cannot be created here: {error.strerror}") from error
    with writer_lock(folder):
        _remove_unfinished(folder)
        content = description_content(profile, encoder, licence_reader)
        Catalogue.create(folder / CATALOGUE, json.dumps(content))
        Postings.create(folder / POSTINGS, profile)
        if encoder is not None:
            VectorIndex.create(folder / VECTORS, encoder.dimensions)
        # last: a folder without it is not an index, so a killed process never leaves half of one
        write_description(folder, content)
        sync_folder(folder)


def remove_empty(folder: Path) -> None:
    """Remove an index that was made for a build which added nothing."""
    with writer_lock(folder):
        # first: a folder without it is not an index
        (folder / DESCRIPTION).unlink()
        shutil.rmtree(folder, ignore_errors=True)


def _is_written_first(entry: Path) -> bool:
    return entry.name.startswith(WRITTEN_FIRST)


def _remove_unfinished(folder: Path) -> None:
    """Remove what is left of an index whose creation was cut short, by a full disk or a kill.

    Raises:
        CorpusIndexError: the folder holds an index, or a damaged one.
    """
    # a new index has generation 0; a later one belongs to an index with documents
    if (folder / DESCRIPTION).exists() or any(generations_in(folder / POSTINGS)) or _has_documents(folder / CATALOGUE):
        raise CorpusIndexError(f"{folder}: the folder is not empty; expected a new or empty folder for an index")
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        # this process holds the lock
        elif entry.name != LOCK:
            entry.unlink()


def _has_documents(path: Path) -> bool:
    try:
        with closing(Catalogue(path, writable=False)) as catalogue:
            return catalogue.generation > 0
    except CorpusIndexError:
        return False  # half a catalogue, or none


def write_description(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.json.

    Raises:
        CorpusIndexError: the folder cannot be written.
    """
    with durable_writer(folder / DESCRIPTION) as file:
        file.write(json.dumps(content, indent=1).encode())


def description_content(
    profile: Profile, encoder: Encoder | None, licence_reader: str = LICENCE_READER
) -> dict[str, Any]:
    """Return the description that a new index stores, as JSON has it."""
    if encoder is None:
        return Description(profile, encoder=None, encoder_digest=None, licence_reader=licence_reader).content
    return Description(profile, encoder.name, encoder.digest, licence_reader=licence_reader).content


def read_description(folder: Path) -> Description:
    """Return the description of the index in a folder.

    Raises:
        CorpusIndexError: there is no index, or one of another format version.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise CorpusIndexError(f"{folder}: no index here: expected a folder made by `assay index build`")
    try:
        content = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CorpusIndexError(f"{path}: damaged: {plain_reason(error)}") from error
    return description_of(content, path)


def description_of(content: Any, place: Path | str) -> Description:  # noqa: ANN401  checked here
    """Read a value that `description_content` returned.

    Args:
        content: parsed JSON.
        place: folder or address, for the error.

    Raises:
        CorpusIndexError: the value is something else, or of another format version.
    """
    # the version comes first: another format may have other fields, and is not damaged because of that
    version = content.get("format") if isinstance(content, dict) else None
    if version is not None and version != INDEX_FORMAT:
        raise CorpusIndexError(
            f"{place}: index of format {version!r:.40}, written by another version of assay; expected format "
            f"{INDEX_FORMAT}; {BUILD_AGAIN}"
        )
    try:
        encoder = content["encoder"] or {"name": None, "digest": None}
        name, digest = encoder["name"], encoder["digest"]
        if not isinstance(name, str | None) or not isinstance(digest, str | None):
            raise TypeError(f"received the encoder {encoder}, expected a name and a digest")  # noqa: TRY301  caught below
        return Description(Profile.of(content["profile"]), name, digest, licence_reader=content.get("licence_reader"))
    except (KeyError, TypeError, AttributeError, AssayError) as error:
        raise CorpusIndexError(f"{place}: its description is damaged: {plain_reason(error)}") from error


def check_description(folder: Path, described: Description, catalogue: Catalogue) -> None:
    """Compare index.json with its copy in the catalogue.

    Raises:
        CorpusIndexError: they differ.
    """
    if json.dumps(described.content) != catalogue.description:
        raise CorpusIndexError(
            f"{folder / DESCRIPTION}: damaged: it is not the description that the catalogue has; "
            "see `assay index verify --repair`"
        )


def restore_state(folder: Path) -> Description:
    """Make index.json and the state of the catalogue whole again, and return the description.

    Raises:
        CorpusIndexError: both are damaged, another process writes, or the catalogue is no consistent database.
    """
    with writer_lock(folder), closing(Catalogue(folder / CATALOGUE, writable=True)) as catalogue:
        # the description exists twice: the copy that is whole restores the other one
        try:
            catalogue.check_state()
        except CorpusIndexError:
            described = read_description(folder)
            generation = max(generations_in(folder / POSTINGS), default=0)
            reset_state(catalogue, generation, json.dumps(described.content))
            return described
        content = parse_json(catalogue.description)
        write_description(folder, content)
        return description_of(content, folder)


def fitting_encoder(
    place: Path | str, described: Description, encoder: Encoder | None, *, writable: bool
) -> Encoder | None:
    """Return the encoder if it is that of the index; None if there is none, or if the index has no vectors.

    Raises:
        CorpusIndexError: the index has vectors of another encoder, or is to be written without its encoder.
    """
    if described.encoder is None:
        return None
    if encoder is None:
        if writable:
            raise CorpusIndexError(
                f"{place}: contains vectors of {described.encoder}; adding documents needs that encoder"
            )
        return None
    if encoder.digest != described.encoder_digest:
        raise CorpusIndexError(
            f"{place}: contains vectors of {described.encoder} (digest {str(described.encoder_digest)[:12]}), "
            f"not of {encoder.name} (digest {encoder.digest[:12]}): vectors of different encoders cannot be compared"
        )
    return encoder


def writer_lock(folder: Path) -> AbstractContextManager[None]:
    """Lock the index against other writers; the system releases the lock of a killed process.

    Raises:
        CorpusIndexError: another process writes.
    """
    busy = f"{folder}: another process is writing to this index; expected no other writer"
    return sole_process(folder / LOCK, CorpusIndexError(busy))
