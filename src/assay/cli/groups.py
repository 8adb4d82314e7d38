"""From settings to options: a command takes one class of settings where the terminal shows an option for each of them.

Typer reads a flat signature. `grouped` spells the settings of a command's parameters out into that. A setting that
stands inside a bundle gets no option: it is a KEY=VALUE of the option of the bundle (`--model-option stride=256`).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import starmap
from keyword import iskeyword
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from assay.cli import completing
from assay.settings import Bundle, Declared, declared, from_pairs

COMPLETIONS: Mapping[str, Callable[..., Any]] = {
    "models": completing.complete_models,
    "scores": completing.complete_scores,
    "score": completing.complete_score,
    "methods": completing.complete_methods,
    "benchmarks": completing.complete_benchmarks,
    "languages": completing.complete_languages,
}
"""Kind of value of a setting → what completes it in a shell."""

Bundles = Mapping[str, tuple[Declared, ...]]
"""Parameter of an option that takes KEY=VALUE → the settings that it takes."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Names of the settings, and options of bundles, that `--help` of one command shows, in place of the common ones.

    A command takes `Annotated[DataSelection, Shown("language")]` where its user seldom needs the others.
    """

    names: frozenset[str]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", frozenset(names))


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the same command with every parameter of settings replaced by keyword parameters, one for each option."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    bundles: dict[str, tuple[Declared, ...]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind, shown = _shown_of(hints[parameter.name])
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[parameter.name] = kind
        parameters += starmap(_keyword, _options_of(kind, bundles, shown))

    def flat(**values: Any) -> None:  # noqa: ANN401  typer's values, of the types that the options declare
        for name, entries in bundles.items():
            values |= _parsed(entries, values.pop(name) or (), f"--{name.replace('_', '-')}")
        collected = {name: _value_of(kind, values) for name, kind in groups.items()}
        command(**values, **collected)

    # typer looks at nothing but the signature and the annotations of a function, so a function with any signature can
    # be made: the options of the settings stand in it as if somebody had written them out
    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect.signature reads
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    flat.bundles = bundles  # type: ignore[attr-defined]  # what the long help and the configuration file read
    return flat


def _shown_of(hint: Any) -> tuple[Any, Shown | None]:  # noqa: ANN401  a type
    """Return the type of a parameter, and which of its options the help shows; None for the common ones."""
    if get_origin(hint) is Annotated:
        kind, shown, *_ = get_args(hint)
        if isinstance(shown, Shown):
            return kind, shown
    return hint, None


def _keyword(name: str, default: Any, hint: Any) -> inspect.Parameter:  # noqa: ANN401
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _or_required(default: Any) -> Any:  # noqa: ANN401
    """Return the default of a field as that of a parameter."""
    if default is MISSING:
        return inspect.Parameter.empty
    return default


def bundles_of(command: Any) -> Bundles:  # noqa: ANN401  typer publishes no type of a command
    """Return the options of a command that take KEY=VALUE."""
    return getattr(command.callback, "bundles", {})


def _options_of(
    kind: type, bundles: dict[str, tuple[Declared, ...]], shown: Shown | None
) -> list[tuple[str, Any, Any]]:
    """Return (parameter, default, annotation) of each option of a class; what stands in a bundle is added to it."""
    settings = {entry.name: entry for entry in declared(kind)}
    hints = get_type_hints(kind, include_extras=True)
    options: list[tuple[str, Any, Any]] = []
    last: list[tuple[str, Any, Any]] = []
    for field in fields(kind):
        entry = settings.get(field.name)
        if entry is None:
            # an option that is no setting, such as a file to write
            if get_origin(hints[field.name]) is Annotated:
                options.append((field.name, _or_required(field.default), hints[field.name]))
            continue
        bundle = entry.setting.inside
        if bundle is None:
            is_shown = entry.setting.common
            if shown:
                is_shown = field.name in shown.names
            options.append((_place(entry), *_option(entry, hidden=not is_shown)))
            continue
        name = bundle.option.replace("-", "_")
        if name not in bundles:
            hidden = shown is not None and name not in shown.names
            option = _bundle_option(bundle, entry.panel, bundles, hidden=hidden)
            last.append((name, None, Annotated[list[str] | None, option]))
        bundles[name] = (*bundles.get(name, ()), entry)
    return [*options, *last]


def _option(entry: Declared, *, hidden: bool) -> tuple[Any, Any]:
    """Return default and annotation of the option of one setting."""
    setting, (kind, default) = entry.setting, _kind_of_option(entry)
    names = setting.options
    least = most = None
    if kind is bool and default is False and not names:
        # without the second name that says no
        names = (f"--{entry.key}",)
    if kind in {int, float}:
        least, most = setting.least, setting.most
    option = typer.Option(
        *names,
        help=setting.help,
        metavar=setting.metavar,
        min=least,
        max=most,
        hidden=hidden,
        rich_help_panel=entry.panel or None,
        autocompletion=COMPLETIONS.get(setting.completes or ""),
    )
    if NoneType in entry.types or default is None:
        kind = kind | None
    return default, Annotated[kind, option]


def _kind_of_option(entry: Declared) -> tuple[Any, Any]:
    """Return type and default of the option of one setting, as typer takes them."""
    kind: Any = next(each for each in entry.types if each is not NoneType)
    # typer takes one type: a path may stand for a text, not the other way round
    if Path in entry.types:
        kind = Path
    default = _or_required(entry.default)
    if get_origin(kind) is not tuple:
        return kind, default
    item = get_args(kind)[0]
    # several texts repeat the option; numbers, and texts that are joined, stand in it with commas between
    if item in {str, Path} and not entry.setting.joined:
        return {str: list[str], Path: list[Path]}[item], list(default or ()) or None
    return str, ",".join(map(str, default or ())) or None


def _bundle_option(bundle: Bundle, panel: str, bundles: Bundles, *, hidden: bool) -> Any:  # noqa: ANN401  of typer
    name = bundle.option.replace("-", "_")

    def complete(incomplete: str) -> list[str]:
        """Return the keys, and after `KEY=` the values of a closed choice, that continue a text."""
        earlier, comma, last = incomplete.rpartition(",")
        begin, (key, equals, _) = f"{earlier}{comma}", last.partition("=")
        # looked up when a shell asks, because further classes of the command may add keys until then
        by_key = {entry.key: entry for entry in bundles[name]}
        if not equals:
            return [f"{begin}{name}=" for name in by_key]
        if key not in by_key:
            return []
        return [f"{begin}{key}={choice}" for choice in by_key[key].choices]

    def with_file(context: typer.Context, texts: list[str] | None) -> list[str] | None:
        """Put the pairs of the configuration file before those of the command line, which override them."""
        in_file = (context.default_map or {}).get(name) or []
        # typer lets a default give way to the command line as a whole; pairs are to be merged one by one
        source = context.get_parameter_source(name)
        if in_file and source is not None and source.name == "COMMANDLINE":
            return [*in_file, *(texts or [])]
        return texts

    return typer.Option(
        f"--{bundle.option}",
        metavar="KEY=VALUE",
        help=bundle.help,
        hidden=hidden,
        rich_help_panel=panel or None,
        autocompletion=complete,
        callback=with_file,
    )


def _parsed(entries: tuple[Declared, ...], texts: Any, place: str) -> dict[str, Any]:  # noqa: ANN401
    """Return parameter → value of each setting of a bundle."""
    values = from_pairs(entries, texts, place)
    return {_place(entry): values.get(entry.name, entry.default) for entry in entries}


def _place(entry: Declared) -> str:
    """Return the parameter of a setting: two classes of one command may both have a field `text` in a bundle."""
    if entry.setting.inside:
        return f"{entry.owner}.{entry.name}"
    option = next(iter(entry.setting.options), entry.name)
    named = option.strip("-").replace("-", "_")
    # `--for` would be the parameter `for`, which Python refuses
    if iskeyword(named):
        return entry.name
    return named


def _value_of(kind: type, values: dict[str, Any]) -> Any:  # noqa: ANN401  an object of that kind
    """Return an object of one class, and take its values out of those of the command."""
    settings = {entry.name: entry for entry in declared(kind)}
    chosen = {}
    for field in fields(kind):
        entry, place = settings.get(field.name), field.name
        if entry is not None:
            place = _place(entry)
        if place in values:
            value = values.pop(place)
            if entry is not None and any(get_origin(each) is tuple for each in entry.types):
                value = _as_tuple(entry, value)
            chosen[field.name] = value
    return kind(**chosen)


def _as_tuple(entry: Declared, value: Any) -> Any:  # noqa: ANN401
    if value is None:
        return entry.default
    if isinstance(value, list):
        return tuple(value)
    return entry.parse(value, f"--{entry.key}")
