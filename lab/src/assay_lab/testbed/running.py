"""A controlled experiment end to end: plant, train, evaluate. Each stage is on disk before the next begins.

configuration.json      the whole configuration, with every default
manifest.json           versions, digests of texts, model and checkpoints, seconds of each stage
plant/members.jsonl     id, group, part and digest of each text; plant/texts.parquet has the texts
train/loss.jsonl        the loss curve; train/epoch-N/ the checkpoints; train/state.pt the last state;
                        train/inputs.json all that the checkpoints depend on
replies.sqlite          what a model that rewrites answered; rewriting.json: how many replies were rejected, and why
scores/epoch-N.parquet  every detector's values on a checkpoint, each column with the digest of what it depends on
evaluation.json         AUROC, decisions and rates of the detectors
"""

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assay import __version__
from assay.errors import AssayError, DataError, MissingExtra
from assay.files import check_target_folder, parse_json, write_json, write_text
from assay.models import Checkpoint, ModelSettings, combined, files_digest, load_checkpoint
from assay.scoring import Progress
from assay.training import Ids, TrainingProgress, member_rows
from assay_lab.columns import text_column
from assay_lab.testbed.configuration import Configuration, as_json, read_configuration
from assay_lab.testbed.evaluate import evaluate, filter_verdicts
from assay_lab.testbed.evaluation_result import Evaluation
from assay_lab.testbed.plant import FOLDER, TEXTS, Planted, plant, read_planted, write_planted
from assay_lab.testbed.rewriting import REPLIES
from assay_lab.testbed.sources import calibrating, general_texts, plantable
from assay_lab.training.finetuning import TRAIN, Task, checkpoint_folder, finetune
from assay_lab.training.processes import launched
from assay_lab.training.recipes import keep_recipe
from assay_lab.training.rows import general_rows, without_planted

CONFIGURATION = "configuration.json"
MANIFEST = "manifest.json"
INPUTS = "inputs.json"
CHECKPOINTS = "checkpoints"
"""Entry of the manifest: the digest of each checkpoint."""

