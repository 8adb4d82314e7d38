"""The tokenizer of `builtin:small`: byte-level BPE over code.

A vocabulary of 4096 suits a model of a few million parameters: the (tied) embedding stays below a third of
them, and the output layer, which dominates the cost of a small model, stays small. Nothing is normalised, so
encoding is lossless.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

BOS, EOS, PAD = "<bos>", "<eos>", "<pad>"
# the trainer gives the special tokens the first ids, in their order
BOS_ID, EOS_ID, PAD_ID = range(3)

# Code-friendly pieces, in this order: a line break with the blank lines before and the indentation after it;
# a word with the one character before it (a space, a dot, an underscore, an opening bracket); digits, three
# at most; a run of signs; what is left of white space, of which the last space goes to the piece that follows
# it.
_PIECES = (
    r"\s*[\r\n]+[ \t]*"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


def train_tokenizer(texts: Iterable[str], *, vocabulary_size: int, context: int) -> PreTrainedTokenizerFast:
    """Train the tokenizer; every encoding starts with `<bos>` unless `add_special_tokens=False`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(map(partial(AddedToken, special=True, normalized=False), (BOS, EOS, PAD))),
        # all 256 bytes, so that any text can be encoded, whatever the training texts hold
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.Sequence(
        [
            # a token keeps the space that stands before its word, so that offsets cover the whole text
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
            ),
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        clean_up_tokenization_spaces=False,
        model_max_length=context,
    )


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer saved in `folder`."""
    loaded = PreTrainedTokenizerFast.from_pretrained(folder)
    assert isinstance(loaded, PreTrainedTokenizerFast)  # noqa: S101  the library's return type is wider
    return loaded
