"""`openai:MODEL@http://host:port/v1`: the model, the server and the kind of its end point."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from assay.errors import ModelError

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
