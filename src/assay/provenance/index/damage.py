"""Damaged rows of a catalogue: a search in all of it, and their removal."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.errors import CorpusIndexError
from assay.provenance.index.catalogue import Catalogue
from assay.provenance.index.searchable import as_index_error
from assay.provenance.index.tables import RECOUNT, row_checksum

_BATCH = 512
"""Documents that are read together."""

_FILES = """
SELECT files.id, sources.name, path, repository, "commit", licence, author, url, content, purl, declared,
    files.checksum
FROM files LEFT JOIN sources ON sources.id = source
"""


@dataclass(frozen=True, slots=True)
class CatalogueDamage:
    """Rows that are not what was written.

    Attributes:
        documents: numbers of those whose text or list of origins is damaged, or a file of these.
        files: numbers of descriptions of files.
        sources: numbers of corpora.
        seen: number of the source and path of records of files that were read or skipped.
    """

    documents: tuple[int, ...]
    files: tuple[int, ...]
    sources: tuple[int, ...]
    seen: tuple[tuple[int, str], ...]

    def __bool__(self) -> bool:
        return bool(self.documents or self.files or self.sources or self.seen)

    def __str__(self) -> str:
        """Return the counts of the damaged rows, without those that are 0."""
        names = ("documents", "descriptions of files", "sources", "records of files that were read")
        rows = (self.documents, self.files, self.sources, self.seen)
        return ", ".join(f"{len(damaged):,} {name}" for damaged, name in zip(rows, names, strict=True) if damaged)


def find_damage(catalogue: Catalogue) -> CatalogueDamage:
    """Read every row, and return those that are not what was written.

    Raises:
        CorpusIndexError: the file is no consistent database, so its rows cannot be read.
    """
    run = catalogue.connection.execute
    with as_index_error(catalogue.path):
        (report,) = run("PRAGMA integrity_check(1)").fetchone()
        if report != "ok":
            raise CorpusIndexError(f"{catalogue.path}: damaged: {' '.join(str(report).split())}: build the index again")
        sources = [
            number
            for number, name, checksum in run("SELECT id, name, checksum FROM sources")
            if checksum != row_checksum(number, name)
        ]
        files = [number for number, *fields, checksum in run(_FILES) if checksum != row_checksum(number, *fields)]
        seen = [
            (source, path)
            for source, path, *fields, checksum in run("SELECT * FROM seen")
            if checksum != row_checksum(source, path, *fields)
        ]
    documents = tuple(_damaged_documents(catalogue))
    return CatalogueDamage(documents=documents, files=tuple(files), sources=tuple(sources), seen=tuple(seen))


def drop_damage(catalogue: Catalogue, damage: CatalogueDamage) -> None:
    """Remove damaged rows; the next build then reads every file again.

    Every file, because a lost row does not say which file it belonged to.
    """
    # what cannot be read is in `damage` itself: every other document that needs one of these can be stored anew
    catalogue.release(damage.documents)
    run = catalogue.connection.executemany
    documents, files, sources = list(zip(damage.documents)), list(zip(damage.files)), list(zip(damage.sources))
    with as_index_error(catalogue.path):
        # from the leaves to the root: a row goes before the row that it refers to
        run("DELETE FROM origins WHERE document = ?", documents)
        run("DELETE FROM documents WHERE id = ?", documents)
        run("DELETE FROM origins WHERE file = ?", files)
        run("DELETE FROM origins WHERE file IN (SELECT id FROM files WHERE source = ?)", sources)
        run("DELETE FROM files WHERE id = ?", files)
        run("DELETE FROM files WHERE source = ?", sources)
        run("DELETE FROM seen WHERE source = ? AND path = ?", damage.seen)
        run("DELETE FROM seen WHERE source = ?", sources)
        run("DELETE FROM sources WHERE id = ?", sources)
    catalogue.forget_numbers()
    if damage:
        for source in catalogue.sources():
            catalogue.mark_seen(source, [replace(file, digest=None) for file in list(catalogue.seen(source))])


def reset_state(catalogue: Catalogue, generation: int, description: str) -> None:
    """Count the documents and files again, and store a state with these numbers."""
    with as_index_error(catalogue.path):
        catalogue.begin(write=True)
        for statement in RECOUNT:
            catalogue.connection.execute(statement)
        catalogue.connection.execute("INSERT INTO state VALUES (?, ?, x'')", (generation, description))
        catalogue.commit(generation)


def _damaged_documents(catalogue: Catalogue) -> Iterator[int]:
    ids = catalogue.ids()
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        # damage is rare: a batch is read as one, and only a damaged batch document by document
        if not _can_be_read(catalogue, batch):
            yield from (number for number in batch if not _can_be_read(catalogue, [number]))


def _can_be_read(catalogue: Catalogue, ids: list[int]) -> bool:
    try:
        deque(catalogue.documents(ids), maxlen=0)
    except CorpusIndexError:
        return False
    return True
