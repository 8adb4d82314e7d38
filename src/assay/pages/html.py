"""One HTML file with everything in it: no network, no fonts, no scripts but its own."""

import base64
import hashlib
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay._version import __version__
from assay.errors import DataError
from assay.leakage import Audit
from assay.pages import figures
from assay.pages.blind import baseline_note, confounding_warning
from assay.pages.evaluation_file import EVALUATION, read_evaluation
from assay.pages.facts import facts
from assay.pages.headlines import headline
from assay.pages.methods import evaluation_notes, method_notes
from assay.pages.payload import RUN_LENGTH, STEPS, payload, script_safe
from assay.pages.result_tables import tables
from assay.pages.run_folder import read_run
from assay.pages.testbed_tables import live_tables
from assay.pages.wording import percent
from assay.testbed import Evaluation

LARGEST_PAGE = 6_000_000
"""Bytes of a page, as long as the sample table alone needs no more."""

REST = 400_000
"""Bytes set aside for words, tables, style, script and the few figures that every page has."""

PLOT_FROM, PLOT_TO = 0.3, 1.0
"""AUROC at the two ends of the interval plot in the score table."""


LIVE = "live"
"""Folder, within that of a demonstration, of the experiment that was made on the spot."""


def render_report(audit: Audit, manifest: Mapping[str, object], live: Evaluation | None = None) -> str:
    """The report as one self-contained HTML page; `live` is the experiment of a demonstration."""
    script = asset("report.js")
    histograms = figures.histograms(audit)
    notes = method_notes(audit)
    drawn = sum(len(one.svg) for one in histograms.values())
    data = payload(audit, budget=LARGEST_PAGE - drawn - REST)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            audit=audit,
            version=__version__,
            warning=confounding_warning(audit),
            baseline_note=baseline_note(audit),
            headline=headline(audit),
            facts=facts(audit),
            tables=tables(audit),
            live=live_tables(live) if live else (),
            roc=figures.roc(audit),
            dose=figures.dose_response(audit),
            p_values=figures.p_values(audit),
            histograms=histograms,
            methods=notes,
            evaluation=evaluation_notes(audit),
            titles={note.score: note.title for note in notes},
            anchors={note.score: f"method-{i}" for i, note in enumerate(notes, 1)},
            command=command_line(manifest),
            manifest={key: told(value) for key, value in manifest.items() if key != "command" and value != {}},
            labels=sorted({s.label for s in audit.samples if s.label is not None}),
            heat_maps=len(data["tokens"]),
            calibrated=data["p_values"] is not None,
            steps=[percent(step) for step in STEPS],
            run_length=RUN_LENGTH,
            style=Markup(asset("report.css")),  # noqa: S704  our own file
            script=Markup(script),  # noqa: S704  our own file
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=Markup(script_safe(data)),  # noqa: S704  script_safe leaves no markup
            place=_place,
        )
    )


def write_report(folder: str | Path) -> Path:
    """Draw `report.html` from a run folder, into that folder.

    Raises:
        DataError: the run folder cannot be read, or the page cannot be written.
    """
    audit, manifest = read_run(folder)
    place = Path(folder) / LIVE
    live = read_evaluation(place) if (place / EVALUATION).exists() else None
    path = Path(folder) / "report.html"
    try:
        path.write_text(render_report(audit, manifest, live), "utf-8")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def command_line(manifest: Mapping[str, object]) -> str:
    """The command that made the run, as one line; empty where the manifest has none."""
    command = manifest.get("command", "")
    return shlex.join(str(part) for part in command) if isinstance(command, list | tuple) else str(command)


def told(value: object) -> str:
    """A manifest entry as text: `torch 2.5, numpy 2.1`; `target: name builtin:small, digest 9b1f`."""
    if isinstance(value, Mapping):
        nested = any(isinstance(part, Mapping) for part in value.values())
        parts = [f"{key}{': ' if nested else ' '}{told(part)}" for key, part in value.items()]
        return ("; " if nested else ", ").join(parts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(told, value)) or "none"
    if value is None:
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _place(value: float) -> float:
    """Where an AUROC stands in the interval plot, in per cent of its width."""
    return 100 * (min(max(value, PLOT_FROM), PLOT_TO) - PLOT_FROM) / (PLOT_TO - PLOT_FROM)


@cache
def environment() -> Environment:
    """Where the pages' templates are, every value escaped."""
    found = Environment(
        loader=PackageLoader("assay.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["drawing"] = lambda figure: Markup(figure.svg)  # noqa: S704  drawn by us, its words escaped
    return found


@cache
def asset(name: str) -> str:
    """A file beside the templates."""
    return (resources.files("assay.pages") / "templates" / name).read_text("utf-8")
