"""The page of the papers has the command of every table and figure, and each command is one that runs."""

import re
from pathlib import Path

import pytest

from assay_lab.cli.run import places_at
from assay_lab.experiments import Bench, all_experiments, check_used, experiments_named
from assay_lab.experiments.papers import PAPERS
from assay_lab.pages import paper_tables
from assay_lab.papers.planning import plan_report

EXPERIMENTS = [each for each in all_experiments().values() if each.paper in PAPERS]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.full_name)
def test_a_command_of_the_page_is_accepted_and_planned(experiment, tmp_path):
    """Nothing that it names is without use, and it names all that the experiment needs."""
    _, _, _, name, *options = paper_tables.command(experiment).split()
    assert options[:2] == ["--scale", "paper"]
    data = places_at([word for word in options[2:] if word != "--data"])
    assert not experiment.needs or data.keys() & set(experiment.needs)
    bench = Bench.of_scale("paper", tmp_path, (0,), data, paper=experiment.paper)
    check_used(name, experiments_named(name), bench)
    assert plan_report(name, experiments_named(name), bench).statement


def test_every_table_and_figure_of_a_paper_has_a_row():
    page = paper_tables.PAGE.read_text("utf-8")
    assert re.findall(r"`assay lab run (\S+)", page) == [
        each.full_name for name in PAPERS for each in EXPERIMENTS if each.paper == name
    ]


def test_a_result_on_real_weights_is_linked(monkeypatch, tmp_path):
    experiment = EXPERIMENTS[0]
    assert next(paper_tables.ran(experiment)) == "rehearsed"
    place = tmp_path / f"{experiment.full_name}-{paper_tables.REAL}.json"
    place.parent.mkdir()
    place.write_text("{}")
    monkeypatch.setattr(paper_tables, "RESULTS", Path(tmp_path))
    assert list(paper_tables.ran(experiment))[1].startswith("[SmolLM2](testbed.md#")
