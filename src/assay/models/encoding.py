"""Text → token ids as the model is meant to read them, and each token's place in the text (METHODS §0)."""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError, plain_reason
from assay.guard import child_value
from assay.models.settings import Bos

if TYPE_CHECKING:  # see forward.py
    from transformers import PreTrainedTokenizerBase

NO_OFFSET = -1
"""Both ends of a token's place in the text where the tokenizer (a slow one) does not know it."""

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_PROBE = "def f"
CHAT_REQUEST = "Write code."
"""Message of the user before a text that is scored as the assistant's reply."""
CHAT_SECONDS = 60.0
"""On the clock, for the process that writes a chat; it takes five on an idle machine."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text as a token sequence.

    Attributes:
        ids: int64 [length], prefix and text tokens.
        offsets: int32 [length, 2], each token's place in the text in characters; `NO_OFFSET` where unknown.
        first: the first scored token: the first of the text, or the second where nothing stands before it.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int32]
    first: int

    @property
    def scored(self) -> int:
        """Number of scored tokens, n."""
        return max(0, len(self.ids) - self.first)


class TextEncoder:
    """A tokenizer, and the special tokens that go before a text.

    What the tokenizer appends (an end-of-sequence or separator token) is left away: it is no part of the
    text, and whether the model expects the text to end there says nothing about the text.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        *,
        bos: Bos = "auto",
        chat: bool = False,
        rows: int | None = None,
        name: str = "model",
    ) -> None:
        """Find out what the tokenizer adds.

        Args:
            tokenizer: any tokenizer of transformers.
            chat: put the chat template up to the assistant's reply before a text; the request is `CHAT_REQUEST`.
            rows: token ids that the model has embeddings of; None where there is no model. Some tokenizers have a few
                more, which no ordinary text contains.
            name: the user's name for the model.
            bos: "auto" keeps what the tokenizer itself puts before a text; "always" puts BOS there (EOS where
                there is none) if the tokenizer puts nothing; "never" puts nothing there.

        Raises:
            ModelError: an unknown `bos`, a tokenizer without BOS and EOS where one is wanted, one that turns
                text into no tokens at all, one that inserts special tokens within the text, or one without the
                chat template that `chat` needs.
        """
        if bos not in get_args(Bos):
            raise ModelError(f"bos {bos!r}: expected one of {', '.join(get_args(Bos))}")
        self.tokenizer = tokenizer
        self.bos = bos
        self.rows = rows
        self.name = name
        if chat:
            self.prefix: tuple[int, ...] = _before_reply(tokenizer, bos)
            return
        # "auto" is what the tokenizer does by itself
        self.prefix = _specials_before(tokenizer)
        if bos == "always" and not self.prefix:
            self.prefix = (beginning(tokenizer),)
        if bos == "never":
            self.prefix = ()

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Token sequences of texts. Lone surrogates, which no tokenizer takes, count as U+FFFD.

        Raises:
            ModelError: a text contains a token that the model has no embedding of.
        """
        if not texts:
            return []
        fast = self.tokenizer.is_fast
        try:
            output = self.tokenizer(
                list(map(encodable, texts)),
                add_special_tokens=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                return_offsets_mapping=fast,
                verbose=False,
            )
        except BaseException as fault:
            if type(fault).__name__ != "PanicException":  # of Rust; it is no Exception, and has no name in Python
                raise
            raise ModelError(f"{self.name}: the tokenizer cannot read a text ({str(fault)[:200]})") from fault
        ids = output["input_ids"]
        offsets = output["offset_mapping"] if fast else [[(NO_OFFSET, NO_OFFSET)] * len(row) for row in ids]
        return [self._encoded(row, places) for row, places in zip(ids, offsets, strict=True)]

    def _encoded(self, ids: Sequence[int], offsets: Sequence[tuple[int, int]]) -> Encoded:
        if self.rows is not None and max(ids, default=0) >= self.rows:
            token = next(token for token in ids if token >= self.rows)
            raise ModelError(
                f"{self.name}: a text contains {self.tokenizer.convert_ids_to_tokens(token)!r}, token {token} of the "
                f"tokenizer, and the model has {self.rows} embeddings: expected the model's own tokenizer, or texts "
                "without that token"
            )
        before = len(self.prefix)
        places = np.full((before + len(ids), 2), NO_OFFSET, np.int32)
        places[before:] = np.array(offsets, np.int32).reshape(-1, 2)
        return Encoded(np.array([*self.prefix, *ids], np.int64), places, max(1, before))


def encodable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 and so no tokenizer can hold."""
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def beginning(tokenizer: "PreTrainedTokenizerBase") -> int:
    """The token a sequence begins with: BOS, or EOS where the tokenizer has no BOS.

    Raises:
        ModelError: it has neither.
    """
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise ModelError("the tokenizer has neither a BOS nor an EOS token: expected one to begin a text with")


def _before_reply(tokenizer: "PreTrainedTokenizerBase", bos: Bos) -> tuple[int, ...]:
    """Return the tokens of a chat up to the assistant's reply.

    Raises:
        ModelError: the tokenizer has no chat template, or `bos` asks for other tokens before a text.
    """
    if bos != "auto":
        raise ModelError(f"bos {bos!r} with a chat template, which has its own first tokens: expected one of the two")
    if tokenizer.chat_template is None:
        raise ModelError("the tokenizer has no chat template: expected an instruct model, or no chat-template=true")
    try:
        chat = {"chat_template": tokenizer.get_chat_template(), **tokenizer.special_tokens_map}
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            file = Path(folder, "chat.json")
            file.write_text(json.dumps(chat, default=str), "utf-8")
            start = str(child_value(render_chat, file, expected="a chat", error=ModelError, in_all=CHAT_SECONDS))
    except (ModelError, ValueError) as error:
        reason = plain_reason(error).rpartition("chat.json: ")[2].removesuffix(", expected a chat")
        raise ModelError(
            f"the chat template cannot be used ({reason[:200]}): expected one that writes a chat of one "
            "request, or no chat-template=true"
        ) from error
    return tuple(tokenizer(start, add_special_tokens=False)["input_ids"])


def render_chat(stream: IO[bytes], path: str) -> None:
    """Write the text of a chat of one request, in a child process: the sandbox of Jinja bounds neither time nor memory.

    Args:
        stream: to write to.
        path: JSON of the template and of the tokenizer's special tokens.
    """
    from transformers import PreTrainedTokenizerBase  # noqa: PLC0415  in the child alone

    chat = json.loads(Path(path).read_text("utf-8"))
    messages = [{"role": "user", "content": CHAT_REQUEST}]
    # of a tokenizer no more is needed than its template and the special tokens that it names
    text = PreTrainedTokenizerBase(**chat).apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    stream.write(json.dumps(text).encode())


def _specials_before(tokenizer: "PreTrainedTokenizerBase") -> tuple[int, ...]:
    plain = tokenizer(_PROBE, add_special_tokens=False)["input_ids"]
    full = tokenizer(_PROBE)["input_ids"]
    if not plain:
        raise ModelError(f"the tokenizer turns {_PROBE!r} into no tokens: its vocabulary is missing")
    # what stands before the plain tokens in the full sequence is what the tokenizer itself puts before a text
    for start in range(len(full) - len(plain) + 1):
        if full[start : start + len(plain)] == plain:
            return tuple(full[:start])
    raise ModelError("the tokenizer inserts special tokens within a text: expected them before or after it")
