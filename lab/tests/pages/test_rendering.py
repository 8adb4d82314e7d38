"""The pages of results say what the committed files say."""

import pytest
import typer

from assay_lab.cli.render import render_command
from assay_lab.pages import rendering, tables


def test_the_pages_of_results_are_what_the_committed_files_say():
    assert not [path.name for path in rendering.outdated_pages()]


@pytest.mark.slow
def test_a_page_with_another_number_is_outdated(monkeypatch, tmp_path, capsys):
    for name, number in (("verdicts.md", "95 %"), ("index.md", "85 %")):
        text = (rendering.FOLDER / name).read_text("utf-8")
        (tmp_path / name).write_text(text.replace("85\u00a0%", number), "utf-8")
    monkeypatch.setattr(rendering, "FOLDER", tmp_path)
    assert [path.name for path in rendering.outdated_pages()] == ["verdicts.md"]
    with pytest.raises(typer.Exit):
        render_command(check=True)
    assert "verdicts.md" in capsys.readouterr().err
    render_command(check=False)
    assert not rendering.outdated_pages()


def test_every_table_stands_in_one_page_once():
    pages = sorted(rendering.FOLDER.glob("*.md"))
    marked = [found[2] for page in pages for found in tables.MARKED.finditer(page.read_text("utf-8"))]
    assert sorted(marked) == sorted([*tables.TABLES, "machine"])
