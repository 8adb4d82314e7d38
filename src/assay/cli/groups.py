"""Options in groups: a command takes one dataclass where the terminal shows its fields as options.

Typer reads a flat signature. `grouped` spells a command's dataclass parameters out into that, so that options shared
by several commands are declared once and travel as one value.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the same command with every dataclass parameter replaced by keyword parameters, one per field."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[parameter.name] = kind
        shown = get_type_hints(kind, include_extras=True)
        parameters.extend(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=shown[field.name]
            )
            for field in fields(kind)
        )

    def flat(**values: Any) -> None:  # noqa: ANN401  typer's values, of the types that the fields declare
        collected = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**values, **collected)

    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect.signature reads
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat
