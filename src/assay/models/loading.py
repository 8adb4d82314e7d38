"""A name → a causal language model and its tokenizer, or one line that says what is wrong with the name."""

import importlib
import importlib.util
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import Regex, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging
from transformers.utils.hub import cached_file

from assay.errors import MissingExtra, ModelError, plain_reason, require
from assay.files import parse_json
from assay.models.digest import tokenizer_digest
from assay.models.encoding import TextEncoder
from assay.models.folders import VOCABULARIES, check_folder, check_place, check_tokenizer, check_vocabulary, has_none
from assay.models.gguf_file import GgufFile, first_line, is_gguf, locate_gguf, parsed_once, read_gguf
from assay.models.names import located
from assay.models.settings import ModelSettings

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

MOST_LAYERS = 1_000

GEMMA_SCALES = ("gemma2", "gemma3")
"""Architectures of GGUF files whose attention is scaled by a number of its own."""

DEVICE_MAPS = ("balanced", "balanced_low_0", "sequential")
"""Devices that spread one model over all accelerators, by accelerate's names."""


DTYPE_ARGUMENT = "dtype" if tuple(map(int, transformers.__version__.split(".")[:2])) >= (4, 56) else "torch_dtype"
"""transformers renamed it; the old name warns in new versions, the new one is unknown to old ones."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model.

    Attributes:
        name: what the user called it.
        model: in evaluation mode, on its device or devices.
        tokenizer: its tokenizer.
        folders: where its files lie: the base model's (a folder, or one GGUF file), then the adapter's if there is one.
        gguf: the GGUF file that it came from.
        note: a sentence on what may be read otherwise than the model's makers meant it; "" where nothing is.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    folders: tuple[Path, ...]
    gguf: GgufFile | None = None
    note: str = ""


def load_checkpoint(name: str, settings: ModelSettings = ModelSettings()) -> Checkpoint:  # noqa: B008  frozen
    """Load a built-in model, a model folder, a GGUF file or a hub id. A folder or file opens no network connection.

    Args:
        name: `builtin:NAME`, a folder, a hub id, `PATH.gguf` or `hub-id:FILE.gguf`; a folder with an
            adapter_config.json is an adapter and names its own base model.
        settings: how to load it; what concerns texts (windows, batches, BOS) does not matter here.

    Raises:
        ModelError: anything about the name, the files, the dtype or the device that does not work.
        MissingExtra: an adapter without peft, several devices without accelerate, or a GGUF file without gguf.
    """
    device = resolve_device(settings.device)
    if settings.dtype != "auto" and settings.dtype not in DTYPES:
        raise ModelError(f"dtype {settings.dtype!r}: expected auto, {', '.join(DTYPES)}")
    base, adapter = located(name), None if settings.adapter is None else str(settings.adapter)
    if adapter is None and (Path(base) / "adapter_config.json").is_file():
        base, adapter = _base_of_adapter(Path(base)), base
    with quiet(), one_line(name), parsed_once(base):
        gguf, source = None, base
        if is_gguf(base):
            gguf = _open_gguf(base, settings, device)
            source = str(gguf.path.parent)
        else:
            check_folder(base)
            check_vocabulary(base if adapter is None or has_none(Path(adapter), VOCABULARIES) else adapter)
        common = source_arguments(source, gguf, settings)
        config = AutoConfig.from_pretrained(source, **common)
        check_config(name, config)
        tokenizer = _load_tokenizer(source, adapter, common)
        if gguf is not None:
            # what transformers reads from a GGUF file wrongly, or not at all, without a word
            _check_positions(gguf, config)
            _check_attention_scale(gguf, config)
            set_splits(tokenizer, gguf)
        model = _load_weights(source, common | _weight_arguments(settings, device, gguf) | {"config": config})
        folders = [_folder_of(base, common) if gguf is None else gguf.path]
        if adapter is not None:
            model = _with_adapter(model, adapter)
            folders.append(_folder_of(adapter, {}, file="adapter_config.json"))
        if settings.device not in DEVICE_MAPS:
            model = model.to(device)
    return Checkpoint(
        name=name,
        model=model.eval(),
        tokenizer=tokenizer,
        folders=tuple(folders),
        gguf=gguf,
        note=splits_note(gguf),
    )


def source_arguments(source: str, gguf: GgufFile | None, settings: ModelSettings) -> dict[str, Any]:
    """Return the arguments of every from_pretrained that say where the files are and what they may do."""
    local = Path(source).is_dir()
    arguments: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code, "local_files_only": local}
    if settings.revision is not None and not local:
        arguments["revision"] = settings.revision
    if gguf is not None:
        arguments["gguf_file"] = gguf.path.name
    return arguments


def _open_gguf(name: str, settings: ModelSettings, device: torch.device) -> GgufFile:
    """Locate a GGUF file, read its head, and check that its weights fit into memory."""
    require("gguf", "accelerate", purpose=f"model {name!r}")
    gguf = read_gguf(locate_gguf(name, settings.revision))
    dtype = _gguf_dtype(settings, device)
    gguf.check_memory(dtype.itemsize, str(dtype).removeprefix("torch."))
    return gguf


def _check_positions(gguf: GgufFile, config: PretrainedConfig) -> None:
    """Check that scaled rotary positions have reached the configuration; transformers drops most of them silently.

    Raises:
        ModelError: they have not: every probability would be wrong.
    """
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if gguf.rope_scaling and rope.get("rope_type", rope.get("type", "default")) == "default":
        raise ModelError(
            f"{gguf.path}: rotary positions are scaled ({gguf.rope_scaling}), which transformers does not read from a "
            f"GGUF file: expected llama:{gguf.path}, or the model's own folder or hub id"
        )


def _check_attention_scale(gguf: GgufFile, config: PretrainedConfig) -> None:
    """Check that attention of Gemma 2 and 3 is scaled as the model was trained; no field of a GGUF file has the scale.

    Raises:
        ModelError: transformers' own default belongs to heads of another size: every probability would be wrong.
    """
    scale = getattr(config, "query_pre_attn_scalar", None)
    head = getattr(config, "head_dim", None)
    if gguf.architecture in GEMMA_SCALES and scale != head:
        raise ModelError(
            f"{gguf.path}: attention heads of {head}, whose scale transformers does not read from a GGUF file (it "
            f"takes that of {scale}): expected llama:{gguf.path}, or the model's own folder or hub id"
        )


def check_config(name: str, config: PretrainedConfig) -> None:
    """Check that a configuration names no kernel of a hub, which would be code, and a number of layers that can be.

    Raises:
        ModelError: it does; or its layers would take much time and memory, even if they are empty.
    """
    kernels = list(map(str, map(attrgetter("_attn_implementation"), (config, config.get_text_config()))))
    if "/" in "".join(kernels):
        raise ModelError(
            f"{name}: config.json names the kernel {kernels[-1]!r}, which is code of a hub: expected none, or your own "
            "choice in --model-option attention=NAME"
        )
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    if isinstance(layers, int) and layers > MOST_LAYERS:
        raise ModelError(f"{name}: config.json states {layers:,} layers, expected at most {MOST_LAYERS:,}")


def _gguf_dtype(settings: ModelSettings, device: torch.device) -> torch.dtype:
    """Return the number format of dequantised weights; a GGUF file states none of its own."""
    return DTYPES.get(settings.dtype, torch.float32 if device.type == "cpu" else torch.bfloat16)


def _weight_arguments(settings: ModelSettings, device: torch.device, gguf: GgufFile | None) -> dict[str, Any]:
    """Return the arguments of from_pretrained that concern weights alone."""
    arguments: dict[str, Any] = {DTYPE_ARGUMENT: DTYPES.get(settings.dtype, "auto")}
    # most processors are slow in half precision, or have none
    if settings.dtype == "auto" and device.type == "cpu":
        arguments[DTYPE_ARGUMENT] = torch.float32
    if gguf is not None:
        arguments[DTYPE_ARGUMENT] = _gguf_dtype(settings, device)
        if hasattr(transformers, "GgufConfig"):  # otherwise new versions fetch kernels and keep some weights packed
            arguments["quantization_config"] = transformers.GgufConfig(dequantize=True)
    if settings.attention is not None:
        arguments["attn_implementation"] = settings.attention
    if settings.device in DEVICE_MAPS:
        arguments["device_map"] = settings.device
    return arguments


def _load_weights(name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401  transformers types its methods partly
    """Load the network; weights that the files lack would be random numbers, so they are refused."""
    # transformers shows a bar while it dequantises, whatever its settings for bars are
    silence = redirect_stderr(StringIO()) if "gguf_file" in arguments else nullcontext()
    kind = AutoModelForSeq2SeqLM if arguments["config"].is_encoder_decoder else AutoModelForCausalLM
    with silence:
        loaded: Any = kind.from_pretrained(name, output_loading_info=True, **arguments)
    model, report = loaded
    if report["missing_keys"]:
        examples = ", ".join(sorted(report["missing_keys"])[:3])
        raise ModelError(f"{name}: {len(report['missing_keys'])} weights are missing from the files ({examples}, …)")
    return model


def resolve_device(device: str) -> torch.device:
    """Return the device of that name; of a device map, the device where a model begins.

    Raises:
        ModelError: no such device here.
        MissingExtra: a device map without accelerate.
    """
    kinds = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    accelerator = next(compress(kinds, kinds.values()))
    if device in DEVICE_MAPS:
        if importlib.util.find_spec("accelerate") is None:
            raise MissingExtra("accelerate", purpose=f"device {device!r}")
        return torch.device(accelerator)
    try:
        place = torch.device(accelerator if device == "auto" else device)
    except RuntimeError as error:
        raise ModelError(
            f"device {device!r}: expected auto, cpu, cuda, cuda:N, mps or one of {', '.join(DEVICE_MAPS)}"
        ) from error
    available = kinds | {"cuda": torch.cuda.device_count()}
    if (place.index or 0) >= available.get(place.type, 0):
        raise ModelError(f"device {device!r} is not here: torch sees {torch.cuda.device_count()} CUDA devices")
    return place


@contextmanager
def quiet() -> Iterator[None]:
    """A library does not print: transformers' progress bars and load reports are off, errors are raised.

    So is what peft and transformers tell each other about names that will go; no user can mend that.
    """
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def one_line(name: str) -> Iterator[None]:
    """Whatever a checkpoint's loading raises becomes a ModelError of one line; the cause stays attached."""
    try:
        yield
    except (ModelError, MissingExtra):
        raise
    except Exception as error:  # loading runs code of many libraries, each with its own exceptions
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{name} brings Python code of its own, which runs only with trust_remote_code:"
                " expected a model that needs none, or your word that you trust it"
            ) from error
        raise ModelError(f"{name} cannot be loaded: {first_line(error)}") from error


