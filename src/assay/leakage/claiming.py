"""The folder of a run: a finished run is never overwritten by accident, an unfinished one is continued."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import AssayError, DataError
from assay.files import check_target_folder, parse_json, write_json
from assay.leakage.run_folder import MANIFEST
from assay.reports import encode, listed

STARTED = "started.json"
"""Settings of a run that has begun; removed when it is finished."""


class RunFolder:
    """The folder of one run: a named folder, or the first free one of `folder`, `folder-2` and so on.

    A numbered folder is free if it holds neither a finished run, nor an unfinished run with other settings, nor files
    that are no run's.

    Attributes:
        path: of the folder; a number is final once `check` has seen the settings.
    """

    def __init__(self, path: Path, *, numbered: bool = False, force: bool = False) -> None:
        """Set the folder; `force` replaces another run, so that no number is needed."""
        self.path = path
        self._force = force
        self._numbered = numbered and not force

    def refuse_finished(self) -> None:
        """Check, before anything is loaded, that the folder can be written and holds neither a finished run nor files.

        Raises:
            DataError: it cannot, it holds a finished run, which is not to be replaced, or files that are no run's.
        """
        check_target_folder(self.path)
        if not self._numbered and _is_foreign(self.path):
            raise DataError(
                f"{self.path} holds files that are no run's; expected a new or empty folder, or one of a run"
            )
        if not (self._force or self._numbered) and _is_finished(self.path):
            raise DataError(
                f"{self.path} holds a finished run; expected --force to replace it, or another folder (-o OTHER); "
                f"`assay report {self.path}` shows it"
            )

    def check(self, settings: Mapping[str, object]) -> None:
        """Check, before the model is loaded, that a run with these settings may be written; choose the number.

        Args:
            settings: everything that decides about the result.

        Raises:
            DataError: the folder holds another run, which is not to be replaced.
        """
        entries = {key: encode(value) for key, value in settings.items()}
        if self._numbered:
            self.path = next(
                path
                for path in _numbered(self.path)
                if not _is_finished(path) and not _is_foreign(path) and _settings_of(path / STARTED) in (None, entries)
            )
        self.refuse_finished()
        before = _settings_of(self.path / STARTED)
        if not self._force and before not in (None, entries):
            differing = sorted(key for key in {*before, *entries} if before.get(key) != entries.get(key))
            raise DataError(
                f"{self.path} holds an unfinished run with other settings ({listed(differing)}); expected its settings "
                "to continue it, --force to replace it, or another folder (-o OTHER)"
            )

    @contextmanager
    def running(self, settings: Mapping[str, object]) -> Iterator[bool]:
        """Begin a run in the folder, which is created, or continue the unfinished run with the same settings.

        The run begins after all that can be refused beforehand. If it is refused nevertheless, before it has left
        anything to continue from, the folder is removed again.

        Yields:
            True if it continues.

        Raises:
            DataError: see `check`; or the folder cannot be written.
        """
        self.check(settings)
        created = [place for place in (self.path, *self.path.parents) if not place.exists()]
        continues = self._begin({key: encode(value) for key, value in settings.items()})
        try:
            yield continues
        except AssayError:
            if {entry.name for entry in self.path.iterdir()} == {STARTED}:
                self.finish()
                with suppress(OSError):  # a folder that holds something else by now stays
                    for place in created:
                        place.rmdir()
            raise

    def _begin(self, entries: Mapping[str, object]) -> bool:
        continues = _settings_of(self.path / STARTED) == entries
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.path / STARTED, entries)
            (self.path / MANIFEST).unlink(missing_ok=True)
        except OSError as error:
            raise DataError(f"cannot write the run folder {self.path}: {error.strerror or error}") from error
        return continues

    def finish(self) -> None:
        """Mark the run as finished."""
        (self.path / STARTED).unlink(missing_ok=True)


def _is_finished(folder: Path) -> bool:
    return (folder / MANIFEST).exists()


def _is_foreign(folder: Path) -> bool:
    """Return True for a folder with files of which none marks a run; hidden files do not count."""
    if not folder.is_dir() or (folder / STARTED).exists():
        return False
    try:
        manifest = parse_json((folder / MANIFEST).read_text("utf-8"))
    except FileNotFoundError:
        return any(not entry.name.startswith(".") for entry in folder.iterdir())
    except (OSError, ValueError):
        return False  # a damaged run
    return not (isinstance(manifest, dict) and "assay" in manifest)


def _numbered(folder: Path) -> Iterator[Path]:
    """Yield the folder, then `folder-2`, `folder-3` and so on."""
    yield folder
    number = 2
    while True:
        yield folder.with_name(f"{folder.name}-{number}")
        number += 1


def _settings_of(path: Path) -> Mapping[str, object] | None:
    """Return the settings of an unfinished run; None without one, or where its file is damaged."""
    try:
        settings = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None
