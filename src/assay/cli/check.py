"""`assay check`: may this change be merged?"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.api.check_settings import CheckSettings
from assay.cli.configuration import table_of
from assay.cli.groups import grouped
from assay.cli.options import STANDARD_OUTPUT, further_file
from assay.cli.unused import options_of_command_line, refuse_unused
from assay.errors import DataError, did_you_mean
from assay.files import write_json
from assay.guard import LARGEST_METADATA
from assay.settings import declared

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import SourceChange

CONFIGURATION = Path("assay.toml")


@grouped
def check_command(
    context: typer.Context,
    *,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT", help="Commit or branch to merge into; else the default branch.", show_default=False
        ),
    ] = None,
    head: Annotated[str, typer.Option(metavar="COMMIT", help="Last commit of the change.")] = "HEAD",
    staged: Annotated[bool, typer.Option("--staged", help="Judge what is staged, against HEAD.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of the rules in the base commit; else assay.toml.", show_default=False),
    ] = None,
    rules: CheckSettings,
    pull_request: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Event of GitHub, whose description and branch are read.", show_default=False
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        further_file(
            "Add all copies and licences found to this file, which accepts them once the base commit has it.",
            hidden=True,
            added=True,
        ),
    ] = None,
    sarif: Annotated[
        Path | None, further_file("Write SARIF 2.1.0 to this file; - is standard output.", printable=True)
    ] = None,
) -> None:
    """Judge the lines that a change adds: copies, licences, and who is declared to have written them.

    The rules are those of the table [check] in the base commit: a change cannot weaken its own gate. Exit code: 0
    clean, 1 findings, 2 bad input, 3 undecided.

    **Example**: `assay check --base origin/main`
    """
    from assay.api import check, check_sarif, in_event
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import OUTPUT_SETTINGS, echo, echo_json
    from assay.corpora import SourceChange, enclosing_repository
    from assay.provenance import findings
    from assay.reports import TEXT_WIDTH, describe

    if staged:
        refuse_unused(
            context, dict.fromkeys(("base", "head", "pull_request"), "--staged judges the index against HEAD")
        )
    repository = enclosing_repository(Path.cwd())
    if repository is None:
        raise DataError("received a folder outside of a git repository, expected to run inside of one")
    change = SourceChange.staged(repository) if staged else SourceChange.between(repository, base, head)
    chosen = _chosen(context, rules, change, config)
    baseline, accepted = frozenset[str](), chosen.baseline and Path(chosen.baseline)
    # the first baseline is written by rules that name it already
    if accepted and not (write_baseline is not None and _content(change, accepted)[0] is None):
        baseline = findings.baseline_of(*_required(change, accepted))
    event = in_event(_read(pull_request), str(pull_request), change.head) if pull_request is not None else ()
    place = change.within(config or repository / CONFIGURATION)
    result = check(change, chosen, config=place, baseline=baseline, event=event)
    if write_baseline is not None:
        named = [
            {"key": fact.key, "path": fact.path, "licence": fact.licence} for fact in result.statements if fact.key
        ]
        copies = (*result.judgement.denials, *result.judgement.undecided)
        force = OUTPUT_SETTINGS.get().force
        written = findings.write_baseline(write_baseline, copies, result.texts, named, replace_it=force)
        echo(f"assay: note: {written}, once the base commit has it; findings on writers cannot be accepted", err=True)
    if sarif == STANDARD_OUTPUT:
        echo_json(check_sarif(result))
    else:
        if sarif is not None:
            write_json(sarif, check_sarif(result))
        show(describe(result), chosen_format(), width=TEXT_WIDTH)
    raise typer.Exit(result.exit_code)


def _chosen(context: typer.Context, rules: CheckSettings, change: "SourceChange", config: Path | None) -> CheckSettings:
    """Return the rules of the file in the base commit, overridden by those of the command line.

    Paths in the file are relative to the root of the repository.

    Raises:
        DataError: the file that was named is absent, or one has something else in it.
    """
    path = config or change.repository / CONFIGURATION
    if config is None and _content(change, path)[0] is None:
        return rules
    content, place = _required(change, path)
    table = table_of(path, content)
    rows = None if table is None else table.get("check", {})
    if not isinstance(rows, dict):
        raise DataError(f"{place}: received no table for assay, expected [check] or [tool.assay.check]")
    if "check" not in (table or {}) and (near := did_you_mean("check", tuple(table or ()))):
        raise DataError(f"{place}: received no table check{near}; a table of another name holds no rule")
    settings = {
        name.removeprefix("--"): entry
        for entry in declared(CheckSettings)
        for name in (entry.setting.options or (entry.key,))
    }
    overriding = options_of_command_line(context)
    values: dict[str, Any] = {}
    for key, value in rows.items():
        if key not in settings:
            near = did_you_mean(key, settings) or f"; expected {', '.join(settings)}"
            raise DataError(f"{place}: no setting check.{key}{near}")
        entry = settings[key]
        if isinstance(value, list) != isinstance(entry.default, tuple):
            expected = f'a list: ["{value}"]' if isinstance(entry.default, tuple) else entry.expected()
            raise DataError(f"{place}: check.{key}: received {value!r}, expected {expected}")
        values[entry.name] = tuple(value) if isinstance(value, list) else value
        entry.check(values[entry.name], f"{place}: check.{key}")
        if entry.name in {"index", "baseline"} and "://" not in value:
            values[entry.name] = os.path.normpath(change.repository / value)
    return replace(rules, **{name: value for name, value in values.items() if name not in overriding})


def _required(change: "SourceChange", path: Path) -> tuple[bytes, str]:
    content, place = _content(change, path)
    if content is None:
        raise DataError(f"{place}: no such file, expected it in the base commit: merge it first, or leave its line out")
    return content, place


def _content(change: "SourceChange", path: Path) -> tuple[bytes | None, str]:
    """Return a file of the base commit, or one outside of the repository, and its place; None where there is none."""
    within = change.within(path)
    if Path(within).is_absolute():
        return _read(path), str(path)
    place = f"{within} of {change.base[:12]}"
    content = change.at_base(within)
    if content is not None and len(content) > LARGEST_METADATA:
        raise DataError(f"{place}: more than {LARGEST_METADATA:,} bytes, expected fewer")
    return content, place


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_METADATA)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}, expected a file that can be read") from error