def _load_tokenizer(name: str, adapter: str | None, common: dict[str, Any]) -> PreTrainedTokenizerBase:
    """The adapter's own tokenizer if it brings one (it may have added tokens), else the base model's."""
    check_hub_tokenizer(name, common)
    if adapter is not None and Path(adapter).is_dir() and not has_none(Path(adapter), VOCABULARIES):
        name, common = adapter, common | {"local_files_only": True}
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name, **common)
    return tokenizer


def check_hub_tokenizer(name: str, common: Mapping[str, Any]) -> None:
    """Check the tokenizer.json of a hub id, as `check_vocabulary` does that of a folder; any other name passes.

    Raises:
        ModelError: see `check_tokenizer`.
    """
    if Path(name).is_dir():
        return
    try:
        file = cached_file(name, "tokenizer.json", revision=common.get("revision"))
    except OSError:  # there is none, and loading says what else there is
        return
    check_tokenizer(Path(str(file)))


def _base_of_adapter(folder: Path) -> str:
    try:
        base = parse_json((folder / "adapter_config.json").read_text("utf-8")).get("base_model_name_or_path")
    except (ValueError, AttributeError) as error:
        raise ModelError(f"{folder / 'adapter_config.json'} is not a JSON object: {plain_reason(error)}") from error
    if not isinstance(base, str) or not base:
        raise ModelError(f"{folder}: adapter_config.json names no base model: expected base_model_name_or_path")
    return base


