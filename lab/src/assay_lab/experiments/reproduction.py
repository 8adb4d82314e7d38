"""A table or figure of a paper, run on a bench; each module of a paper declares its own in a tuple `EXPERIMENTS`."""

from collections.abc import Callable
from dataclasses import dataclass

from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One table or figure of a paper, or one of this project.

    Attributes:
        paper: package of `assay_lab.experiments` that it belongs to; "assay" for our own.
        name: within its paper, as "table-1".
        run: makes it; the first line of its docstring is the summary.
        needs: names of data of which it needs one at least; none: it makes its own.
        makes_texts: True if it makes its own texts, and data only take their place. In a run of the whole paper the
            data are those of the other experiments, so it gets none.
    """

    paper: str
    name: str
    run: Callable[[Bench], Finding]
    makes_texts: bool = False
    needs: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name that a user types: "srdetection/table-1"."""
        return f"{self.paper}/{self.name}"

    @property
    def summary(self) -> str:
        """One line."""
        return (self.run.__doc__ or "").partition("\n")[0]
