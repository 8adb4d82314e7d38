"""The life of a long command: settings checked, place claimed, continued or refused, recorded, finished.

    run = Run(folder, "audit")
    run.refuse_finished()                       # before anything is loaded
    with run.begun(options, data=digest):       # locked; begun anew, or continued by the same settings alone
        work(run.state / "part")                # all that a killed run continues from
        write(run.path, run.record(scores=…))   # the record comes last: it makes the run a finished one
        run.finish()

A run lies in its folder:

    manifest.json   kind, command, versions, settings; of a finished run also its facts and its seconds
    state/          what the unfinished run continues from
    .lock           held by the process that works on it; the system releases that of a killed process

A result that is one file has its run beside it, in the hidden folder `.NAME.run`, until it is finished.
"""

import platform
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, Self

from assay._version import __version__
from assay.codec import encode
from assay.errors import AssayError, DataError
from assay.files import LOCK, check_target, check_target_folder, parse_json, remove_leftovers, sole_process, write_json
from assay.progress import inform
from assay.reports import listed
from assay.settings import Settings

MANIFEST = "manifest.json"
PAGE = "report.html"
STATE = "state"
SECONDS = "seconds"
"""Entry of the manifest that a finished run has and an unfinished one lacks."""

PACKAGES = ("accelerate", "gguf", "numpy", "peft", "scikit-learn", "scipy", "tokenizers", "torch", "transformers")


