"""Texts longer than the context: overlapping windows, each token scored exactly once (METHODS §0)."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.errors import ModelError

DEFAULT_STRIDE = 512


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a sequence that one forward pass reads, and the part that it scores.

    Attributes:
        start: first token of the window, which gives left context only.
        first: first scored token; first > start.
        stop: end (exclusive) of the window and of its scored tokens.
    """

    start: int
    first: int
    stop: int

    @property
    def inputs(self) -> int:
        """Number of tokens the model has to read: the last scored token is predicted and not read."""
        return self.stop - 1 - self.start

    @property
    def scored(self) -> int:
        """Number of tokens scored here."""
        return self.stop - self.first


def resolve_stride(stride: int | None, context: int) -> int:
    """The stride in use: `stride`, or 512, or half the context if windows of 512 would not overlap.

    Raises:
        ModelError: an explicit stride that is not in [1, context), or a context of fewer than two tokens.
    """
    if context < 2:  # noqa: PLR2004  one token to read, one to predict
        raise ModelError(f"a context of {context} tokens predicts nothing: expected at least 2")
    if stride is None:
        return DEFAULT_STRIDE if context > DEFAULT_STRIDE else context // 2
    if not 1 <= stride < context:
        raise ModelError(
            f"stride {stride} with a context of {context}: expected 1 to {context - 1}, so windows overlap"
        )
    return stride


def windows(length: int, *, context: int, stride: int, first: int = 1) -> Iterator[Window]:
    """Windows over a sequence of `length` tokens, of which those from `first` on are scored.

    Windows start at 0, stride, 2·stride, …; each is the full context long (the last may be shorter) and
    scores what the one before it did not reach. So a token is scored once, with the longest left context its
    window gives: all of it in the first window, at least context - stride tokens after that.

    Args:
        length: tokens in the sequence, a beginning-of-sequence token included.
        context: longest sequence the model takes.
        stride: distance between the starts of two windows, in [1, context).
        first: the first token to score, at least 1: nothing predicts token 0.
    """
    # `done` is the first token that no window has scored; a window that reaches no further is left out
    start, done = 0, max(1, first)
    while done < length:
        stop = min(start + context, length)
        if stop > done:
            yield Window(start, done, stop)
            done = stop
        start += stride
