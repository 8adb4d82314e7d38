"""`assay lab find-repositories`: repositories of GitHub by language, licence, stars and day of creation."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import OUTPUT_NAMES, echo


def find_repositories_command(
    *,
    created: Annotated[str, typer.Option(metavar="DATE..DATE", help="First and last day of creation.")],
    out: Annotated[Path, typer.Option(*OUTPUT_NAMES, help="JSON lines: name, clone address, day, stars, licence.")],
    language: Annotated[str | None, typer.Option(help="As GitHub calls it; all languages without.")] = None,
    licence: Annotated[
        str | None,
        typer.Option("--licence", "--license", metavar="NAME", help="As GitHub abbreviates it, such as mit."),
    ] = None,
    stars: Annotated[int, typer.Option(min=0, help="Fewest stars.")] = 0,
    most: Annotated[int | None, typer.Option(min=1, help="Stop after so many repositories.")] = None,
) -> None:
    """List repositories of GitHub, for `assay lab build-authorship` and sets of new code; clone them with git.

    Replies are kept beside the list, so the same command goes on where it stopped. `$GITHUB_TOKEN` makes it faster.

    **Example**: `assay lab find-repositories --created 2019-01-01..2019-12-31 --licence mit -o mit.jsonl`
    """
    import json
    from itertools import islice

    from assay.errors import DataError
    from assay.files import write_text
    from assay.settings import day_named
    from assay_lab.rewrites.searching import RepositoryQuery, from_github, kept_replies, repositories_created

    first, dots, last = created.partition("..")
    if not dots:
        raise DataError(f"received --created {created}, expected two days, as 2019-01-01..2019-12-31")
    days = day_named(first, "created"), day_named(last, "created")
    if days[0] is None or days[1] is None:
        raise DataError(f"received --created {created}, expected two days, as 2019-01-01..2019-12-31")
    query = RepositoryQuery(first=days[0], last=days[1], language=language, licence=licence, stars=stars)
    replies = kept_replies(out.with_name(f"{out.name}-replies"), from_github)
    # the search is lazy: no page is fetched beyond the last repository
    created_then = repositories_created(query, replies, lambda line: echo(f"assay: note: {line}", err=True))
    repositories = list(islice(created_then, most))
    write_text(out, "".join(json.dumps(each) + "\n" for each in repositories))
    echo(f"{out}: {len(repositories)} repositories")
