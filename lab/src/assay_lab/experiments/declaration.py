"""The idiom of everything that measures: an experiment is one file with a function `run(scale, seed, data) -> Result`.

The file declares it with `Experiment` in a tuple `EXPERIMENTS`. The driver (`driving.py`) checks the settings, looks
for the data, runs it, writes its JSON to `lab/results` and renders the table from the JSON. Without the data it renders
the JSON that is committed and says what is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay_lab.mappings import mapped

SMOKE, FULL = "smoke", "full"
WORK = "work"
"""Name of the folder among the data that an experiment may fill and continue from; the driver always gives one."""
SHARED_DATA = {
    "humaneval": "HumanEval.jsonl.gz of github.com/openai/human-eval, in a folder",
    "humaneval-x": "the folder of github.com/THUDM/CodeGeeX with a folder for each language",
    "mbpp": "mbpp.jsonl of github.com/google-research/google-research, in a folder",
    "bigcodebench": "BigCodeBench.jsonl.gz of github.com/bigcode-project/bigcodebench, in a folder",
}
"""Benchmarks that several experiments need → how to get each."""


def benchmark_data(*names: str) -> dict[str, str]:
    """Return name → how to get it, for benchmarks that several experiments need."""
    return mapped(SHARED_DATA.__getitem__, names)


Data = Mapping[str, Path]
"""Name → place: what the experiment needs, what else the user gave, and the folder `work`."""
Column = str | tuple[str, ...]
"""Key of a value in a row of the result, or the keys on the way to it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What an experiment found.

    Attributes:
        rows: values that JSON can hold; a row is one line of the table.
        notes: sentences on what was measured on what.
    """

    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment.

    Attributes:
        name: family and subject, as "performance/ngram".
        run: measures with the settings of a scale, a seed and the data; the first line of its docstring is the title.
        scales: "smoke" (seconds), "full", or others → settings, in a form that `run` knows.
        columns: of its table; none: every number and text of a row.
        needs: data without which it cannot run → a sentence how to get them.
        takes: data that it can do without → what they change.
        smoke_does_without: True if the scale "smoke" makes its own small data.
        stored: place of its JSON below `lab/results`, without the ending; empty: the last part of its name.
    """

    name: str
    run: Callable[[Any, int, Data], Result]
    scales: Mapping[str, Any]
    columns: tuple[Column, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)
    smoke_does_without: bool = False
    stored: str = ""

    @property
    def result_path(self) -> str:
        """Place of its JSON below `lab/results`."""
        return f"{self.stored or self.name.rpartition('/')[2]}.json"

    @property
    def title(self) -> str:
        """One line."""
        # a partial has the docstring of its own class, not that of its function
        return (getattr(self.run, "func", self.run).__doc__ or "").partition("\n")[0]

    def missing(self, scale: str, places: Data) -> dict[str, str]:
        """Return the data that are needed at a scale and are not there, with how to get them."""
        if scale == SMOKE and self.smoke_does_without:
            return {}
        return {name: how for name, how in self.needs.items() if name not in places}
