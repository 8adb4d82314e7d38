"""The page of the papers: every table and figure, the one command that runs it as published, and what ran here.

Commands are made from what each experiment declares, so a new experiment is on the page by itself. What ran on real
weights is what lies in `lab/results`; what no command reproduces stands in the `paper.toml` of each paper.
"""

import fnmatch
from collections.abc import Iterator
from functools import partial
from itertools import chain

from assay.datasets import benchmark, is_benchmark
from assay_lab.columns import having
from assay_lab.experiments import Reproduction, all_experiments
from assay_lab.experiments.bench import PAPER_SCALE
from assay_lab.experiments.papers import PAPERS, paper
from assay_lab.measuring import DOCS
from assay_lab.pages.testbed_results import RESULTS, anchor

PAGE = DOCS / "results" / "papers.md"
REAL = "smollm2"
"""Ending of the names of results on real small weights."""
HEAD = """# The papers, table by table

Made by `assay lab render` from the registry of experiments.
Each command runs one table or figure at the sizes and with the models of its paper.
`--plan` says what it needs, and `--model` names other models ([how](../testbed.md#experiments)).
Data that a row does not name are fetched from the hub; `PATH` is a file or folder of yours, or `hf:OWNER/NAME`.

- rehearsed: [`assay lab rehearse`](../testbed.md#rehearsals) runs the command from its first to its last line on tiny
  random models of the same architectures.
- SmolLM2: run on real weights of 135 million parameters with the sizes of `lab/lists/smollm2`, of SrDetection on every
  fourteenth task of HumanEval. It shows that the command runs, and nothing about the paper.

The published weights could not be fetched where this page was made: no row was run on them.
"""
COLUMNS = "| | what it shows | command | ran here |\n|---|---|---|---|"


def page() -> str:
    """Return the page: a section for each paper."""
    return "\n".join([HEAD, *map(section, PAPERS)])


def section(name: str) -> str:
    """Return the table of a paper, and what no command of it reproduces."""
    rows = map(row, having(all_experiments().values(), paper=name))
    lines = [f"## {paper(name).title}", "", COLUMNS, *rows, ""]
    if absent := paper(name).absent:
        lines += ["Not reachable here:", "", *map("- {}".format, absent), ""]
    return "\n".join(lines)


def row(experiment: Reproduction) -> str:
    """Return the line of one table or figure."""
    return f"| {experiment.name} | {experiment.summary} | `{command(experiment)}` | {', '.join(ran(experiment))} |"


def command(experiment: Reproduction) -> str:
    """Return the command that runs an experiment as its paper has it."""
    words = ["assay lab run", experiment.full_name, "--scale", PAPER_SCALE]
    for name in data_of_paper(experiment):
        on_hub = is_benchmark(name) and bool(benchmark(name).hub_id)
        # the scale of the paper reads these without being asked, see `Reproduction.data_of`
        if not (on_hub and name in experiment.paper_data):
            words.append(f"--data {name}" if on_hub else f"--data {name}=PATH")
    return " ".join(words)


def data_of_paper(experiment: Reproduction) -> tuple[str, ...]:
    """Return the names of the data that a paper has in a table or figure; none where it makes its own texts."""
    if experiment.makes_texts:
        return ()
    named = paper(experiment.paper).data
    fitting = filter(
        set(chain.from_iterable(map(partial(fnmatch.filter, named), experiment.takes))).__contains__, named
    )
    return experiment.paper_data or tuple(fitting) or experiment.needs


def ran(experiment: Reproduction) -> Iterator[str]:
    """Yield how an experiment was run here; real weights with the place of their figures."""
    yield "rehearsed"
    if (RESULTS / f"{experiment.full_name}-{REAL}.json").exists():
        yield f"[SmolLM2](testbed.md#{anchor(f'{experiment.full_name}, {REAL}')})"
