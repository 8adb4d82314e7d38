"""The detector registry: every detector by name, and how a user asks for scores.

- `SCORES` holds the sample-level scores, `DETECTORS` the detectors of every kind. A dataset-level detector is a module
  of `DETECTOR_PACKAGE` that has the detector's name; it is imported when the detector is asked for.
- Other distributions add detectors through entry points of the group `assay.scores`.
- A score is asked for by name, with parameters behind colons: `loss,min_k:k=0.1,ngram_accuracy:n=7:starts=paper`.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain, starmap
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from assay.errors import ScoreError
from assay.plug_ins import PlugIns
from assay.scores import generation_scores, token_scores, variant_scores
from assay.scores.continuation import Cut
from assay.scores.definition import SampleInputs, ScoreDefinition
from assay.scores.detector import Access, DatasetDetector, DatasetInputs, DatasetScore, Detector, Flag, Work
from assay.scores.parameters import check_parameters
from assay.types import MEMBER

DETECTOR_PACKAGE = "assay.leakage.detectors"
_Kind = TypeVar("_Kind", bound=Detector)


# a score that is written in one of these modules is registered by that alone: there is no list to forget it in
def _defined_in(module: ModuleType) -> dict[str, ScoreDefinition]:
    return {value.name: value for value in vars(module).values() if isinstance(value, ScoreDefinition)}


_BUILT_IN: Mapping[str, ScoreDefinition] = (
    _defined_in(token_scores) | _defined_in(variant_scores) | _defined_in(generation_scores)
)


@cache
def _modules() -> tuple[str, ...]:
    """Names of the dataset-level detectors; their modules are not imported."""
    return tuple(module.name for module in iter_modules(import_module(DETECTOR_PACKAGE).__path__))


_PLUG_INS: PlugIns[Detector] = PlugIns(
    "assay.scores",
    accepts=lambda plug_in: isinstance(plug_in, Detector),
    description="a detector, made by a decorator of assay.scores",
    reserved=lambda: (*_BUILT_IN, *_modules()),
)


class _Scores(Mapping[str, ScoreDefinition]):
    """The sample-level scores by name, those of plug-ins last."""

    def __getitem__(self, name: str) -> ScoreDefinition:
        # names of our own are reserved, so a plug-in never replaces one
        detector = _PLUG_INS[name] if name in _PLUG_INS else _BUILT_IN[name]
        if not isinstance(detector, ScoreDefinition):
            raise KeyError(name)
        return detector

    def __iter__(self) -> Iterator[str]:
        # a plug-in may be a detector of another kind, which shows when it is imported: as late as can be
        return chain(_BUILT_IN, filter(self.__contains__, _PLUG_INS))

    def __len__(self) -> int:
        return sum(1 for _ in self)  # not of a list: that asks for the length


class _Detectors(Mapping[str, Detector]):
    """The detectors of every kind by name, those of plug-ins last."""

    def __getitem__(self, name: str) -> Detector:
        if name in _PLUG_INS:
            return _PLUG_INS[name]
        # a detector is a module of its own name, found without an import; its libraries load when it is used
        if name not in _modules():
            return _BUILT_IN[name]
        module = import_module(f"{DETECTOR_PACKAGE}.{name}")
        return next(value for value in vars(module).values() if isinstance(value, Detector) and value.name == name)

    def __iter__(self) -> Iterator[str]:
        return iter((*_BUILT_IN, *_modules(), *_PLUG_INS))

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(_modules()) + len(_PLUG_INS)


SCORES: Mapping[str, ScoreDefinition] = _Scores()
DETECTORS: Mapping[str, Detector] = _Detectors()


def detectors_of(kind: type[_Kind]) -> dict[str, _Kind]:
    """Return the detectors of one type by name; the modules of all detectors that are no scores are imported."""
    return {name: detector for name, detector in DETECTORS.items() if isinstance(detector, kind)}


def _names(chosen: Callable[[ScoreDefinition], bool]) -> tuple[str, ...]:
    return tuple(name for name, definition in SCORES.items() if chosen(definition))


def flagged(flag: Flag) -> tuple[str, ...]:
    """Return the names of the sample-level scores that carry a flag, in the order of the registry."""
    return _names(lambda score: flag in score.flags)


def headline_score(access: Access) -> ScoreDefinition:
    """Return the score of the headline where that access is all there is."""
    return next(score for score in SCORES.values() if score.access == access and "headline" in score.flags)


def one_pass() -> tuple[str, ...]:
    """Return the names of the scores that one forward pass of the target model gives."""
    return _names(lambda score: score.passes == 1)


def default_scores(access: Access) -> tuple[str, ...]:
    """Return the names of the scores that are computed where the user names none: those that cost least."""
    return _names(lambda score: score.access == access and (score.passes == 1 or "default" in score.flags))


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A score with the parameters that it is to be computed with.

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
        """The number of rewritings of each text that the score compares."""
        return self.definition.variants(**self.parameters)

    @property
    def derived(self) -> int:
        """The number of derivations of each text that the score compares."""
        return self.definition.derived(**self.parameters)

    @property
    def cut(self) -> Cut | None:
        """The cut of a text for a model that continues it; None for any other score."""
        return self.definition.cut(**self.parameters)

    def __call__(self, inputs: SampleInputs) -> float:
        """Return the oriented value of one sample; raises Unscorable."""
        return self.definition(inputs, **self.parameters)


def request(spec: str) -> ScoreRequest:
    """Read `name:parameter=value:…`.

    Raises:
        ScoreError: no such score or parameter, or a value that it does not accept.
        PlugInError: the score is that of a plug-in that cannot be used.
    """
    name, *settings = spec.strip().split(":")
    definition = _definition(name)
    parameters: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in definition.defaults:
            raise _no_parameter(spec, setting, definition.defaults)
        _check_first(spec, key, parameters)
        parameters[key] = _as_default(value, definition.defaults[key], f"{spec!r}: {key}")
    check_parameters(name, definition.function, parameters)
    return ScoreRequest(":".join([name, *settings]), definition, parameters)


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """A dataset-level detector with the parameters that it is to be run with.

    Attributes:
        name: as the user wrote it; the row in every output.
        detector: the registered detector.
        parameters: those that differ from the paper's defaults.
    """

    name: str
    detector: DatasetDetector
    parameters: Mapping[str, object]

    @property
    def work(self) -> Sequence[Work]:
        """The forward passes that it needs; see `assay.scores.detector.Work`."""
        return self.detector.work(**{**self.detector.defaults, **self.parameters})

    def __call__(self, inputs: DatasetInputs) -> DatasetScore:
        """Return the result for a benchmark."""
        return self.detector(inputs, **self.parameters)


def dataset_requests(specs: str) -> tuple[DatasetRequest, ...]:
    """Read a comma-separated list of dataset-level detectors: `kds:gamma=1.0,fsd:min_k,mean:min_k:k=0.1`.

    A setting without `=` is the first parameter. A detector that reads a sample-level score passes on to the score
    the settings that are not its own. `all` stands for every detector, `default` for those that need no fine-tuning.

    Raises:
        ScoreError: no such detector, score or parameter, a value that it does not accept, or nothing is asked for.
    """
    detectors = detectors_of(DatasetDetector)
    default = tuple(name for name, detector in detectors.items() if "default" in detector.flags)
    lists = {"all": tuple(detectors), "default": default}
    names: dict[str, None] = {}
    for part in filter(None, map(str.strip, specs.split(","))):
        names |= dict.fromkeys(lists.get(part, (part,)))
    if not names:
        raise ScoreError(f"no method was asked for; expected one or more of {', '.join(detectors)}")
    return tuple(_dataset_request(name, detectors) for name in names)


def _dataset_request(spec: str, detectors: Mapping[str, DatasetDetector]) -> DatasetRequest:
    name, *settings = spec.split(":")
    if name not in detectors:
        raise ScoreError(f"no method is called {name!r}; expected one of {', '.join(detectors)}")
    detector = detectors[name]
    parameters: dict[str, object] = {}
    passed_on: list[str] = []
    for place, setting in enumerate(settings):
        key, equals, value = setting.partition("=")
        # `mean:min_k` is short for `mean:score=min_k`
        if not equals and not place and detector.defaults:
            key, value = next(iter(detector.defaults)), setting
        if key in detector.defaults:
            _check_first(spec, key, parameters)
            parameters[key] = _as_default(value, detector.defaults[key], f"{spec!r}: {key}")
        elif "score" in detector.defaults:
            passed_on.append(setting)
        else:
            raise _no_parameter(spec, setting, detector.defaults)
    if "score" in detector.defaults:
        # `fsd:min_k:k=0.1`: settings that are not those of the detector belong to the score that it reads
        chosen = ":".join([str(parameters.get("score", detector.defaults["score"])), *passed_on])
        parameters["score"] = request(chosen).name
    check_parameters(name, detector.judge, parameters)
    detector.work(**{**detector.defaults, **parameters})  # refuses the values that no type describes
    return DatasetRequest(spec, detector, parameters)


def _no_parameter(spec: str, setting: str, defaults: Mapping[str, object]) -> ScoreError:
    takes = ", ".join(starmap("{}={}".format, defaults.items())) or "no parameters"
    return ScoreError(f"{spec!r}: {setting!r} is no parameter of {spec.strip().partition(':')[0]}, which takes {takes}")


def _check_first(spec: str, key: str, parameters: Mapping[str, object]) -> None:
    if key in parameters:
        raise ScoreError(f"{spec!r}: {key} stands twice, expected it once")


def _as_default(value: str, default: object, place: str) -> object:
    """Return the value of a setting in the type of its default.

    Raises:
        ScoreError: it cannot be read as one; the message begins with `place`.
    """
    if isinstance(default, bool):
        if value.lower() in ("yes", "true", "no", "false"):
            return value.lower() in ("yes", "true")
        raise ScoreError(f"{place} is {value!r}, expected yes or no")
    # the default tells the type, so a request needs no other description of its parameters
    kind: Callable[[str], object] = type(default)
    try:
        return kind(value)
    except ValueError:
        raise ScoreError(f"{place} is {value!r}, expected a value like {default}") from None


def _definition(name: str) -> ScoreDefinition:
    # aliases are read last, as that imports the plug-ins
    if name in SCORES:
        return SCORES[name]
    aliases: dict[str, ScoreDefinition] = {}
    for definition in SCORES.values():
        aliases |= dict.fromkeys(definition.aliases, definition)
    if name in aliases:
        return aliases[name]
    close = difflib.get_close_matches(name, [*SCORES, *aliases], n=3)
    hint = f"did you mean {', '.join(close)}?" if close else f"expected one of {', '.join(SCORES)}"
    raise ScoreError(f"no score is called {name!r}; {hint}")


def requests(specs: str | Iterable[str]) -> tuple[ScoreRequest, ...]:
    """Read a comma-separated list or an iterable of specifications; a score that is asked for twice counts once.

    `all` stands for every score of membership, `one-pass` for those that one forward pass gives, `black` for those of
    a model that only generates text.

    Raises:
        ScoreError: see `request`; also when nothing is asked for.
        PlugInError: see `request`.
    """
    lists: Mapping[str, Callable[[ScoreDefinition], bool]] = {
        "all": lambda score: score.positive == MEMBER,
        "one-pass": lambda score: score.passes == 1,
        "black": lambda score: score.access == "black",
    }
    expanded: list[str] = []
    for name in filter(None, map(str.strip, specs.split(",") if isinstance(specs, str) else specs)):
        expanded += _names(lists[name]) if name in lists else (name,)
    if not expanded:
        raise ScoreError(f"no score was asked for; expected one or more of {', '.join(SCORES)}, all, one-pass, black")
    # a dict keeps the order and drops what is named twice
    return tuple({entry.name: entry for entry in map(request, expanded)}.values())
