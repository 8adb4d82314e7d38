"""`assay lab builtin build-control-corpus`: the texts of `builtin:control`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import OUTPUT, OUTPUT_NAMES
from assay.errors import DataError
from assay_lab.builtin.command_options import CORPUS

CORPUS_FOLDER = "corpus"


def build_control_corpus_command(
    *,
    out: Annotated[
        Path,
        typer.Option(
            *OUTPUT_NAMES, metavar="DIR", help="Folder of the run; the corpus goes to corpus/.", rich_help_panel=OUTPUT
        ),
    ],
    downloads: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the downloaded packages.", rich_help_panel=CORPUS)
    ],
    benchmark: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=PATH",
            help="A benchmark that training texts must not overlap with; once for each benchmark.",
            rich_help_panel=CORPUS,
        ),
    ],
    package_cap: Annotated[
        int, typer.Option(min=1, help="Most characters from one package.", rich_help_panel=CORPUS)
    ] = 2_500_000,
    language_cap: Annotated[
        int, typer.Option(min=1, help="Most characters of one language.", rich_help_panel=CORPUS)
    ] = 12_000_000,
    packages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="List of packages (TOML); the list of this project by default.", rich_help_panel=CORPUS
        ),
    ] = None,
) -> None:
    """Download the packages and build the corpus.

    The clients pip, npm and apt-get download the packages. apt-get needs a source of source packages (`deb-src`).
    """
    from assay.ground_truth import read_manifest
    from assay_lab.builtin.control_corpus import PACKAGES, ControlRecipe, read_packages
    from assay_lab.builtin.control_prepared import prepare_control_corpus
    from assay_lab.builtin.prepared import MANIFEST

    recipe = ControlRecipe(package_cap=package_cap, language_cap=language_cap)
    prepare_control_corpus(
        out / CORPUS_FOLDER,
        recipe,
        read_packages(packages or PACKAGES),
        downloads=downloads,
        benchmarks=_named_paths(benchmark),
    )
    manifest = read_manifest(out / CORPUS_FOLDER / MANIFEST)
    characters: dict[str, int] = {}
    for entry in manifest.entries:
        characters[entry.language] = characters.get(entry.language, 0) + entry.characters
    for language, size in sorted(characters.items()):
        typer.echo(f"{language}: {size / 1e6:.1f} million characters")


def _named_paths(options: Sequence[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not equals or not path or name in paths:
            raise DataError(f"--benchmark {option}: expected NAME=PATH, each name once")
        paths[name] = Path(path)
    return paths
