"""The declaration of an experiment: each module declares its own in a tuple `EXPERIMENTS`."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.experiments.bench import Bench
from assay.experiments.finding import Finding


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of a paper, or one of this project.

    Attributes:
        paper: package of `assay.experiments` that it belongs to; "assay" for our own.
        name: within its paper, as "table-1".
        run: makes it; the first line of its docstring is the summary.
        makes_texts: True if it makes its own texts, and data only take their place. In a run of the whole paper the
            data are those of the other experiments, so it gets none.
    """

    paper: str
    name: str
    run: Callable[[Bench], Finding]
    makes_texts: bool = False

    @property
    def full_name(self) -> str:
        """The name that a user types: "srdetection/table-1"."""
        return f"{self.paper}/{self.name}"

    @property
    def summary(self) -> str:
        """One line."""
        return (self.run.__doc__ or "").partition("\n")[0]