class Run:
    """One run of a long command: in a named folder, or the first free one of `folder`, `folder-2` and so on.

    A numbered folder is free if it holds neither a finished run, nor an unfinished one of other settings, nor files
    that are no run's.

    Attributes:
        path: of the folder; a number is final once the run has begun.
        kind: of its result, such as "audit"; `assay.load_run` reads it by its kind.
        result: the folder, or the one file that is the result.
        continues: True if it continues an earlier run.
    """

    def __init__(
        self, path: Path | str, kind: str, *, numbered: bool = False, force: bool = False, repeatable: bool = False
    ) -> None:
        """Set the place.

        Args:
            path: of the folder.
            kind: of the result.
            numbered: take the first free number.
            force: replace another run, so that no number is needed.
            repeatable: the same settings open a finished run again, because each of its stages is on disk.
        """
        self.path, self.kind, self.continues = Path(path), kind, False
        self._numbered, self._force, self._repeatable = numbered and not force, force, repeatable
        self.result = self.path
        self._start = time.perf_counter()

    @classmethod
    def beside(cls, result: Path | str, kind: str, *, force: bool = False) -> Self:
        """Return the run of a result that is one file.

        Raises:
            DataError: the file cannot lie there.
        """
        place = Path(result)
        check_target(place)
        run = cls(place.with_name(f".{place.name}.run"), kind, force=force)
        run.result = place
        return run

    @property
    def state(self) -> Path:
        """The folder of all that an unfinished run continues from; it may not exist yet."""
        return self.path / STATE

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
        if not (self._force or self._numbered or self._repeatable) and is_finished(manifest_in(self.path)):
            raise DataError(
                f"{self.path} holds a finished run; expected --force to replace it, or another folder (-o OTHER); "
                f"`assay report {self.path}` shows it"
            )

    @contextmanager
    def begun(self, *settings: Settings, **inputs: object) -> Iterator[Self]:
        """Lock the folder, which is created, and begin a run in it, or continue that of the same settings.

        If the work is refused before it has left anything to continue from, the folder is removed again.

        Args:
            settings: of the command; all are recorded, and those that can change a value are the identity of the run.
            inputs: what else can change a value, such as digests of texts; an input hides a setting of its name.

        Raises:
            DataError: the folder holds another run, which is not to be replaced, another process works on it, or it
                cannot be written.
        """
        recorded: dict[str, Any] = {}
        undecided: set[str] = set()
        # a setting that decides nothing in one class may decide something in another: the input of its name counts then
        for part in settings:
            recorded |= part.record()
            undecided |= part.record().keys() - part.identity().keys()
        recorded |= encode(inputs)
        ignored = undecided - inputs.keys()
        if self._numbered:
            self.path = self.result = next(path for path in _numbers(self.path) if _is_free(path, recorded, ignored))
        self.refuse_finished()
        # innermost first, as they are removed again
        created = [place for place in (self.path, *self.path.parents) if not place.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot write the run folder {self.path}: {error.strerror or error}") from error
        busy = DataError(f"{self.result}: another process works on this run; expected its end, or another folder")
        with sole_process(self.path / LOCK, busy):
            # another process may have finished it since
            self.refuse_finished()
            if self.result != self.path:
                remove_leftovers([self.result])
            self._begin(recorded, ignored)
            try:
                yield self
            except AssayError:
                # bad input only: a run that was killed or interrupted keeps its folder to continue from
                if {entry.name for entry in self.path.iterdir()} <= {MANIFEST, LOCK}:
                    self._remove(created)
                raise

    def _begin(self, recorded: Mapping[str, object], ignored: Collection[str]) -> None:
        """Compare the settings with those of the run in the folder, which no other process changes now."""
        before = manifest_in(self.path)
        is_open = bool(before) and (self._repeatable or not is_finished(before))
        differing = changed_settings(before.get("settings", {}), recorded, ignored) if is_open else []
        if differing and not self._force:
            state = "a finished" if is_finished(before) else "an unfinished"
            raise DataError(
                f"{self.result} holds {state} run with other settings ({listed(differing)}); expected its settings "
                "to continue it, --force to replace it, or another place (-o OTHER)"
            )
        self.continues = is_open and not differing
        if self.continues:
            if not is_finished(before):
                inform(f"continues the unfinished run in {self.result}; what the cache holds is not computed again")
            return
        # the state of another run is of no use
        shutil.rmtree(self.state, ignore_errors=True)
        start = {
            "kind": self.kind,
            # `python -m assay` has the path of __main__.py in place of the command
            "command": [Path(sys.argv[0]).stem.removeprefix("__main__") or "assay", *sys.argv[1:]],
            "assay": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": {name: number for name in PACKAGES if (number := _version(name))},
            "settings": recorded,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_json(self.path / MANIFEST, start)

    def _remove(self, created: Sequence[Path]) -> None:
        # a folder that holds something else by now stays
        with suppress(OSError):
            for name in (MANIFEST, LOCK):
                (self.path / name).unlink(missing_ok=True)
            for place in created:
                place.rmdir()

    def note(self, **facts: object) -> None:
        """Add facts to the record of a run that goes on; a value replaces that of the same name."""
        write_json(self.path / MANIFEST, manifest_in(self.path) | encode(facts))

    def record(self, settings: Mapping[str, object] | None = None, /, **facts: object) -> dict[str, Any]:
        """Return the record of the run as a finished one, as JSON holds it.

        Args:
            settings: values that replace those of the beginning, such as the name of a model that was a default.
            facts: on the result.
        """
        before = manifest_in(self.path)
        kept: dict[str, Any] = before | encode(facts)
        kept["settings"] = before["settings"] | encode(settings or {})
        kept[SECONDS] = round(time.perf_counter() - self._start, 3)
        return kept

    def finish(self) -> None:
        """Remove what an unfinished run would have continued from; its result and its record are written."""
        # beside a file, nothing of the run is of use any more; in a folder, its record is part of the result
        shutil.rmtree(self.state if self.path == self.result else self.path, ignore_errors=True)


def run_at(out: Path | str | Run | None, begin: Callable[[Path | str], Run]) -> Run | None:
    """Return the run that writes to a place; None where nothing is written."""
    if isinstance(out, str | Path):
        return begin(out)
    return out


@contextmanager
def begun(run: Run | None, *settings: Settings, **inputs: object) -> Iterator[None]:
    """Begin a run, see `Run.begun`; without one there is nothing to claim."""
    if run is None:
        yield
        return
    with run.begun(*settings, **inputs):
        yield


def manifest_in(folder: Path) -> dict[str, Any]:
    """Return the record of the run in a folder; empty where there is none, or where its file is damaged."""
    try:
        manifest = parse_json((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(manifest, dict):
        return {}
    return manifest


def is_finished(manifest: Mapping[str, object]) -> bool:
    """Return True for the record of a finished run."""
    return SECONDS in manifest


def changed_settings(before: object, now: object, ignored: Collection[str] = (), place: str = "") -> list[str]:
    """Return the settings that differ, sorted, with dots before nested ones.

    Args:
        before: settings as JSON holds them.
        now: likewise.
        ignored: settings, on the first level, that may differ.
        place: of both, for the names.
    """
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [place] * (before != now)
    # `ignored` counts on the first level alone: below it, a name may mean something else
    names = sorted({*before, *now} - {*ignored})
    changed = []
    for name in names:
        changed += changed_settings(
            before.get(name), now=now.get(name), ignored=(), place=f"{place}.{name}".lstrip(".")
        )
    return changed


def _is_free(folder: Path, settings: Mapping[str, object], ignored: Collection[str]) -> bool:
    manifest = manifest_in(folder)
    if not manifest:
        return not _is_foreign(folder)
    return not is_finished(manifest) and not changed_settings(manifest.get("settings", {}), settings, ignored)


def _is_foreign(folder: Path) -> bool:
    """Return True for a folder with files of which none marks a run; hidden files do not count."""
    if not folder.is_dir():
        return False
    if not (folder / MANIFEST).exists():
        return any(not entry.name.startswith(".") for entry in folder.iterdir())
    try:
        manifest = parse_json((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        # a damaged run
        return False
    return not (isinstance(manifest, dict) and "assay" in manifest)


def _numbers(folder: Path) -> Iterator[Path]:
    """Yield the folder, then `folder-2`, `folder-3` and so on."""
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
