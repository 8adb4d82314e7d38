"""`assay lab build-authorship`: a data set of code that people wrote and that models rewrote."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli import MODEL, Force, grouped, output_folder
from assay.errors import DataError
from assay.models import ModelSettings

if TYPE_CHECKING:
    from assay_lab.rewrites import AssemblyRequest, CollectionRequest, RewritingRequest

PEOPLE = "Code of people"
REWRITINGS = "Rewritings"
_NAME = re.compile(r"[\w.-]+")
_TOKENS = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_UNLIKE_A_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """Choice of the code of people."""

    index: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Index whose documents are read too.", rich_help_panel=PEOPLE)
    ] = None
    before: Annotated[
        str,
        typer.Option(
            metavar="DATE",
            help="Read repositories as they were before this day. No generator may have written the code by then.",
            rich_help_panel=PEOPLE,
        ),
    ] = "2020-01-01"
    after: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only files that did not exist before this day.", rich_help_panel=PEOPLE),
    ] = None
    released: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Day on which archives and folders were published.", rich_help_panel=PEOPLE),
    ] = None
    unit: Annotated[Literal["file", "function"], typer.Option(help="What one text is.", rich_help_panel=PEOPLE)] = (
        "file"
    )
    language: Annotated[
        list[str] | None,
        typer.Option(help="Only this language; repeat the option for several.", rich_help_panel=PEOPLE),
    ] = None
    tokens: Annotated[str, typer.Option(metavar="FEWEST-MOST", help="Tokens of a text.", rich_help_panel=PEOPLE)] = (
        "50-950"
    )
    allow_licence: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-licence",
            "--allow-license",
            metavar="LICENCE",
            help="Licence that is allowed; repeat the option. Default: MIT, Apache-*, BSD-*.",
            rich_help_panel=PEOPLE,
            show_default=False,
        ),
    ] = None
    per_language: Annotated[
        int | None, typer.Option(min=1, help="Most texts of a language, drawn at random.", rich_help_panel=PEOPLE)
    ] = None
    per_repository: Annotated[
        int | None, typer.Option(min=1, help="Most texts of a repository and language.", rich_help_panel=PEOPLE)
    ] = None

    def request(self, seed: int) -> "CollectionRequest":
        """Return the choice.

        Raises:
            DataError: a day, a language, a licence or a range cannot be read.
        """
        from assay.corpora import languages_named
        from assay.languages import languages_with
        from assay.licences import read_rules
        from assay.settings import day_named
        from assay.unseen import Period
        from assay_lab.rewrites import PERMISSIVE, CollectionRequest

        before, after = day_named(self.before, "before"), day_named(self.after, "after")
        if before is not None and after is not None and after >= before:
            raise DataError(f"after {after} and before {before}: no day is both")
        readable = languages_with("functions")
        languages = tuple(sorted(languages_named(tuple(self.language)))) if self.language else readable
        if unreadable := [language for language in languages if language not in readable]:
            raise DataError(f"language {unreadable[0]!r}: expected one of {', '.join(readable)}")
        return CollectionRequest(
            period=Period(after, before),
            released=day_named(self.released, "released"),
            unit=self.unit,
            languages=languages,
            tokens=token_range(self.tokens),
            licences=read_rules(allowed=self.allow_licence or PERMISSIVE),
            per_language=self.per_language,
            per_repository=self.per_repository,
            seed=seed,
        )


@dataclass(frozen=True, slots=True)
class RewritingOptions:
    """How generators reply, and what happens to their replies."""

    temperature: Annotated[
        float, typer.Option(min=0, max=10, help="Of every generator; 0 is greedy decoding.", rich_help_panel=REWRITINGS)
    ] = 1.0
    top_p: Annotated[
        float, typer.Option(min=0.01, max=1, help="Nucleus of every generator.", rich_help_panel=REWRITINGS)
    ] = 1.0
    regexes: Annotated[
        Literal["repaired", "paper"],
        typer.Option(
            help="Expressions of cleaning and anonymising; paper: as DECo prints them, which removes letters of code.",
            rich_help_panel=REWRITINGS,
        ),
    ] = "repaired"
    split: Annotated[
        Literal["repository", "source", "paper"],
        typer.Option(
            help="What the split 8:1:1 never cuts; source: a text with its rewritings; paper: nothing.",
            rich_help_panel=REWRITINGS,
        ),
    ] = "repository"
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.", rich_help_panel=REWRITINGS)] = 0

    def rewriting(self) -> "RewritingRequest":
        """Return how generators reply."""
        from assay_lab.rewrites import RewritingRequest

        return RewritingRequest(self.temperature, self.top_p, self.seed)

    def assembly(self) -> "AssemblyRequest":
        """Return what happens to the replies."""
        from assay_lab.rewrites import AssemblyRequest

        return AssemblyRequest(self.regexes, self.split, self.seed)


@grouped
def build_rewrites_command(
    corpora: Annotated[
        list[str] | None,
        typer.Argument(metavar="CORPUS…", help="Git repositories, archives and folders.", show_default=False),
    ] = None,
    *,
    generator: Annotated[
        list[str],
        typer.Option(
            metavar="[NAME=]MODEL",
            help="Model that follows instructions, such as openai-chat:MODEL@URL, and its label; repeat the option.",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ],
    out: Annotated[Path, output_folder("Folder of the data set.")],
    collection: CollectionOptions,
    rewriting: RewritingOptions,
    settings: ModelSettings,
    force: Force = False,
) -> None:
    """Collect code that people wrote, let models rewrite it, and clean, filter, anonymise and split the result.

    This is the pipeline of DECo. Every reply is kept in the folder as it arrives: the same command continues after an
    interruption, and one with a further --generator asks only that one. The manifest counts what every rule removed.

    **Example**: `assay lab build-authorship ~/src --generator gpt=openai-chat:gpt-4o@https://api.openai.com/v1 -o data`
    """
    from assay.cli import chosen_format, show
    from assay_lab.rewrites import RewritesRequest, build_rewrites

    if not corpora and collection.index is None:
        raise DataError("received neither a corpus nor --index, expected at least one of them")
    if not settings.cache:
        raise DataError("received cache=false, but replies are always kept in the folder; expected no such setting")
    form = chosen_format()
    built = build_rewrites(
        corpora or [],
        named_models(generator),
        out,
        index=collection.index,
        request=RewritesRequest(
            collection=collection.request(rewriting.seed),
            rewriting=rewriting.rewriting(),
            assembly=rewriting.assembly(),
            settings=settings,
        ),
        force=force,
    )
    show(built.describe(), form)


def named_models(texts: list[str]) -> dict[str, str]:
    """Return label → model from NAME=MODEL, or from the model alone.

    Raises:
        DataError: two models have the same name.
    """
    models: dict[str, str] = {}
    for text in texts:
        name, equals, model = text.partition("=")
        # an address may hold "=" itself, so only a plain word before it is a label
        if not (equals and model and _NAME.fullmatch(name)):
            name, model = _UNLIKE_A_NAME.sub("-", text).strip("-"), text
        if name in models:
            raise DataError(f"received two generators with the name {name!r}, expected NAME=MODEL with different names")
        models[name] = model
    return models


def token_range(text: str) -> tuple[int, int]:
    """Return fewest and most tokens.

    Raises:
        DataError: not of the form FEWEST-MOST.
    """
    match = _TOKENS.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise DataError(f"received --tokens {text!r}, expected FEWEST-MOST, as 50-950")
    return int(match[1]), int(match[2])
