"""What stands around the code says the same as the code: pages, changelog, citation, set-up files."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import assay
from assay import __version__
from assay.datasets import list_benchmarks
from assay.scores.detector import DatasetDetector
from assay.scores.registry import SCORES, detectors_of

ROOT = Path(__file__).resolve().parents[1]
METHOD_PAGES = ROOT / "docs" / "methods"
NOT_A_SCORE = {"index", "frequency-tables", "share"}
ARXIV = re.compile(r"arXiv:\d{4}\.\d{4,5}")
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:root|home/\w+|Users/\w+)/")


def page(name):
    return (METHOD_PAGES / f"{name}.md").read_text("utf-8")


def tracked_files():
    """Files that git knows; skips where this is no checkout (an unpacked source archive)."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout here")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_every_score_and_method_has_a_page_and_every_page_one_of_them():
    pages = {path.stem for path in METHOD_PAGES.glob("*.md")} - NOT_A_SCORE
    assert pages == {*SCORES, *detectors_of(DatasetDetector)}


@pytest.mark.parametrize("name", detectors_of(DatasetDetector))
def test_the_page_of_a_method_states_every_parameter_with_its_default(name):
    stated = set(re.findall(r"`(\w+ = [^`]+)`", page(name)))
    values = {True: "yes", False: "no"}
    defaults = detectors_of(DatasetDetector)[name].defaults
    assert {
        f"{key} = {values.get(value, value) if isinstance(value, bool) else value}" for key, value in defaults.items()
    } <= stated


@pytest.mark.parametrize("name", SCORES)
def test_the_page_states_the_formula_of_the_code(name):
    assert f"{name} = {SCORES[name].formula}\n" in page(name)


@pytest.mark.parametrize("name", SCORES)
def test_the_page_states_every_parameter_with_its_default(name):
    stated = set(re.findall(r"`(\w+ = [^`]+)`", page(name)))
    assert {f"{key} = {value}" for key, value in SCORES[name].defaults.items()} <= stated


@pytest.mark.parametrize("name", SCORES)
def test_the_page_cites_the_papers_that_the_code_cites(name):
    assert set(ARXIV.findall(SCORES[name].reference)) <= set(ARXIV.findall(page(name)))


def test_every_paper_of_a_score_stands_in_the_citation_file():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    cited = {number for found in SCORES.values() for number in ARXIV.findall(found.reference)}
    assert cited <= set(ARXIV.findall(citation))


def test_the_citation_file_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in citation


def test_the_changelog_has_an_entry_for_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## [{__version__}]" in changelog
    assert "\n## [Unreleased]" in changelog


def test_no_tracked_text_names_a_path_of_one_machine():
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" in data[:8192]:
            continue
        text = data.decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in MACHINE_PATH.finditer(text)]
    assert not found


def test_every_direct_dependency_is_pinned():
    """An unpinned one would make the set-up of next year another one than today's."""
    content = project()
    wanted = [
        *content["build-system"]["requires"],
        *content["project"]["dependencies"],
        *(name for extra in content["project"]["optional-dependencies"].values() for name in extra),
        *(entry for group in content["dependency-groups"].values() for entry in group),
    ]
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    pinned = {canonical(name) for name in re.findall(r"^([\w.-]+)==\S+$", pins, re.MULTILINE)}
    assert {
        canonical(re.match(r"[\w.-]+", entry)[0])
        for entry in wanted
        if not entry.startswith(content["project"]["name"])
    } <= pinned


def test_pins_carry_no_local_version():
    """torch==2.13.0 is met by a CPU build and by a CUDA build; torch==2.13.0+cpu is not on the package index."""
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    assert not [line for line in pins.splitlines() if "+" in line and not line.startswith("#")]


def test_every_benchmark_stands_in_the_table_of_the_docs():
    listed = set(re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / "data.md").read_text("utf-8"), re.MULTILINE))
    assert listed == {found.name for found in list_benchmarks()}


def test_every_environment_variable_stands_on_the_page_of_configuration():
    sources = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    read = {name for text in sources for name in re.findall(r"environ(?:\.\w+\(|\[)\"(\w+)\"", text)}
    read |= {
        name
        for text in sources
        for name in re.findall(r"^[A-Z_]+ = \"((?:ASSAY|HF|OPENAI)_[A-Z_]+)\"", text, re.MULTILINE)
    }
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert {"ASSAY_CACHE", "ASSAY_CONFIG", "ASSAY_TOKEN", "OPENAI_API_KEY"} <= read
    assert not [name for name in read if f"`{name}`" not in page]


def test_the_page_of_all_options_has_every_command_and_option():
    from assay.cli.app import command_line
    from option_reference import page as all_options

    reference = all_options()
    commands = dict(leaves(command_line(), "assay"))
    options = [
        {name for option in command.params for name in option.opts if name[:2] == "--"} for command in commands.values()
    ]
    particular = set.union(*options) - set.intersection(*options)
    assert not [name for name in commands if f"## `{name}`" not in reference]
    assert not [name for name in particular if not re.search(rf"{name}(?![\w-])", reference)]


@pytest.mark.parametrize("name", [name for name in assay.__all__ if name[0] != "_"])
def test_every_public_name_is_there_and_stands_on_the_page_of_the_api(name):
    assert getattr(assay, name) is not None
    assert f"\n::: assay.{name}\n" in (ROOT / "docs" / "python-api.md").read_text("utf-8")


def test_the_architecture_page_quotes_the_import_contract():
    layers = project()["tool"]["importlinter"]["contracts"][0]["layers"]
    quoted = "layers = [\n" + "".join(f'  "{layer}",\n' for layer in layers) + "]\n"
    assert quoted in (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_every_command_that_make_lists_is_a_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert {"install", "demo", "test", "check", "docs", "bench"} <= targets
    assert set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()) == targets


def test_the_readme_quotes_the_measured_figures():
    """Every figure in the README's table stands on the page of results that its row names."""
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*) \| \[[\w ]+\]\((docs/results/[\w-]+\.md)\) \|$", readme, re.MULTILINE)
    assert len(rows) == 4
    for text, page in rows:
        measured = (ROOT / page).read_text("utf-8").replace("\u00a0", " ")
        figures = re.findall(r"\d+ of \d+|\d+\.\d+|\.\d+|\d+ %", text)
        assert len(figures) >= 1
        missing = [figure for figure in figures if figure.removesuffix(" %") not in measured]
        assert not missing, page


def prose(markdown):
    """The running text of a page: without code blocks, tables, images, link targets and inline code."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return re.sub(r"`[^`]*`", "", re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text))


def test_the_readme_is_short():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.split()) <= 650
    assert len(re.findall(r"(?<![\w.])[\d.,]*\d", prose(readme))) <= 10
    assert len(re.findall(r"!\[", readme)) == 1


def test_the_manual_is_short():
    """Pages of results apart."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.parts]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 45_000


def test_the_changelog_has_at_most_ten_lines_for_a_release_and_area():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    areas = re.split(r"^##+ ", changelog, flags=re.MULTILINE)
    assert not [area.splitlines()[0] for area in areas if len(re.findall(r"^- ", area, re.MULTILINE)) > 10]


def leaves(command, name):
    """The commands below a click command, by what a user types."""
    for word, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, f"{name} {word}")
    if not hasattr(command, "commands"):
        yield name, command


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()
