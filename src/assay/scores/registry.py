"""The table of all scores, and how a user asks for them.

A score is asked for by name, with parameters behind colons: `loss,min_k:k=0.1,ngram_accuracy:n=7:starts=paper`.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import ScoreError
from assay.scores import generation_scores, pair_scores, token_scores, variant_scores
from assay.scores.continuation import Cut
from assay.scores.definition import Inputs, ScoreDefinition

SCORES: Mapping[str, ScoreDefinition] = MappingProxyType(
    {
        found.name: found
        for module in (token_scores, pair_scores, variant_scores, generation_scores)
        for found in vars(module).values()
        if isinstance(found, ScoreDefinition)
    }
)
ALIASES: Mapping[str, str] = MappingProxyType({"log_likelihood": "loss"})


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A score with the parameters it is to be computed with.

    Attributes:
        name: as the user wrote it; the column in every output.
        definition: the registered score.
        parameters: the parameters that differ from the paper's defaults.
    """

    name: str
    definition: ScoreDefinition
    parameters: Mapping[str, object]

    @property
    def variants(self) -> int:
        """How many rewritings of each text the score compares."""
        return self.definition.variants(**self.parameters)

    @property
    def cut(self) -> Cut | None:
        """Where the score cuts a text for a model that writes on; None where it needs none."""
        return self.definition.cut(**self.parameters)

    def __call__(self, inputs: Inputs) -> float:
        """The oriented value of one sample; raises Unscorable."""
        return self.definition(inputs, **self.parameters)


def one_pass() -> tuple[str, ...]:
    """Names of the scores that one forward pass of the target model gives."""
    return tuple(name for name, found in SCORES.items() if found.passes == 1)


def black_box() -> tuple[str, ...]:
    """Names of the scores of a model that only writes."""
    return tuple(name for name, found in SCORES.items() if found.access == "black")


def request(spec: str) -> ScoreRequest:
    """Read `name:parameter=value:…`.

    Raises:
        ScoreError: no such score or parameter, or a value of the wrong kind.
    """
    name, *settings = spec.strip().split(":")
    definition = SCORES.get(ALIASES.get(name, name))
    if definition is None:
        close = difflib.get_close_matches(name, [*SCORES, *ALIASES], n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"expected one of {', '.join(SCORES)}"
        raise ScoreError(f"no score is called {name!r}; {hint}")
    parameters: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in definition.defaults:
            takes = ", ".join(f"{k}={v}" for k, v in definition.defaults.items()) or "no parameters"
            raise ScoreError(f"{spec!r}: {setting!r} is no parameter of {name}, which takes {takes}")
        kind: Callable[[str], object] = type(definition.defaults[key])
        try:
            parameters[key] = kind(value)
        except ValueError:
            raise ScoreError(
                f"{spec!r}: {key} is {value!r}, expected a value like {definition.defaults[key]}"
            ) from None
    return ScoreRequest(":".join([name, *settings]), definition, parameters)


def requests(specs: str | Iterable[str]) -> tuple[ScoreRequest, ...]:
    """Read a comma-separated list or an iterable of specifications; a score asked for twice counts once.

    `all` stands for every score, `one-pass` for those that one forward pass gives, `black` for those of a model that
    only writes.

    Raises:
        ScoreError: see `request`; also when nothing is asked for.
    """
    wanted = specs.split(",") if isinstance(specs, str) else list(specs)
    named = {"all": tuple(SCORES), "one-pass": one_pass(), "black": black_box()}
    expanded = [name for spec in wanted if spec.strip() for name in named.get(spec.strip(), (spec,))]
    if not expanded:
        raise ScoreError(f"no score was asked for; expected one or more of {', '.join(SCORES)}, all, one-pass, black")
    found = {one.name: one for one in map(request, expanded)}
    return tuple(found.values())
