"""Sizes of the pools of the reliability grid, by scale, and how the base model is trained on the members."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.errors import DataError
from assay.models import builtin_name
from assay.training import TrainingSettings
from assay_lab.experiments.bench import Bench
from assay_lab.testbed import is_file

BASE_MODEL = "builtin:small"
SOURCES, SHIFTED = "sources", "shifted"
"""Names under which a user gives folders of packages: the texts of the pools, and those of another kind or time."""
RENAMED = "renamed"
Dtype = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Size of the pools of one seed, and their plants.

    Attributes:
        members: number of texts that are trained on.
        siblings: number of texts of the same projects, not trained on.
        clean: number of texts of other projects.
        unseen: number of texts of further projects, which calibrate.
        shifted: number of texts of the standard library, or of the folder `SHIFTED`, which are of other years.
        per_project: most texts of a project in each role; of siblings, and of shifted texts of a folder, three times
            as many.
        characters: shortest and longest text.
        plants: how the base model is trained on the members.
        fresh: draw from packages; else from the standard library alone, for a quick try.
        draws: benchmarks of each cell.
        tuned: of them, those on which the methods run that fine-tune, in the smallest cells; 0 for other models than
            `BASE_MODEL`.
        context: run CoDeC, which costs three times as much as all scores.
    """

    members: int = 120
    siblings: int = 60
    clean: int = 170
    unseen: int = 120
    shifted: int = 60
    per_project: int = 6
    characters: tuple[int, int] = (150, 600)
    plants: Mapping[str, TrainingSettings] = field(default_factory=lambda: plants(3))
    fresh: bool = True
    draws: int = 8
    tuned: int = 1
    context: bool = True

    @property
    def sizes(self) -> Mapping[str, int]:
        """Role → number of texts."""
        return {
            "member": self.members,
            "sibling": self.siblings,
            "clean": self.clean,
            "unseen": self.unseen,
            "shifted": self.shifted,
        }


def plants(
    epochs: int,
    *,
    further: tuple[int, ...] = (),
    rates: tuple[float, float] = (1e-3, 3e-3),
    batch: int = 8,
    dtype: Dtype = "float32",
) -> dict[str, TrainingSettings]:
    """Return name → how the base model is trained on the members.

    Args:
        epochs: of each.
        further: other numbers of epochs, with all weights; each is a plant of its own.
        rates: of full training and of LoRA.
        batch: texts of a step.
        dtype: of what is computed; in bfloat16 texts of a step run alone, so that nothing is computed on padding.
    """
    full = TrainingSettings(
        method="full",
        rate=rates[0],
        batch=batch,
        epochs=epochs,
        checkpoints=(),
        dtype=dtype,
        micro=1 if dtype == "bfloat16" else None,
    )
    more = {f"constant rate, {times(number)}": replace(full, epochs=number) for number in further}
    return {"constant rate": full, **more, "LoRA": replace(full, method="lora", rate=rates[1]), RENAMED: full}


def times(epochs: int) -> str:
    """Return a number of epochs in words."""
    return "1 epoch" if epochs == 1 else f"{epochs} epochs"


SCALES = {
    "smoke": PoolSettings(
        members=24,
        siblings=12,
        clean=70,
        unseen=24,
        shifted=12,
        per_project=2,
        plants=plants(1),
        fresh=False,
        draws=2,
        tuned=0,
    ),
    "full": PoolSettings(),
    "paper": PoolSettings(
        members=500, siblings=164, clean=500, unseen=300, shifted=164, per_project=12, plants=plants(5), draws=40
    ),
}
FOR_EVERY_CELL = replace(
    SCALES["full"],
    members=164,
    siblings=164,
    clean=500,
    unseen=160,
    shifted=164,
    plants=plants(3, further=(1, 8)),
    context=False,
)
"""Pools at scale `full` with a folder of packages: 500 texts of which up to a third were trained on."""
OTHER_MODEL = PoolSettings(
    members=50,
    siblings=0,
    clean=80,
    unseen=80,
    shifted=0,
    per_project=5,
    plants={"LoRA": plants(3, rates=(5e-5, 5e-4), batch=4, dtype="bfloat16")["LoRA"]},
    draws=40,
    context=False,
)
"""Pools of a model of the user: one plant of 50 texts, for cells of 50; a model of 135 million parameters takes a core
about four minutes a seed."""
OTHER_SCALES = {
    "smoke": replace(
        OTHER_MODEL,
        members=6,
        clean=50,
        unseen=8,
        plants={"LoRA": replace(OTHER_MODEL.plants["LoRA"], epochs=1)},
        draws=2,
    ),
    "full": OTHER_MODEL,
    "paper": replace(OTHER_MODEL, members=500, siblings=164, clean=500, unseen=300, per_project=12, context=True),
}


def base_model_of(bench: Bench) -> str:
    """Return the model that is planted.

    Raises:
        DataError: the user names several.
    """
    if len(bench.models) > 1:
        raise DataError(f"--model given {len(bench.models)} times: expected one model a folder")
    return bench.models[0] if bench.models else BASE_MODEL


def pool_settings_of(bench: Bench) -> PoolSettings:
    """Return the settings of a bench.

    Raises:
        DataError: the scale has no pools, the data have another name than `SOURCES` and `SHIFTED` or are no folder, or
            a model that is not `BASE_MODEL` has no sources.
    """
    base = base_model_of(bench)
    scales = SCALES if builtin_name(base) else OTHER_SCALES
    if bench.scale not in scales or is_file(bench.scale):
        raise DataError(f"scale {bench.scale!r}: expected one of {', '.join(scales)}")
    if unknown := bench.data.keys() - {SOURCES, SHIFTED}:
        raise DataError(f"--data {min(unknown)}=…: expected {SOURCES}=DIR or {SHIFTED}=DIR, folders of packages")
    if SOURCES not in bench.data and (base != BASE_MODEL or SHIFTED in bench.data):
        raise DataError(
            f"--model {base}: expected --data {SOURCES}=DIR too, packages that the model was not trained on"
        )
    for name, folder in bench.data.items():
        if not folder.is_dir():
            raise DataError(f"--data {name}={folder}: no such folder; expected a folder of packages")
    settings = scales[bench.scale]
    if SOURCES in bench.data:
        # a folder of packages gives texts enough for the largest cells
        is_enlarged = scales is SCALES and bench.scale == "full"
        settings = FOR_EVERY_CELL if is_enlarged else replace(settings, fresh=True)
    if base == BASE_MODEL:
        return settings
    shifted = min(settings.members, settings.clean) if SHIFTED in bench.data else 0
    return replace(settings, shifted=shifted, tuned=0)
