"""Files of packages as entries of a training manifest, with their lengths in tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from assay.ground_truth import PACKAGE_FILE, ManifestEntry
from assay_lab.columns import attributes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class PackageText(Protocol):
    """A file of a package: an installed one, or one of a downloaded archive."""

    @property
    def package(self) -> str: ...  # noqa: D102  see `PackageFile`
    @property
    def version(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def licence(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102


def token_lengths(tokenizer: "PreTrainedTokenizerFast", texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, without special tokens."""
    encodings = tokenizer.backend_tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return list(map(len, attributes(encodings, "ids")))


def file_entry(file: PackageText, tokens: int, *, dose: int = 1, characters: int | None = None) -> ManifestEntry:
    """Return the entry of a file.

    Args:
        file: of a package.
        tokens: its length for the model.
        dose: how often it occurs in the training data.
        characters: that are trained on; None for all of it.
    """
    return ManifestEntry(
        kind=PACKAGE_FILE,
        package=file.package,
        version=file.version,
        path=file.path,
        name="",
        line=1,
        sha256=file.digest,
        licence=file.licence,
        dose=dose,
        characters=len(file.text) if characters is None else characters,
        tokens=tokens,
    )
