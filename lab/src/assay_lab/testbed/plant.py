"""Planting: texts that a model will be trained on, texts that are held out, and texts that nothing is fitted on.

    member                  trained on and judged
    nonmember               held out and judged
    calibration-member      trained on; fits thresholds
    calibration-nonmember   held out; fits thresholds and calibrates p-values
    unseen                  clean: nothing is fitted on it; does a false-positive rate hold?

A group (package, task, project) lies in a single part, so text that members of a group share is not mistaken for
membership.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.datasets import Dataset
from assay.errors import DataError
from assay.evaluation import ShingleIndex
from assay.files import atomic_path, write_text
from assay.models import combined
from assay.scoring import problem_of
from assay.types import MEMBER, NONMEMBER, Sample
from assay_lab.columns import having, of_length, text_column
from assay_lab.mappings import enumerated
from assay_lab.testbed.configuration import ALL, PlantSettings

PARTS: Mapping[str, str] = {
    "member": MEMBER,
    "nonmember": NONMEMBER,
    "calibration-member": MEMBER,
    "calibration-nonmember": NONMEMBER,
    "unseen": NONMEMBER,
}
"""Part → label."""

TEXTS = "texts.parquet"
MEMBERS = "members.jsonl"
FOLDER = "plant"


@dataclass(frozen=True, slots=True)
class Planted:
    """Texts of known truth.

    Attributes:
        samples: label "member" / "nonmember", metadata `part`; by part, then by id.
        left_out: reason → number of texts.
        notes: of the source.
    """

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the texts, their order, languages, groups and parts."""
        return combined([[s.id, s.text, s.language, s.group, s.metadata["part"]] for s in self.samples])

    def part(self, *names: str) -> tuple[Sample, ...]:
        """The samples of these parts."""
        return tuple(sample for sample in self.samples if sample.metadata["part"] in names)

    @property
    def trained(self) -> tuple[Sample, ...]:
        """The texts that the model is trained on."""
        return tuple(having(self.samples, label=MEMBER))


def part_column(samples: Iterable[Sample]) -> NDArray[np.str_]:
    """Return the part of each sample."""
    return np.array([str(sample.metadata["part"]) for sample in samples])


def plant(
    dataset: Dataset,
    data: PlantSettings,
    *,
    seed: int,
    easiest: Sequence[bool | None] | None = None,
    elsewhere: Dataset | None = None,
) -> Planted:
    """Assign texts to parts.

    Args:
        dataset: the candidates; labels are ignored.
        data: sizes of the parts, and limits of length and similarity.
        seed: another seed gives another split.
        easiest: for each sample, whether the base model finds it easier than its variants (None where there are too
            few variants); only texts with False stay. None leaves out nothing.
        elsewhere: candidates of the parts that are not judged; None for those of `dataset`.

    Raises:
        DataError: too few texts or groups for the parts.
    """
    least, most = data.characters
    left_out: Counter[str] = Counter()
    sized, easy_flags = [], easiest if easiest is not None else [False] * len(dataset.samples)
    for sample, easy in zip(dataset.samples, easy_flags, strict=True):
        if not least <= len(sample.text) <= most:
            left_out[f"shorter than {least} or longer than {most} characters"] += 1
        elif easy is None:
            left_out["filter: too few variants"] += 1
        elif easy:
            left_out["filter: the base model finds it easier than all its variants"] += 1
        else:
            sized.append(sample)
    ordered = sorted(sized, key=lambda sample: _draw(seed, sample.id))
    others = of_length(elsewhere.samples, *data.characters) if elsewhere else []
    ordered += sorted(others, key=lambda sample: _draw(seed, sample.id))
    # own texts come first, so that of two alike the one from elsewhere is left out
    fresh = ShingleIndex(text_column(ordered)).first_of_each_kind(data.near_duplicate)
    distinct = list(compress(ordered, fresh))
    left_out["near-duplicate of another"] += len(ordered) - len(distinct)
    sizes = {
        "calibration-member": data.calibration_members,
        "calibration-nonmember": data.calibration_nonmembers,
        "unseen": data.unseen,
    }
    own = distinct
    assigned: list[Sample] = []
    if elsewhere:
        # the distinct texts keep their order: those of the source itself are the first
        own = distinct[: int(fresh[: len(sized)].sum())]
        assigned = _assigned(distinct[len(own) :], data, seed=seed, sizes=sizes)
        sizes = {}
    room = _room(own, data)
    # one half of what is left is trained on, the other is held out
    members = (room - sum(sizes.values())) // 2 if data.members == ALL else int(data.members)
    if members < 1:
        raise DataError(f"{room} texts are there for members = {data.members!r} and {sum(sizes.values())} others")
    assigned += _assigned(own, data, seed=seed, sizes={"member": members, "nonmember": members, **sizes})
    left_out["not needed"] += len(distinct) - len(assigned)
    places = list(PARTS)
    samples = sorted(assigned, key=lambda sample: (places.index(str(sample.metadata["part"])), sample.id))
    return Planted(tuple(samples), dict(+left_out), dataset.notes)


def _grouped(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Return the texts by group; a text without a group is one of its own."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.group if sample.group is not None else f"\0{sample.id}", []).append(sample)
    return groups


def _room(samples: Iterable[Sample], data: PlantSettings) -> int:
    """Return how many texts can be taken."""
    return sum(min(len(group), data.per_group) for group in _grouped(samples).values())


def _assigned(samples: Sequence[Sample], data: PlantSettings, seed: int, sizes: Mapping[str, int]) -> list[Sample]:
    """Assign whole groups to parts, in the order of a hash, each to the part that is the least full."""
    groups = _grouped(samples)
    chosen: list[Sample] = []
    missing = dict(sizes)
    # groups of several texts may leave a place or two empty
    is_least = data.members == ALL and "member" in sizes
    for name in sorted(groups, key=lambda name: _draw(seed, name)):
        # the part that lacks the largest share of its texts
        part = max(missing, key=lambda part: missing[part] / max(1, sizes[part]))
        drawn = groups[name][: min(data.per_group, missing[part])]
        missing[part] -= len(drawn)
        chosen += [replace(s, label=PARTS[part], metadata={**s.metadata, "part": part}) for s in drawn]
    if any(missing.values()) and not is_least:
        room = _room(samples, data)
        requested = enumerated(sizes, "{1} {0}")
        raise DataError(
            f"{sum(sizes.values())} texts are requested ({requested}); "
            f"{room} are there, from {len(groups)} groups of at most {data.per_group} each"
        )
    return chosen


def write_planted(folder: Path, planted: Planted) -> None:
    """Write the texts, and beside them id, group, part and digest of each, without the text.

    Raises:
        DataError: the files cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows, lines = [], []
    for sample in planted.samples:
        about_text = {"id": sample.id, "group": sample.group, "part": sample.metadata["part"]}
        lines.append(json.dumps(about_text | {"sha256": _sha256(sample.text)}, ensure_ascii=False) + "\n")
        problem = problem_of(sample)
        # of a text that is its own solution, nothing more is needed to replace its test cases
        code = problem.code if problem and problem.code != sample.text else None
        row = {"id": sample.id, "text": sample.text, "language": sample.language, "code": code}
        rows.append(row | {"group": sample.group, "part": sample.metadata["part"]})
    about = {"left_out": dict(planted.left_out), "notes": list(planted.notes)}
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"about": json.dumps(about)})
    write_text(folder / MEMBERS, "".join(lines))
    # the texts come last: a folder that has them is complete, and a resumed run reads it
    with atomic_path(folder / TEXTS) as unfinished:
        pq.write_table(table, unfinished)


def read_planted(folder: Path) -> Planted:
    """Return the texts of a run folder.

    Raises:
        DataError: the folder holds no planted texts.
    """
    try:
        table = pq.read_table(folder / TEXTS)
        about = json.loads(table.schema.metadata[b"about"])
        samples = tuple(map(_read_sample, table.to_pylist()))
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: expected texts that `assay lab testbed plant` wrote") from error
    return Planted(samples, about["left_out"], tuple(about["notes"]))


def _read_sample(row: Mapping[str, str]) -> Sample:
    part, code = row["part"], row.get("code")
    return Sample(
        row["id"],
        text=row["text"],
        language=row["language"],
        label=PARTS[part],
        group=row["group"],
        metadata={"part": part, "code": code} if code else {"part": part},
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
