"""p-values of draws that stop early, and p-values of several tests together."""

from collections.abc import Iterable, Sequence

ENOUGH = 10
"""Copies that beat the published one before a task's test stops."""
TIE = 1e-9
"""Values closer than this are ties: rounding must not decide."""


def sequential_p(published: float, others: Iterable[float], enough: int = ENOUGH) -> float:
    """Return the p-value of one task: copies are drawn until `enough` beat or tie the published one.

    Besag and Clifford 1991, "Sequential Monte Carlo p-values": h/l where the h-th came at draw l, else (g + 1)/(n + 1).
    """
    reached = drawn = 0
    for value in others:
        drawn += 1
        reached += value >= published - TIE
        if reached == enough:
            return reached / drawn
    return (reached + 1) / (drawn + 1)


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm 1979, in the same order: they hold for all of the tests together."""
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        # never below the one before it: an adjusted p-value cannot fall with rising p-values
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
