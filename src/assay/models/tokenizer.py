"""A model's tokenizer alone, for counting a corpus: no weights are loaded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from assay.models.digest import tokenizer_digest
from assay.models.encoding import TextEncoder
from assay.models.folders import check_place, check_vocabulary
from assay.models.gguf_file import is_gguf, locate_gguf, parsed_once, read_gguf
from assay.models.gguf_splits import set_splits
from assay.models.loading import check_hub_tokenizer, one_line, quiet, source_arguments
from assay.models.names import located
from assay.models.settings import ModelSettings

BATCH = 256


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Text → token ids.

    Attributes:
        name: what the user called the model.
        digest: as `TokenScorer.tokenizer_digest`.
        vocabulary_size: the highest token id and one, added tokens included.
    """

    name: str
    digest: str
    vocabulary_size: int
    encoder: TextEncoder

    def token_ids(self, texts: Iterable[str]) -> Iterator[NDArray[np.int32]]:
        """Token ids of each text, special tokens left out."""
        before = len(self.encoder.prefix)
        waiting: list[str] = []
        for text in texts:
            waiting.append(text)
            if len(waiting) == BATCH:
                yield from (found.ids[before:].astype(np.int32) for found in self.encoder.encode(waiting))
                waiting.clear()
        yield from (found.ids[before:].astype(np.int32) for found in self.encoder.encode(waiting))


def open_tokenizer(name: str, *, revision: str | None = None, trust_remote_code: bool = False) -> Tokenizer:
    """The tokenizer of a model named as for `open_model`.

    Raises:
        ModelError: no such model, or no tokenizer in it.
    """
    source, gguf = located(name), None
    settings = ModelSettings(revision=revision, trust_remote_code=trust_remote_code)
    with quiet(), one_line(name), parsed_once(source):
        if is_gguf(source):
            gguf = read_gguf(locate_gguf(source, revision))
            source = str(gguf.path.parent)
        else:
            check_place(source)
            check_vocabulary(source)
        common = source_arguments(source, gguf, settings)
        check_hub_tokenizer(source, common)
        loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(source, **common)
        if gguf is not None:
            set_splits(loaded, gguf)
        encoder = TextEncoder(loaded)
    return Tokenizer(name, tokenizer_digest(loaded), 1 + max(loaded.get_vocab().values()), encoder)
