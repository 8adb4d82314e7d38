"""Settings of an encoder, as one frozen value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """Settings of an encoder. None means the value that the model states.

    Attributes:
        pooling: "mean", "cls", "last", "eos" (appends the end-of-sequence token), "max", "mean_sqrt", "weighted_mean",
            or "output:FIELD" for a vector that the model itself returns. None: as a sentence-transformers model states,
            else "mean".
        query_prefix: text before a query; text around it if it contains "{text}".
        document_prefix: the same for documents.
        max_length: in tokens. None: as model and tokenizer state, 512 if they state nothing.
        batch_tokens: padded tokens in one batch; None chooses by device.
        device: "auto" or a torch device.
        dtype: "auto" (float32 on the CPU, the dtype of the checkpoint elsewhere), "float32", "bfloat16" or "float16".
        revision: branch, tag or commit of a hub id.
        trust_remote_code: run the Python code that comes with a model.
    """

    pooling: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    max_length: int | None = None
    batch_tokens: int | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
