"""The corpus of `builtin:control` on disk as training reads it: one stream of tokens, held-out texts, tokenizer."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from assay.errors import DataError, plain_reason
from assay.files import write_json
from assay.ground_truth import SKETCH, read_manifest
from assay_lab.builtin.control_corpus import ControlCorpus, ControlRecipe, PackageList, SourceText, build_control_corpus
from assay_lab.builtin.prepared import MANIFEST, TOKENIZER, documents, save_frequencies
from assay_lab.builtin.shipped_files import write_manifest, write_sketch
from assay_lab.columns import text_column
from assay_lab.training.packing import TokenIds
from assay_lab.training.recipes import make_once

STREAM = "stream.npy"
HELD_OUT = "held_out.json"


def prepare_control_corpus(
    folder: Path,
    recipe: ControlRecipe,
    lists: Sequence[PackageList],
    *,
    downloads: Path,
    benchmarks: Mapping[str, Path],
) -> None:
    """Build the corpus and write it to `folder`, unless it exists.

    Raises:
        DataError: `folder` holds a corpus of another recipe, or the corpus cannot be built.
    """

    def write(unfinished: Path) -> None:
        corpus = build_control_corpus(recipe, lists, downloads=downloads, benchmarks=benchmarks)
        write_control_corpus(unfinished, corpus)

    make_once(folder, asdict(recipe), write)


def write_control_corpus(folder: Path, corpus: ControlCorpus) -> None:
    """Write all files that training, evaluation and export read."""
    tokenizer = corpus.tokenizer
    stream = encoded_stream(tokenizer, corpus.files)
    np.save(folder / STREAM, stream)
    save_frequencies(folder, tokenizer, stream)
    write_json(folder / HELD_OUT, list(map(asdict, corpus.held_out)))
    tokenizer.save_pretrained(folder / TOKENIZER)
    write_manifest(folder / MANIFEST, corpus.manifest)
    write_sketch(folder / SKETCH, text_column(corpus.files))


def read_control_files(folder: Path, *, language_cap: int, left_out: Collection[str] = ()) -> list[SourceText]:
    """Return training files of a corpus that `write_control_corpus` wrote, decoded from its tokens, in training order.

    Args:
        folder: of the corpus.
        language_cap: most characters of each language; the first files are taken.
        left_out: packages whose files are not taken.

    Raises:
        DataError: there is no such corpus, or a file is not the one of the manifest.
    """
    try:
        entries = read_manifest(folder / MANIFEST).entries
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / TOKENIZER)
        stream = np.load(folder / STREAM, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: expected a corpus of `build-control-corpus`: {plain_reason(error)}") from error
    starts = np.flatnonzero(stream == tokenizer.bos_token_id)
    if len(starts) != len(entries):
        raise DataError(f"{folder}: {len(starts)} files in {STREAM}, {len(entries)} in {MANIFEST}; expected as many")
    sizes: Counter[str] = Counter()
    files = []
    for entry, start, stop in zip(entries, starts, [*starts[1:], len(stream)], strict=True):
        language = str(entry.language)
        if entry.package in left_out or sizes[language] + entry.characters > language_cap:
            continue
        # without <bos> and <eos>
        text = tokenizer.backend_tokenizer.decode(stream[start + 1 : stop - 1].tolist(), skip_special_tokens=False)
        file = SourceText(
            language=language,
            registry=str(entry.registry),
            package=entry.package,
            version=entry.version,
            path=entry.path,
            licence=entry.licence,
            text=text,
        )
        # decoding is only the text again if the tokenizer is that of the stream
        if file.digest != entry.sha256:
            raise DataError(f"{folder}: {entry.package}, {entry.path}: the text is not that of the manifest")
        sizes[language] += entry.characters
        files.append(file)
    return files


def encoded_stream(tokenizer: PreTrainedTokenizerFast, files: Sequence[SourceText]) -> TokenIds:
    """Return the tokens of all files, each between `<bos>` and `<eos>`, one after the other."""
    parts: list[TokenIds] = []
    for at in range(0, len(files), 200):
        parts += documents(tokenizer, text_column(files[at : at + 200]))
    return np.concatenate(parts)
