"""The configuration of a controlled experiment: texts, model, training, detectors.

A configuration is a TOML file; `configuration.json` in the run folder has every default. Unknown keys and values
of the wrong kind are refused.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from assay.errors import DataError, ScoreError, plain_reason
from assay.files import parse_json
from assay.scores import DETECTORS, detectors_of
from assay.scoring import DETERMINISTIC, NAMES, Change
from assay.training import TrainingSettings
from assay_lab.columns import without
from assay_lab.methods.fitted import FittedDetector

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NEVER_SEEN = "never-seen"
FRESH = "fresh"
TRAINING_FILES = "training-files"
ALL = "all"
"""Value of `members`: all texts that pass the filter, one half trained on."""
SCALES = ("smoke", "full", "paper")
NamesFrom = Literal["dictionary", "synonyms", "self"]
"""Source of the names in rewritings; "self" is the judged checkpoint."""
Ties = Literal["strict", "inclusive"]
TESTS: Change = "tests"
FittedSettings = Mapping[str, Mapping[str, bool | int | float | str]]
"""Fitted detector → setting → value, where it is not the default, which follows the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantSettings:
    """Texts that are planted, and their split into parts.

    Attributes:
        source: "never-seen" (functions of this Python's standard library that `builtin:small` never saw), "fresh" (the
            same, and functions of installed packages outside its training data), a benchmark's name, or a path.
        path: of a benchmark: its file or folder.
        text, group, language, split, part, subset, limit: as `assay audit` takes them.
        members: texts that are trained on and judged; as many others are held out and judged. "all": half of those that
            are there and pass the filter, as in the paper.
        calibration_members: texts that are trained on and fit thresholds.
        calibration_nonmembers: texts that are held out, fit thresholds and calibrate.
        unseen: clean texts that nothing was fitted on.
        calibration_source: name of a benchmark or a path where the other parts come from; None for `source`. They are
            then not filtered.
        per_group: most texts taken from one group.
        characters: shortest and longest text.
        near_duplicate: share of the smaller text's 5-token shingles that makes two texts near-duplicates.
        filter: the paper's: drop what the base model finds easier than all its variants.
    """

    source: str = NEVER_SEEN
    path: str | None = None
    text: str | None = None
    group: str | None = None
    language: str | None = None
    split: str | None = None
    part: str | None = None
    subset: str | None = None
    limit: int | None = None
    members: int | Literal["all"] = 200
    calibration_members: int = 60
    calibration_nonmembers: int = 120
    unseen: int = 100
    calibration_source: str | None = None
    per_group: int = 12
    characters: tuple[int, int] = (1, 1_000_000)
    near_duplicate: float = 0.5
    filter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralTextSettings:
    """The general text that members are mixed with.

    Attributes:
        corpus: "training-files" (package files that `builtin:small` was trained on), a benchmark's name, or a path.
        path, text, limit: as in `PlantSettings`.
        ratio: tokens of general text for each token of the members; 0 for none.
    """

    corpus: str = TRAINING_FILES
    path: str | None = None
    text: str | None = None
    limit: int | None = None
    ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """Measurements on every checkpoint.

    Attributes:
        detectors: names of detectors; none means all that read token probabilities, `black` all that
            need only what the model writes.
        variants: rewritings of each text.
        names: source of the names in rewritings: a word list, or "self" for the judged checkpoint.
        rename: "all" names in each rewriting, as SrDetection does, or "one".
        engine: of the rewritings: ours, or the name of a model, which gets SrDetection's prompts (Tables 7 and 8).
        changes: what a rewriting changes: names, and with "tests" the test cases that a text states.
        ties: "inclusive" if a rule calls a text leaked that only equals its best variant (Algorithm 1 of SrDetection).
        settings: of fitted detectors; those without an entry have their defaults, which follow the paper.
        unseen_one_pass: spare the clean texts whatever costs more than one pass each, as rewritings do.
        resamples: behind every interval.
        device: where models are scored: as `assay audit --device`.
        dtype: as a model's dtype.
    """

    detectors: tuple[str, ...] = ()
    variants: int = 10
    names: NamesFrom = "dictionary"
    rename: Literal["all", "one"] = "all"
    engine: str = DETERMINISTIC
    changes: tuple[Change, ...] = NAMES
    ties: Ties = "strict"
    settings: FittedSettings = field(default_factory=dict, hash=False)
    unseen_one_pass: bool = False
    resamples: int = 1000
    device: str = "auto"
    dtype: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One controlled experiment, from texts to tables.

    Attributes:
        model: the base model, as everywhere: `builtin:small`, a folder or a hub id.
        revision: branch, tag or commit of a hub model.
        seed: of the split, of the order of training and of every resampling.
    """

    name: str = "run"
    model: str = "builtin:small"
    revision: str | None = None
    seed: int = 0
    data: PlantSettings = field(default_factory=PlantSettings)
    mix: GeneralTextSettings = field(default_factory=GeneralTextSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    judging: EvaluationSettings = field(default_factory=EvaluationSettings)


def read_configuration(path: Path) -> Configuration:
    """Read a configuration from a TOML or JSON file.

    Raises:
        DataError: the file cannot be read, or holds anything that a configuration does not have.
    """
    return configuration_from(parsed_configuration(path), str(path))


def parsed_configuration(path: Path) -> Any:  # noqa: ANN401  whatever the file holds
    """Return the content of a TOML or JSON file, unchecked.

    Raises:
        DataError: the file cannot be read, or is neither.
    """
    try:
        text = path.read_text("utf-8")
        return parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a configuration file") from error
    except ValueError as error:
        raise DataError(f"{path}: expected a configuration in TOML ({plain_reason(error)})") from error


def configuration_from(values: object, source: str) -> Configuration:
    """Return the configuration of the parsed content of a TOML or JSON file.

    Raises:
        DataError: an unknown key, a value of the wrong kind, or values that contradict each other.
    """
    # not by decorators, because `TrainingSettings` is the product's, which has no pydantic
    strict = with_config(ConfigDict(extra="forbid"))
    for part in (PlantSettings, GeneralTextSettings, TrainingSettings, EvaluationSettings, Configuration):
        strict(part)
    try:
        # JSON, because a list is a tuple there even where values are taken strictly
        configuration = TypeAdapter(Configuration).validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        # of a value that may be of two types the last part is a type
        where = (
            ".".join(map(str, first["loc"][:2] if first["loc"][1:2] == ("members",) else first["loc"])) or "the file"
        )
        raise DataError(f"{source}: {where} = {first['input']!r}: {first['msg'].lower()}") from error
    check(configuration, source)
    return configuration


def check(configuration: Configuration, source: str) -> None:
    """Make sure that the values are possible together.

    Raises:
        DataError: they are not; the line names the first.
    """
    data, training = configuration.data, configuration.training
    epochs = training.checkpoints
    rules = (
        (
            isinstance(data.members, str) or data.members >= 1,
            f"data.members = {data.members}: expected at least 1, or all",
        ),
        (data.calibration_members >= 2, f"data.calibration_members = {data.calibration_members}: expected at least 2"),  # noqa: PLR2004
        (
            data.calibration_nonmembers >= 20,  # noqa: PLR2004  as `assay.evaluation.calibration` asks
            f"data.calibration_nonmembers = {data.calibration_nonmembers}: expected at least 20",
        ),
        (data.unseen >= 0, f"data.unseen = {data.unseen}: expected 0 or more"),
        (data.per_group >= 1, f"data.per_group = {data.per_group}: expected at least 1"),
        (0 < data.near_duplicate <= 1, f"data.near_duplicate = {data.near_duplicate}: expected a share above 0"),
        (configuration.mix.ratio >= 0, f"mix.ratio = {configuration.mix.ratio}: expected 0 or more"),
        (training.rate > 0, f"training.rate = {training.rate}: expected a rate above 0"),
        (training.batch >= 1, f"training.batch = {training.batch}: expected at least 1"),
        (training.processes >= 1, f"training.processes = {training.processes}: expected at least 1"),
        (training.epochs >= 1, f"training.epochs = {training.epochs}: expected at least 1"),
        (
            bool(epochs) and list(epochs) == sorted(set(epochs)) and epochs[0] >= 1 and epochs[-1] <= training.epochs,
            f"training.checkpoints = {list(epochs)}: expected rising epochs from 1 to {training.epochs}",
        ),
        (
            configuration.judging.variants >= 1,
            f"judging.variants = {configuration.judging.variants}: expected at least 1",
        ),
        (
            configuration.judging.resamples >= 1,
            f"judging.resamples = {configuration.judging.resamples}: expected at least 1",
        ),
        (bool(configuration.judging.changes), "judging.changes = []: expected some of function, variable, tests"),
        (
            configuration.judging.engine == DETERMINISTIC
            or (configuration.judging.names, configuration.judging.rename) == ("dictionary", "all"),
            f"judging.engine = {configuration.judging.engine!r} chooses names itself: expected no names and no rename",
        ),
    )
    for holds, message in rules:
        if not holds:
            raise DataError(f"{source}: {message}")
    for name, values in configuration.judging.settings.items():
        detector = DETECTORS.get(name)
        if not isinstance(detector, FittedDetector):
            names = ", ".join(detectors_of(FittedDetector))
            raise DataError(f"{source}: judging.settings.{name}: expected a fitted detector ({names})")
        try:
            configured(detector, values)
        except ScoreError as error:
            raise DataError(f"{source}: judging.settings.{name}: {error}") from error


def configured(detector: FittedDetector, values: Mapping[str, object]) -> "DataclassInstance":
    """Return the settings of a detector with these values in place of the defaults.

    Args:
        detector: with settings.
        values: setting → its value.

    Raises:
        ScoreError: there is no such setting, or a value is of the wrong kind.
    """
    defaults = asdict(detector.settings)
    if unknown := without(values, defaults):
        raise ScoreError(f"{unknown[0]!r} is no setting of {detector.name}, which takes {', '.join(defaults)}")
    try:
        # through JSON, so that pydantic checks settings of Python as strictly as those of a file
        content = json.dumps({**defaults, **values}, default=str)
        settings: DataclassInstance = TypeAdapter(type(detector.settings)).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = first["loc"][0]
        raise ScoreError(f"{name} of {detector.name} is {values[str(name)]!r}: {first['msg'].lower()}") from error
    return settings


def scale(name: str) -> tuple[Configuration, ...]:
    """Return the configurations that ship as a scale, one a model; or that of a file.

    Raises:
        DataError: no such scale, or a file that is no configuration.
    """
    if is_file(name):
        return (read_configuration(Path(name)),)
    if name not in SCALES:
        raise DataError(f"scale {name!r}: expected one of {', '.join(SCALES)}, or a configuration file (.toml, .json)")
    folder = files("assay_lab.testbed").joinpath("scales")
    # "full.toml" and "full-MODEL.toml" are of the scale full
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.split(".")[0].split("-")[0] == name)
    return tuple(configuration_from(tomllib.loads(folder.joinpath(n).read_text("utf-8")), n) for n in names)


def is_file(name: str) -> bool:
    """Return whether a name is that of a configuration file."""
    return Path(name).suffix in (".toml", ".json")


def as_json(configuration: Configuration) -> str:
    """Return the configuration with every default, as JSON."""
    return json.dumps(asdict(configuration), indent=1) + "\n"
