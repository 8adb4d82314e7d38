"""Make the page options.md of the manual from the command line itself, whenever the site is built.

python tools/option_reference.py      print the page

mkdocs calls `on_files` (see `hooks` in mkdocs.yml), so the page is in the site and never in the repository.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

from assay.cli.app import command_line
from assay.cli.groups import bundles_of

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGE = "options.md"
HEAD = """# All options

This page is made from the command line when the site is built; `assay COMMAND --help-all` prints the same.
[Command line](command-line.md) explains what all commands have in common.
"""


def leaves(group: TyperGroup, name: str) -> Iterator[tuple[str, TyperCommand]]:
    """Yield the commands below a group, by what a user types."""
    for word, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from leaves(command, f"{name} {word}")
        elif isinstance(command, TyperCommand):
            yield f"{name} {word}", command


def cell(text: str) -> str:
    """Return text for a cell of a table: one line, without marks of rich, columns kept apart."""
    plain = re.sub(r"\[/?(?:bold|dim|italic|green|red|cyan|yellow|link)[^\]]*\]", "", text)
    return " ".join(plain.split()).replace("|", "\\|").replace("<", "&lt;")


def section(name: str, command: TyperCommand, common: frozenset[str]) -> str:
    """Return the section of one command: arguments, options, keys of KEY=VALUE; not the options of all commands."""
    rows = []
    for parameter in command.params:
        spelling = ", ".join(parameter.opts if parameter.opts[0].startswith("-") else [str(parameter.name).upper()])
        if not common.intersection(parameter.opts):
            rows.append(f"| `{spelling}` | {cell(str(getattr(parameter, 'help', '') or ''))} |")
    for option, entries in bundles_of(command).items():
        spelling = f"--{option.replace('_', '-')}"
        for entry in entries:
            rows.append(f"| `{spelling} {entry.key}=…` | {cell(entry.setting.help)} |")
    first = (command.help or "").split("\n\n")[0]
    table = "\n| | |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""
    return f"## `{name}`\n\n{cell(first)}\n{table}"


def page() -> str:
    """Return the page: one section a command, in the order of `assay --help`."""
    commands = dict(leaves(command_line(), "assay"))
    spellings = []
    for command in commands.values():
        spellings.append(frozenset(chain.from_iterable(map(attrgetter("opts"), command.params))))
    # what every command has is said once, on the page of the command line
    everywhere = frozenset.intersection(*spellings) if spellings else frozenset[str]()
    return "\n".join([HEAD, *map(partial(section, common=everywhere), commands, commands.values())])


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the page to the files of the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, PAGE, content=page()))
    return files


if __name__ == "__main__":
    print(page())
