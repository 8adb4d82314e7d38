"""Texts longer than the context: overlapping windows, each token scored exactly once (METHODS §0)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ModelError

if TYPE_CHECKING:  # it imports transformers
    from assay.models.loading import Checkpoint

DEFAULT_STRIDE = 512

CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length")
"""What families call the context length. A sliding window is no context: such models read further."""

NO_LIMIT = 10**9
"""A tokenizer's model_max_length above this means that it does not know."""


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


def context_length(checkpoint: "Checkpoint", max_length: int | None, *, default: int | None = None) -> int:
    """The longest sequence the model takes, or `max_length` where that is shorter.

    Args:
        checkpoint: a loaded model.
        max_length: of the user.
        default: the context where nothing says what it is; None for no such default.

    Raises:
        ModelError: `max_length` is not in [2, context], or it is None and nothing says what the context is.
    """
    config = checkpoint.model.config.get_text_config()
    for name in CONTEXT_NAMES:
        stated = getattr(config, name, None)
        if isinstance(stated, int) and stated > 0:
            return limited_context(checkpoint.name, stated, max_length)
    if checkpoint.tokenizer.model_max_length < NO_LIMIT:
        default = checkpoint.tokenizer.model_max_length
    return limited_context(checkpoint.name, default, max_length)


def limited_context(name: str, stated: int | None, max_length: int | None) -> int:
    """The context that a model states, None where it states none, or `max_length` where that is shorter.

    Raises:
        ModelError: see `context_length`.
    """
    context = stated if max_length is None else max_length
    if context is None:
        raise ModelError(f"{name}: the configuration states no context length: expected --model-option max-length=N")
    if max_length is not None and not 2 <= max_length <= (stated or max_length):  # noqa: PLR2004  one token to read, one to predict
        limit = f"2 to {stated}" if stated else "at least 2"
        raise ModelError(f"{name}: max_length {max_length}: expected {limit}")
    return context


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
