"""The rules that a change is judged by: those of its base commit, so that a change cannot weaken its own gate."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.authorship import LineState
from assay.checking.settings import CheckSettings
from assay.corpora import SourceChange
from assay.errors import DataError, did_you_mean
from assay.files import assay_table
from assay.guard import LARGEST_METADATA
from assay.licences import LicenceRules, read_rules
from assay.provenance.findings import baseline_of
from assay.settings import Declared, declared

CONFIGURATION = Path("assay.toml")

WRITERS: Mapping[str, frozenset[LineState]] = MappingProxyType(
    {
        "agent": frozenset({"agent", "mixed"}),
        "contradicting": frozenset({"contradicting"}),
        "unrecorded": frozenset({"unrecorded"}),
    }
)
"""Rule on writers → the states of lines that it denies."""

_PATHS = frozenset({"index", "baseline"})
"""Settings whose value is a path, relative to the root of the repository."""


@dataclass(frozen=True, slots=True)
class CommandRules:
    """Rules of the command line, over those of the base commit.

    Attributes:
        settings: of the command line.
        overriding: names of those that the user gave, which win over the file.
        config: file of the rules; None for the usual one.
        writes_baseline: the first baseline is being written, so it may be named and absent.
    """

    settings: CheckSettings
    overriding: Collection[str] = ()
    config: Path | None = None
    writes_baseline: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRules:
    """Rules that have been read and checked.

    Attributes:
        settings: as they were written.
        licences: that are denied, allowed or left open.
        denied: states of lines, by who wrote them, that fail.
        config: file that has them, to be named; "" without one.
        baseline: keys of accepted findings.
    """

    settings: CheckSettings
    licences: LicenceRules
    denied: frozenset[LineState]
    config: str = ""
    baseline: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: CheckSettings, *, config: str = "", baseline: frozenset[str] = frozenset()) -> "ChangeRules":
        """Check rules, and read what they name.

        Raises:
            DataError: there is no such licence, family or rule on writers.
        """
        denied: set[LineState] = set()
        for writer in settings.fail_on_writer:
            if writer not in WRITERS:
                near = did_you_mean(writer, WRITERS)
                raise DataError(f"fail-on-writer: received {writer!r}, expected {', '.join(WRITERS)}{near}")
            denied |= WRITERS[writer]
        return cls(
            settings=settings,
            licences=read_rules(settings.fail_on_licence, settings.allow_licence),
            denied=frozenset(denied),
            config=config,
            baseline=baseline,
        )

    @property
    def can_fail(self) -> bool:
        """True if there is a rule."""
        return bool(self.licences or self.denied)


def rules_of_base(change: SourceChange, command: CommandRules) -> ChangeRules:
    """Return the rules of the file in the base commit, overridden by those of the command line.

    Raises:
        DataError: the file that was named is absent, or one has something else in it.
    """
    path = command.config or change.repository / CONFIGURATION
    settings = _settings_of(change, path, command)
    baseline = frozenset[str]()
    if settings.baseline:
        accepted = Path(settings.baseline)
        # the first baseline is written by rules that name it already
        is_first = command.writes_baseline and content_at_base(change, accepted)[0] is None
        if not is_first:
            baseline = baseline_of(*_required(change, accepted))
    return ChangeRules.of(settings, config=change.within(path), baseline=baseline)


def _settings_of(change: SourceChange, path: Path, command: CommandRules) -> CheckSettings:
    if command.config is None and content_at_base(change, path)[0] is None:
        return command.settings
    content, place = _required(change, path)
    values = _values(_check_table(path, content, place), place)
    for name in _PATHS & values.keys():
        # an index may be an address
        if "://" not in values[name]:
            values[name] = os.path.normpath(change.repository / values[name])
    for name in command.overriding:
        values.pop(name, None)
    try:  # of the file's own rules, so that the message names it
        ChangeRules.of(replace(CheckSettings(), **values))
    except DataError as error:
        raise DataError(f"{place}: {error}") from error
    return replace(command.settings, **values)


def _check_table(path: Path, content: bytes, place: str) -> Mapping[str, Any]:
    """Return the table [check] of a file; empty where it has none.

    Raises:
        DataError: the file has no table of ours, or one whose name is misspelt.
    """
    table = assay_table(path, content)
    if table is None or not isinstance(rows := table.get("check", {}), dict):
        raise DataError(f"{place}: received no table for assay, expected [check] or [tool.assay.check]")
    if table and "check" not in table:  # a table [chek] would be a gate without a rule
        near = did_you_mean("check", tuple(table))
        if near:
            raise DataError(f"{place}: received no table check{near}; a table of another name holds no rule")
    return rows


def _values(rows: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return setting → its value from the keys of a table, with every value checked."""
    settings = _by_key()
    values: dict[str, Any] = {}
    for key, value in rows.items():
        if key not in settings:
            near = did_you_mean(key, settings) or f"; expected {', '.join(settings)}"
            raise DataError(f"{place}: no setting check.{key}{near}")
        entry = settings[key]
        # lists of TOML are tuples in settings; a single text would be read letter by letter
        if isinstance(value, list) != isinstance(entry.default, tuple):
            expected = f'a list: ["{value}"]' if isinstance(entry.default, tuple) else entry.expected()
            raise DataError(f"{place}: check.{key}: received {value!r}, expected {expected}")
        values[entry.name] = tuple(value) if isinstance(value, list) else value
        entry.check(values[entry.name], f"{place}: check.{key}")
    return values


def _by_key() -> dict[str, Declared]:
    """Return key of a file → the setting; both spellings of an option are keys."""
    settings = {}
    for entry in declared(CheckSettings):
        for option in entry.setting.options or (entry.key,):
            settings[option.removeprefix("--")] = entry
    return settings


def _required(change: SourceChange, path: Path) -> tuple[bytes, str]:
    content, place = content_at_base(change, path)
    if content is None:
        raise DataError(f"{place}: no such file, expected it in the base commit: merge it first, or leave its line out")
    return content, place


def content_at_base(change: SourceChange, path: Path) -> tuple[bytes | None, str]:
    """Return a file of the base commit, or one outside of the repository, and its place; None where there is none."""
    within = change.within(path)
    # outside of the repository: a change cannot write it
    if Path(within).is_absolute():
        return read_metadata(path), str(path)
    place = f"{within} of {change.base[:12]}"
    content = change.at_base(within)
    if content is not None and len(content) > LARGEST_METADATA:
        raise DataError(f"{place}: more than {LARGEST_METADATA:,} bytes, expected fewer")
    return content, place


def read_metadata(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        DataError: it cannot be read, or is too large for metadata: rules that are cut off would be fewer.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_METADATA + 1)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}, expected a file that can be read") from error
    if len(content) > LARGEST_METADATA:
        raise DataError(f"{path} has more than {LARGEST_METADATA:,} bytes, expected a smaller file")
    return content