PACKAGES = ("accelerate", "numpy", "peft", "scikit-learn", "scipy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Watchers:
    """Callbacks that report the progress of a run.

    Attributes:
        stage: called with the name of each stage as it begins.
        training: see `assay_lab.training.finetuning`.
        scoring: see `assay.scoring.run`.
    """

    stage: Callable[[str], None] | None = None
    training: TrainingProgress | None = None
    scoring: Progress | None = None

    def begin(self, stage: str) -> None:
        """Report that a stage begins."""
        if self.stage is not None:
            self.stage(stage)


ALONE = Watchers()


def run(out: Path, configuration: Configuration, watchers: Watchers = ALONE) -> Evaluation:
    """Plant, train and evaluate in the folder `out`; finished stages are not repeated.

    Raises:
        DataError: `out` holds a run of another configuration, or cannot be written.
        AssayError: a stage cannot be done.
    """
    planted = trained(out, configuration, watchers)
    try:
        return evaluate_in(out, configuration, planted=planted, watchers=watchers)
    except OSError as error:
        raise _unwritable(out, error) from error


def trained(out: Path, configuration: Configuration, watchers: Watchers = ALONE) -> Planted:
    """Plant and train in the folder `out`, without evaluation; return the texts.

    Raises:
        DataError: `out` holds a run of another configuration, or cannot be written.
        AssayError: a stage cannot be done.
    """
    try:
        planted = plant_in(out, configuration, watchers)
        train_in(out, configuration, planted=planted, watchers=watchers)
    except OSError as error:
        raise _unwritable(out, error) from error
    return planted


def plant_in(out: Path, configuration: Configuration, watchers: Watchers = ALONE) -> Planted:
    """Choose the texts, or read those of an earlier call.

    Raises:
        DataError: `out` holds a run of another configuration, or texts of a file that has changed since.
    """
    keep_configuration(out, configuration)
    if (out / FOLDER / TEXTS).exists():
        check_source(out, configuration)
        return read_planted(out / FOLDER)
    watchers.begin("planting")
    began = time.monotonic()
    dataset = plantable(configuration.data)
    verdicts = None
    if configuration.data.filter:
        verdicts = filter_verdicts(out, configuration, dataset.samples, progress=watchers.scoring)
    elsewhere = calibrating(configuration.data)
    planted = plant(dataset, configuration.data, seed=configuration.seed, easiest=verdicts, elsewhere=elsewhere)
    filtered_by = files_digest(_base(configuration).folders) if configuration.data.filter else None
    source = {"source": dataset.source, "source_digest": dataset.digest, "filtered_by": filtered_by}
    note(out, {**source, "seconds_planting": _since(began)})
    write_planted(out / FOLDER, planted)
    return planted


def check_source(out: Path, configuration: Configuration) -> None:
    """Make sure that a run was planted from the file, and filtered by the base model, as they are now.

    Texts of this Python's own library and packages stay as they were planted: they are the run's record of them.

    Raises:
        DataError: the file or the base model has changed.
    """
    stored, data = manifest_of(out), configuration.data
    place = Path(data.path or data.source)
    changed = place.exists() and plantable(data).digest != stored.get("source_digest")
    if data.filter:
        changed |= files_digest(_base(configuration).folders) != stored.get("filtered_by")
    if changed:
        raise DataError(
            f"{out / FOLDER} was planted before its source or its base model changed; expected the same ones: "
            "take another folder, or remove this one"
        )


def train_in(out: Path, configuration: Configuration, planted: Planted, watchers: Watchers = ALONE) -> None:
    """Train the checkpoints that are missing, in as many processes as the settings say.

    Raises:
        DataError: the checkpoints there are of other texts, settings or another base model, or no text of the run
            is long enough to train on.
    """
    training, folder = configuration.training, out / TRAIN
    base = _base(configuration)
    check_inputs(folder, training_inputs(configuration, planted, files_digest(base.folders)))
    # the digests come last: a run without them was killed before its last state was written
    kept = all(checkpoint_folder(folder, epoch).is_dir() for epoch in training.checkpoints)
    if kept and CHECKPOINTS in manifest_of(out):
        return
    watchers.begin("training")
    began = time.monotonic()
    # a process that `_launch` started comes here as well
    if training.processes > 1 and not launched():
        _launch(out, training.processes)
    else:
        task, facts = task_of(configuration, planted, base)
        finetune(folder, task, progress=watchers.training)
        if facts:
            note(out, facts)
    if not launched():
        digests = {f"epoch {e}": files_digest([checkpoint_folder(folder, e)]) for e in training.checkpoints}
        note(out, {CHECKPOINTS: digests, "seconds_training": _since(began)})


def training_inputs(configuration: Configuration, planted: Planted, base_digest: str) -> dict[str, object]:
    """Return all that the checkpoints of a run depend on."""
    mix = configuration.mix
    # general text on this machine may change between two calls; that of the hub is named by the settings
    local = next((Path(place) for place in (mix.path, mix.corpus) if place and Path(place).exists()), None)
    general = list(general_texts(mix, configuration.seed)) if mix.ratio and local else []
    return {
        "texts_sha256": planted.digest,
        "base_sha256": base_digest,
        "training": asdict(configuration.training),
        "mix": asdict(mix),
        "mix_sha256": combined(general),
        "seed": configuration.seed,
    }


def check_inputs(folder: Path, inputs: Mapping[str, object]) -> None:
    """Record the inputs of a training, or make sure that the training there is of these.

    Raises:
        DataError: it is of others, or of an earlier version, which recorded none.
    """
    path = folder / INPUTS
    if not path.exists() and any(folder.glob("epoch-*")):
        raise DataError(f"{folder} was trained by an earlier version, without a record of its inputs; remove it")
    keep_recipe(path, inputs)


def evaluate_in(out: Path, configuration: Configuration, planted: Planted, watchers: Watchers = ALONE) -> Evaluation:
    """Score what is not scored yet, and judge.

    Raises:
        DataError: the checkpoints are of other texts, settings or another base model.
    """
    if (out / TRAIN).exists():
        base_digest = files_digest(_base(configuration).folders)
        check_inputs(out / TRAIN, training_inputs(configuration, planted, base_digest))
    watchers.begin("scoring")
    began = time.monotonic()
    result = evaluate(out, configuration, planted, progress=watchers.scoring)
    note(out, {"seconds_evaluating": _since(began)})
    return result


def task_of(configuration: Configuration, planted: Planted, base: Checkpoint) -> tuple[Task, Mapping[str, object]]:
    """Return the rows to train on, and the facts on the general text for the record."""
    context = configuration.training.context or int(base.model.config.get_text_config().max_position_embeddings)
    tokenizer = base.tokenizer
    members = member_rows(tokenizer, text_column(planted.trained), context=context)
    general: list[Ids] = []
    facts: dict[str, object] = {}
    if configuration.mix.ratio:
        tokens_needed = round(configuration.mix.ratio * sum(map(len, members)))
        # a held-out text in the general text would be trained on
        texts = without_planted(
            general_texts(configuration.mix, configuration.seed),
            text_column(planted.samples),
            configuration.data.near_duplicate,
        )
        general, documents = general_rows(tokenizer, texts, tokens=tokens_needed, context=context)
        tokens = sum(map(len, general))
        facts = {"general_text": {"wanted_tokens": tokens_needed, "tokens": tokens, "documents": documents}}
    task = Task(
        model=configuration.model,
        revision=configuration.revision,
        members=members,
        general=general,
        training=configuration.training,
        seed=configuration.seed,
    )
    return task, facts


def keep_configuration(out: Path, configuration: Configuration) -> None:
    """Write the configuration, or make sure that the run in the folder is one of this configuration.

    Raises:
        DataError: it is not, or the folder cannot be written.
    """
    path = out / CONFIGURATION
    if path.exists():
        if read_configuration(path) != configuration:
            raise DataError(f"{out} holds a run of another configuration; expected the same one, or another folder")
    else:
        check_target_folder(out, (FOLDER, REPLIES), "assay lab testbed plant")
        out.mkdir(parents=True, exist_ok=True)
        write_text(path, as_json(configuration))
    # versions are those of the first call
    if "assay" in manifest_of(out):
        return
    note(
        out,
        {
            "kind": "testbed",
            "assay": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": {name: number for name in PACKAGES if (number := _version(name))},
            "command": ["assay", *sys.argv[1:]],
        },
    )


def configuration_in(out: Path) -> Configuration:
    """Return the configuration of the run in a folder.

    Raises:
        DataError: there is none.
    """
    if not (out / CONFIGURATION).is_file():
        raise DataError(f"{out} holds no controlled experiment; expected a folder that `assay lab testbed plant` wrote")
    return read_configuration(out / CONFIGURATION)


def reconfigure(out: Path, **parts: Any) -> Configuration:  # noqa: ANN401  parts of a Configuration by name
    """Change parts of the configuration of a run that is planted but not trained.

    Raises:
        DataError: it is trained with other settings.
    """
    result = replace(configuration_in(out), **parts)
    if result != configuration_in(out):
        stored = configuration_in(out)
        if (out / TRAIN).exists() and (result.training, result.mix) != (stored.training, stored.mix):
            raise DataError(f"{out} is trained with other settings; expected the same ones, or another folder")
        write_text(out / CONFIGURATION, as_json(result))
    return result


def manifest_of(out: Path) -> dict[str, Any]:
    """Return the record of a run: versions, digests and seconds."""
    path = out / MANIFEST
    result: dict[str, Any] = parse_json(path.read_text("utf-8")) if path.exists() else {}
    return result


def note(out: Path, facts: Mapping[str, object]) -> None:
    """Add facts to the record of a run: a value replaces the value of the same name, seconds are added up."""
    stored = manifest_of(out)
    for key, value in facts.items():
        stored[key] = round(stored.get(key, 0) + value, 1) if isinstance(value, float) else value
    write_json(out / MANIFEST, stored)


TRAIN_COMMAND = ("lab", "testbed", "train")
"""The command that each of several processes runs."""


def _launch(out: Path, processes: int) -> None:
    """Train in several processes: accelerate starts `assay lab testbed train` once for each."""
    if not _version("accelerate"):
        raise MissingExtra("accelerate", purpose="training in several processes")
    command = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", str(processes)]
    result = configuration_in(out)
    if result.training.device == "cpu" or not _cuda():
        command.append("--cpu")
    done = subprocess.run([*command, "-m", "assay", *TRAIN_COMMAND, str(out)], check=False)  # noqa: S603  our own command
    if done.returncode:
        raise AssayError(f"training in {processes} processes ended with code {done.returncode}; see the lines above")


def _base(configuration: Configuration) -> Checkpoint:
    """Return the base model, for its tokenizer and its files."""
    return load_checkpoint(configuration.model, ModelSettings(revision=configuration.revision, device="cpu"))


def _cuda() -> bool:
    import torch  # noqa: PLC0415

    return torch.cuda.is_available()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)


def _unwritable(out: Path, error: OSError) -> DataError:
    return DataError(f"{out}: {error.strerror or error}; expected a folder that can be written")