def _with_adapter(model: PreTrainedModel, adapter: str) -> PreTrainedModel:
    if importlib.util.find_spec("peft") is None:
        raise MissingExtra("peft", purpose=f"the adapter {adapter}")
    from peft import PeftModel  # noqa: PLC0415  an optional dependency

    if Path(adapter).is_dir() and has_none(Path(adapter), ("adapter_model.*",)):
        raise ModelError(f"{adapter}: no adapter weights: expected adapter_model.safetensors")
    wrapped = PeftModel.from_pretrained(model, adapter, is_trainable=False)
    if wrapped.active_peft_config.is_prompt_learning:
        kind = wrapped.active_peft_config.peft_type.value
        raise ModelError(f"{adapter}: a {kind} adapter adds virtual tokens: expected one that changes weights")
    # The adapter's layers sit inside the base model, which keeps its own interface.
    return cast("PreTrainedModel", wrapped.get_base_model())


def _folder_of(name: str, common: dict[str, Any], *, file: str = "config.json") -> Path:
    if Path(name).is_dir():
        return Path(name)
    path = cached_file(name, file, revision=common.get("revision"), local_files_only=True)
    return Path(str(path)).parent


# The rule that splits a text before a GGUF tokenizer merges letters.
#
# A GGUF file names the rule; llama.cpp knows some eighty. transformers builds the rules of some tokenizers (Llama 3,
# Qwen) and takes GPT-2's for all others, without a word. Then other tokens come out than the model was trained on: of
# 143 source files, 49 differ under SmolLM2's file. The rules of the code models StarCoder, SmolLM2 and DeepSeek-Coder
# are set here, and a rule that is not known here is reported.

