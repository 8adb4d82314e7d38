"""The first screen of a result: the answer, its reason, what was measured, what to do next.

    Contaminated
    The model knows tasks of the benchmark better than text that it cannot have seen.
    It has seen 41 % of the tasks (33 % to 50 %).
    next: assay report run/ lists the tasks

Every question gives its answer in this form, and every renderer shows it before anything else.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a question, one line each.

    Attributes:
        verdict: at most four words: "Contaminated", "Cannot tell yet".
        because: the reason, a sentence of at most twenty words without a number.
        measured: the main figure with its interval; at most three numbers.
        next_step: what would decide it, or what to do about it.
    """

    verdict: str
    because: str = ""
    measured: str = ""
    next_step: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that are not empty, the verdict first."""
        lines = [self.verdict, self.because, self.measured]
        if self.next_step:
            lines.append(f"next: {self.next_step}")
        return tuple(filter(None, lines))

    def __str__(self) -> str:
        """Return the verdict and its reason on one line."""
        return ". ".join(filter(None, (self.verdict, self.because)))
