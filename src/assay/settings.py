"""Settings: each is declared once, as a field of a frozen dataclass, with its type, default, help and range.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Reading(Settings):
        PANEL: ClassVar[str] = "Reading"
        limit: Annotated[int | None, Setting("Take the first N samples only.", metavar="N", least=1)] = None

The options of the command line, the keys of `assay.toml`, the checks of values, the identity of a run, its manifest and
the page of settings are made from these declarations. Nothing here knows of a terminal.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from assay.errors import DataError, SettingError, did_you_mean

YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
NUMBERS: Mapping[Any, tuple[type, ...]] = {int: (int,), float: (int, float)}
"""Type of a setting that is a number → the types of its values."""
BETWEEN_PAIRS = re.compile(r",(?=[A-Za-z][\w-]*=)")
"""A comma that another KEY= follows; other commas belong to a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """An option that takes several settings as KEY=VALUE, because few people need one of them.

    Attributes:
        option: its name without dashes.
        help: one line.
    """

    option: str
    help: str


@dataclass(frozen=True, slots=True)
class Setting:
    """Description of one setting; the text of `help` is its documentation everywhere.

    Attributes:
        help: one line.
        metavar: name of its value; None for one after its type.
        least: smallest value.
        most: largest value.
        common: has an option that `--help` shows; other options are shown by `--help-all` alone.
        decides: can change a value that a run computes, so that it belongs to the identity of the run.
        safe_when_found: pure form, such as a column or a format: it may come from a file of a stranger.
        inside: the option that takes it as KEY=VALUE; None for an option of its own.
        options: names of its option, with dashes; empty for one after the field.
        completes: kind of value that a shell completes: models, scores, benchmarks, languages …
        expects: the values that it takes, in words, for errors; None for words after its type.
        joined: several values stand in one text, with commas between; otherwise the option of texts is repeated.
    """

    help: str
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    common: bool = False
    decides: bool = True
    safe_when_found: bool = False
    inside: Bundle | None = None
    options: tuple[str, ...] = ()
    completes: str | None = None
    expects: str | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """One setting of a class.

    Attributes:
        name: of the field.
        kind: its type, without metadata.
        setting: its description.
        default: MISSING where a value is required.
        panel: heading of its class.
        owner: name of its class.
    """

    name: str
    kind: Any
    setting: Setting
    default: Any
    panel: str
    owner: str

    @property
    def key(self) -> str:
        """The name as people write it."""
        return self.name.replace("_", "-")

    @property
    def types(self) -> tuple[Any, ...]:
        """The types that a value may have; None among them where it may be absent."""
        if get_origin(self.kind) in (UnionType, Union):
            return get_args(self.kind)
        return (self.kind,)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a closed choice; empty for any other type."""
        literals = [kind for kind in self.types if get_origin(kind) is Literal]
        return tuple(map(str, chain.from_iterable(map(get_args, literals))))

    def parse(self, text: str, place: str) -> Any:  # noqa: ANN401  of the type of the field
        """Return the value that a text stands for.

        Args:
            text: as a person wrote it.
            place: begins the line of the error.

        Raises:
            SettingError: it stands for none.
        """
        if text == "" and NoneType in self.types:
            return None
        # the first type that takes the text counts, so a union names the narrower type first
        for kind in self.types:
            items = get_args(kind)
            try:
                if kind is bool:
                    return YES_OR_NO[text.lower()]
                if kind in (int, float, Path):
                    value = kind(text)
                elif get_origin(kind) is tuple:
                    value = tuple(items[0](part.strip()) for part in text.split(","))
                else:
                    value = text
            except (ValueError, KeyError):
                continue
            if kind is NoneType:
                continue
            self.check(value, place)
            return value
        raise SettingError(f"{place}: received {text!r}, expected {self.expected()}")

    def check(self, value: object, place: str) -> None:
        """Check a value.

        Raises:
            SettingError: of another type, or out of the range.
        """
        if not any(_fits(kind, value) for kind in self.types):
            near = did_you_mean(str(value), self.choices)
            raise SettingError(f"{place}: received {value!r}, expected {self.expected()}{near}")
        numbers = value
        if not isinstance(numbers, tuple):
            numbers = (value,)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            # "not >=" in place of "<", which is false for NaN as well
            too_low = self.setting.least is not None and not number >= self.setting.least
            if too_low or (self.setting.most is not None and not number <= self.setting.most):
                raise SettingError(f"{place}: received {number!r}, expected {self._range()}")

    def _range(self) -> str:
        least, most = self.setting.least, self.setting.most
        if least is not None and most is not None:
            return f"{least:g} to {most:g}"
        if least is None:
            return f"at most {most:g}"
        return f"at least {least:g}"

    def expected(self) -> str:
        """Return the values that it takes, in words."""
        if self.choices or self.setting.expects:
            return self.setting.expects or ", ".join(self.choices)
        names = {bool: "true or false", int: "a whole number", float: "a number", Path: "a path", str: "text"}
        names |= {tuple: "values with commas between them"}
        return next((names[base] for kind in self.types if (base := get_origin(kind) or kind) in names), "a value")


MODEL_OPTION = Bundle(option="model-option", help="A rarely needed setting of the model, listed by --help-all.")
COLUMNS = Bundle(option="columns", help="Columns of a table: text=prompt,id=task_id,group=repo,…")
UNSEEN_COLUMNS = Bundle(option="unseen-columns", help="Columns of --unseen: text=code,group=repo.")


class Settings:
    """Base of the classes of settings: their values are checked, and they describe themselves."""

    __slots__ = ()
    PANEL: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            SettingError: one is of another type, or out of its range.
        """
        for entry in declared(type(self)):
            entry.check(getattr(self, entry.name), entry.name)

    @classmethod
    def of(cls, **values: Any) -> Self:  # noqa: ANN401  the types of the fields
        """Return settings from keywords.

        Raises:
            SettingError: there is no such setting, or a value is wrong.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # every class of settings is a dataclass
        for name in values:
            if name not in names:
                near = did_you_mean(name, names) or f", expected one of {', '.join(names)}"
                raise SettingError(f"received {name}, which is no setting of {cls.__name__}{near}")
        return cls(**values)

    def with_values(self, **values: Any) -> Self:  # noqa: ANN401  the types of the fields
        """Return these settings with other values; errors as in `of`."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # as in `of`
        return self.of(**own | values)

    def identity(self) -> dict[str, object]:
        """Return the settings that can change a value, by name, as JSON holds them."""
        return {
            entry.name: _plain(getattr(self, entry.name)) for entry in declared(type(self)) if entry.setting.decides
        }

    def record(self) -> dict[str, object]:
        """Return every setting by name, as JSON holds it: what a manifest keeps."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in declared(type(self))}

    def changed(self) -> dict[str, object]:
        """Return the settings that differ from their defaults."""
        values = {entry: getattr(self, entry.name) for entry in declared(type(self))}
        return {entry.name: value for entry, value in values.items() if value != entry.default}


Kind = TypeVar("Kind", bound=Settings)


_DECLARED: dict[Any, tuple[Declared, ...]] = {}
"""Class → its settings, read once."""


def declared(kind: Any) -> tuple[Declared, ...]:  # noqa: ANN401  a dataclass
    """Return the settings that a class declares, in order; fields without a `Setting` are passed over."""
    # resolving annotations takes milliseconds a class, and every command asks for all of its classes
    if kind not in _DECLARED:
        _DECLARED[kind] = _read(kind)
    return _DECLARED[kind]


def _read(kind: Any) -> tuple[Declared, ...]:  # noqa: ANN401
    hints = get_type_hints(kind, include_extras=True)
    panel = getattr(kind, "PANEL", "")
    entries = []
    for field in fields(kind):
        hint = hints[field.name]
        if get_origin(hint) is Annotated:
            inner, *metadata = get_args(hint)
            setting = next((entry for entry in metadata if isinstance(entry, Setting)), None)
            if setting is not None:
                default = field.default
                # dataclasses keep a default that is made anew apart from one that is a value
                if field.default_factory is not MISSING:
                    default = field.default_factory()
                entries.append(
                    Declared(
                        name=field.name, kind=inner, setting=setting, default=default, panel=panel, owner=kind.__name__
                    )
                )
    return tuple(entries)


def day_named(value: date | str | None, option: str) -> date | None:
    """Return a day.

    Raises:
        DataError: the text is no day of the calendar.
    """
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise DataError(f"{option} {value!r:.40}: expected a day as YYYY-MM-DD") from None


def from_pairs(entries: Iterable[Declared], texts: Iterable[str], place: str) -> dict[str, Any]:
    """Return name → value from texts of the form KEY=VALUE, several of them with commas between.

    Args:
        entries: the settings that may be named.
        texts: a later one of the same key counts.
        place: begins the line of an error.

    Raises:
        SettingError: not of this form, no such key, or a wrong value.
    """
    by_key = {entry.key: entry for entry in entries}
    values = {}
    for pair in chain.from_iterable(map(BETWEEN_PAIRS.split, texts)):
        key, equals, text = pair.partition("=")
        entry = by_key.get(key.strip().replace("_", "-"))
        if not equals or entry is None:
            hint = f", expected KEY=VALUE with one of {', '.join(by_key)}"
            if equals:
                hint = did_you_mean(key, by_key) or hint
            raise SettingError(f"{place}: received {pair!r}{hint}")
        values[entry.name] = entry.parse(text.strip(), f"{place} {entry.key}")
    return values


def _fits(kind: Any, value: object) -> bool:  # noqa: ANN401
    origin = get_origin(kind)
    if kind is Any:
        return True
    if kind is None or kind is NoneType:
        return value is None
    if origin is Literal:
        return value in get_args(kind)
    if kind in NUMBERS:
        # True is an int in Python, and no number of a person
        return isinstance(value, NUMBERS[kind]) and not isinstance(value, bool)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(get_args(kind)[0], part) for part in value)
    # what has no class of its own to compare with, such as a Protocol with parameters, is taken as it is
    base = origin or kind
    return base in (Callable, Mapping) or not isinstance(base, type) or isinstance(value, base)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Settings):
        return value.record()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
