"""Names of models: which kind of model a string means, and where the built-in models are."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assay.errors import ModelError, did_you_mean

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_PREFIX = "builtin:"
SMALL = "small"
"""Built-in model of Python whose training texts are known, see `lab/src/assay_lab/builtin`."""
CONTROL = "control"
"""Built-in model of eight languages whose training texts are known, see `lab/src/assay_lab/builtin`."""
SERVER_PREFIXES = ("openai:", "openai-chat:")
VLLM_PREFIX = "vllm:"
LLAMA_PREFIX = "llama:"
KINDS = "builtin:NAME, a model folder, a Hugging Face id or a GGUF file"


def is_remote(name: str) -> bool:
    """Return True if the name means a model behind a server or in vLLM, which gives neither weights nor a tokenizer."""
    return name.startswith((*SERVER_PREFIXES, VLLM_PREFIX))


def is_server(name: str) -> bool:
    """Return True if the name means a model behind a server, whose requests may cost money."""
    return name.startswith(SERVER_PREFIXES)


def display_name(name: str) -> str:
    """Return the name of a model for people: the last part of its path or id, without the suffix of a file."""
    if name.startswith(BUILTIN_PREFIX):
        return name
    if is_remote(name):
        name = name.partition(":")[2].partition("@")[0]
    name = name.removeprefix(LLAMA_PREFIX).rstrip("/").rpartition("/")[2]
    return name.removesuffix(".gguf") or name


def located(name: str) -> str:
    """Return the folder or hub id behind a model's name.

    Raises:
        ModelError: there is no built-in model of that name, or the kind of model has no weights here.
    """
    if is_remote(name) or name.startswith(LLAMA_PREFIX):
        raise ModelError(f"model {name!r} gives neither weights nor a tokenizer: expected {KINDS}")
    return str(builtin_folder(name.removeprefix(BUILTIN_PREFIX))) if name.startswith(BUILTIN_PREFIX) else name


def builtin_models() -> tuple[str, ...]:
    """Return the names `builtin:NAME` of the built-in models that are installed."""
    return tuple(f"{BUILTIN_PREFIX}{path.parent.name}" for path in sorted(BUILTIN.glob("*/config.json")))


def builtin_name(model: str) -> str | None:
    """Return NAME of a model `builtin:NAME`; None for any other model."""
    _, prefix, name = model.rpartition(BUILTIN_PREFIX)
    return name if prefix else None


def default_control(audited: str | None = None) -> str:
    """Return the model that serves as negative control: `builtin:control`, or `builtin:small` where that is audited."""
    # a model cannot be its own control
    control, small = f"{BUILTIN_PREFIX}{CONTROL}", f"{BUILTIN_PREFIX}{SMALL}"
    return small if audited == control else control


def builtin_folder(name: str) -> Path:
    """Return the folder of a model that ships with assay.

    Raises:
        ModelError: there is none of that name; the line lists those that exist.
    """
    names = sorted(folder.parent.name for folder in BUILTIN.glob("*/config.json"))
    if name not in names:
        raise ModelError(
            f"no built-in model {name!r}: expected one of {', '.join(names) or '(none are installed)'}"
            f"{did_you_mean(name, names)}"
        )
    return BUILTIN / name


# `openai:MODEL@http://host:port/v1`: the model, the server and the kind of its end point.

EndpointKind = Literal["openai", "openai-chat"]
_FORM = re.compile(r"(?P<way>openai(?:-chat)?):(?P<model>.+?)@(?P<url>https?://\S+)")


@dataclass(frozen=True, slots=True)
class OpenAIName:
    """A model behind an OpenAI-compatible API.

    Attributes:
        way: "openai" for the end point /completions, "openai-chat" for /chat/completions.
        model: as the server calls it.
        url: of the API, without a slash at its end.
    """

    way: EndpointKind
    model: str
    url: str


def openai_name(name: str) -> OpenAIName:
    """Read a model's name.

    Raises:
        ModelError: it is not such a name, or its address holds a password or a query, which every manifest would show.
    """
    match = _FORM.fullmatch(name)
    way = name.partition(":")[0]
    expected = f"expected {way}:MODEL@http://host:port/v1"
    if match is None:
        raise ModelError(f"model {_without_secrets(name)!r}: {expected}")
    try:
        address = urlsplit(match["url"])
        _ = address.port
    except ValueError as error:
        raise ModelError(f"model {_without_secrets(name)!r}: {error}; {expected}") from None
    if address.username is not None or address.password is not None or address.query or address.fragment:
        raise ModelError(
            f"model {_without_secrets(name)!r}: {expected}, without password or query; "
            "a key goes into the environment variable OPENAI_API_KEY"
        )
    if not address.hostname:
        raise ModelError(f"model {name!r}: no host; {expected}")
    return OpenAIName("openai-chat" if way == "openai-chat" else "openai", match["model"], match["url"].rstrip("/"))


def _without_secrets(name: str) -> str:
    return re.sub(r"[?#].*", "?…", re.sub(r"://[^/]*@", "://…@", name))