SINGLE_DIGITS = frozenset({"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"})
"""Rules that take each digit for itself, then split as GPT-2 does."""

GPT2 = frozenset({"gpt-2", "phi-2", "mellum", "mpt", "olmo", "jais", "trillion"})
"""Rules that split as GPT-2 does."""

DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")


def set_splits(tokenizer: PreTrainedTokenizerBase, gguf: GgufFile) -> None:
    """Let a tokenizer that transformers read from a file split texts as the file says, where the rule is known here."""
    first: list[pre_tokenizers.PreTokenizer]
    if gguf.pre_tokenizer in SINGLE_DIGITS:
        first = [pre_tokenizers.Digits(individual_digits=True)]
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    elif gguf.pre_tokenizer == "deepseek-coder":
        first = [pre_tokenizers.Split(Regex(rule), "isolated") for rule in DEEPSEEK_CODER]
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    else:
        return
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*first, last])


def splits_note(gguf: GgufFile | None) -> str:
    """Return a sentence where texts may be split otherwise than the file says; "" where they are not."""
    rules = {"deepseek-coder"} | SINGLE_DIGITS | GPT2 | set(_rules_of_transformers())
    # a SentencePiece vocabulary needs no such rule
    if gguf is None or gguf.vocabulary != "gpt2" or gguf.pre_tokenizer in rules:
        return ""
    return (
        f"The file splits texts by the rule {gguf.pre_tokenizer or '(none stated)'}, which transformers replaces by "
        "GPT-2's: some tokens may differ from the model's own. `llama:` and the file's path uses the rule itself."
    )


def _rules_of_transformers() -> Collection[str]:
    """Return the rules that this version of transformers builds; older versions have no list of them."""
    try:
        mapping = importlib.import_module("transformers.integrations.gguf.gguf_tokenizer_mapping")
    except ImportError:
        return ()
    rules: Collection[str] = getattr(mapping, "GGUF_PRE_TOKENIZER_SPLITS", ())
    return rules


# A model's tokenizer alone, for counting a corpus: no weights are loaded.

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
        waiting = iter(texts)
        while block := list(islice(waiting, BATCH)):
            for encoded in self.encoder.encode(block):
                yield encoded.ids[before:].astype(np.int32)


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
    return Tokenizer(
        name=name,
        digest=tokenizer_digest(loaded),
        vocabulary_size=1 + max(loaded.get_vocab().values()),
        encoder=encoder,
    )
