"""Verdicts on benchmarks of known truth: how often `builtin:small` saw each of the texts is on record.

    python tests/support/known_truth.py     measure all cases and write tests/leakage/pinned_verdicts.json

The file changes only where the rule of the verdict is meant to change. The texts are functions of this interpreter's
standard library; the file has their digest, because another version of Python has other functions.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import assay
from assay import ScoreSelection
from assay.evaluation import Estimate
from assay.ground_truth import known_dose_functions
from assay.leakage import Audit, AuditSettings
from assay.types import MEMBER, NONMEMBER, Sample

PINNED = Path(__file__).parents[1] / "leakage" / "pinned_verdicts.json"
DOSES = (1, 2, 4, 8, 32)
CALIBRATING, JUDGED, PER_DOSE = 100, 140, 30
LONGEST = 700
"""Characters of a text; longer ones cost most of the time."""
HEADER = "# Licensed to the Example Foundation under one or more contributor agreements.\n"
"""In front of every text of a benchmark, it tells the benchmark from any unseen text without a model."""


@dataclass(frozen=True)
class Texts:
    """Texts by what the model has seen of them, without labels.

    Attributes:
        unseen: never seen, of modules that no other never-seen text is from; they calibrate.
        never: never seen, of other modules.
        seen: dose → functions that were seen so often.
        around: never seen, of the modules of the functions of dose 8.
    """

    unseen: list[Sample]
    never: list[Sample]
    seen: dict[int, list[Sample]]
    around: list[Sample]

    @property
    def digest(self) -> str:
        """Of all texts, in their order."""
        texts = [*self.unseen, *self.never, *self.around, *(s for dose in DOSES for s in self.seen[dose])]
        return hashlib.sha256("\0".join(sample.text for sample in texts).encode()).hexdigest()[:16]


def texts() -> Texts:
    """Return the texts that this interpreter has."""
    samples = [sample for sample in known_dose_functions().samples if len(sample.text) <= LONGEST]
    by_dose = {dose: [bare(s) for s in samples if s.metadata["dose"] == dose] for dose in (0, *DOSES)}
    order = np.random.default_rng(0).permutation(sorted({str(sample.group) for sample in by_dose[0]}))
    calibrating = set(order[: len(order) // 2])
    seen = {dose: by_dose[dose][:PER_DOSE] for dose in DOSES}
    modules = {sample.group for sample in seen[8]}
    return Texts(
        unseen=[s for s in by_dose[0] if s.group in calibrating][:CALIBRATING],
        never=[s for s in by_dose[0] if s.group not in calibrating][:JUDGED],
        seen=seen,
        around=[s for s in by_dose[0] if s.group in modules],
    )


def bare(sample: Sample) -> Sample:
    """Return a sample without its label and its dose: an audit gets texts alone."""
    return replace(sample, label=None, metadata={})


def labelled(samples: Sequence[Sample], label: str) -> list[Sample]:
    return [replace(sample, label=label) for sample in samples]


def headed(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, text=HEADER + sample.text) for sample in samples]


def halves(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Return the samples at even and at odd places: of the same modules, where two or more are of one."""
    ordered = sorted(samples, key=lambda sample: (str(sample.group), sample.id))
    return ordered[::2], ordered[1::2]


def in_one_group(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, group="one") for sample in samples]


def mixed(t: Texts, dose: int, seen: int, never: int) -> list[Sample]:
    return [*t.seen[dose][:seen], *t.never[:never]]


def shortest(samples: Sequence[Sample]) -> list[Sample]:
    """Return few short texts: generation costs much more than a forward pass."""
    return sorted(samples, key=lambda sample: (len(sample.text), sample.id))[:24]


@dataclass(frozen=True)
class Case:
    """One audit.

    Attributes:
        benchmark: what is audited.
        unseen: text to compare with; None without any.
        model: that is audited.
        settings: of the audit.
        scores: that are computed; the first decides.
        calibrated: the unseen text is given as a calibration file, which holds scores and no texts.
        same_form: the unseen text is given as text of the same form.
    """

    benchmark: Callable[[Texts], Sequence[Sample]]
    unseen: Callable[[Texts], Sequence[Sample]] | None = lambda t: t.unseen
    model: str = "builtin:small"
    settings: dict[str, object] = field(default_factory=dict)
    scores: ScoreSelection = field(default_factory=lambda: ScoreSelection("mid_pit"))
    calibrated: bool = False
    same_form: bool = False


NO_CONTROL: dict[str, object] = {"control": "none"}
BLACK = ScoreSelection("sr_black", access="black", variants=2)
CASES: dict[str, Case] = {
    "never seen, 140 texts": Case(lambda t: t.never),
    "never seen, 140 texts, without a control": Case(lambda t: t.never, settings=NO_CONTROL),
    "never seen, 40 texts": Case(lambda t: t.never[:40]),
    **{
        f"seen {dose} times, {PER_DOSE} texts": Case(lambda t, dose=dose: t.seen[dose])  # type: ignore[misc]
        for dose in DOSES
    },
    "seen 8 times, without a control": Case(lambda t: t.seen[8], settings=NO_CONTROL),
    "a fifth seen 8 times, 140 texts": Case(lambda t: mixed(t, 8, 28, 112)),
    "a tenth seen 8 times, 140 texts": Case(lambda t: mixed(t, 8, 14, 126)),
    "half seen 4 times, 60 texts": Case(lambda t: mixed(t, 4, 30, 30)),
    "half seen once, 60 texts": Case(lambda t: mixed(t, 1, 30, 30)),
    "seen 8 times, unseen text of the same projects": Case(lambda t: t.seen[8], lambda t: t.around),
    "never seen, unseen text of the same projects": Case(lambda t: halves(t.around)[0], lambda t: halves(t.around)[1]),
    "never seen, of projects of which other texts were seen": Case(lambda t: t.around),
    "seen 8 times, unseen text of the same form": Case(lambda t: t.seen[8], lambda t: t.around, same_form=True),
    "never seen, of a form of which other texts were seen": Case(
        lambda t: halves(t.around)[0], lambda t: halves(t.around)[1], same_form=True
    ),
    "seen 8 times, with a parent": Case(lambda t: t.seen[8], settings={"parent": "builtin:control"}),
    "seen 8 times, with labels": Case(
        lambda t: [*labelled(t.seen[8], MEMBER), *labelled(t.never[:60], NONMEMBER)], None
    ),
    "seen once, with labels": Case(lambda t: [*labelled(t.seen[1], MEMBER), *labelled(t.never[:60], NONMEMBER)], None),
    "never seen, with labels that mean nothing": Case(
        lambda t: [*labelled(t.never[:60], MEMBER), *labelled(t.never[60:120], NONMEMBER)], None
    ),
    "seen 32 times, 8 texts": Case(lambda t: t.seen[32][:8]),
    "seen 32 times, all of one group": Case(lambda t: in_one_group(t.seen[32])),
    "seen 32 times, without unseen text": Case(lambda t: t.seen[32], None, settings={"describe": True}),
    "seen 32 times, unseen text as a calibration file": Case(lambda t: t.seen[32], calibrated=True),
    "seen 32 times, by a score that carries no verdict": Case(lambda t: t.seen[32], scores=ScoreSelection("loss")),
    "seen 32 times, by weighted p-values": Case(lambda t: t.seen[32], settings={"weights": "length"}),
    "never seen, texts that differ": Case(lambda t: headed(t.never[:PER_DOSE])),
    "never seen, texts that differ, without a control": Case(lambda t: headed(t.never[:PER_DOSE]), settings=NO_CONTROL),
    "seen 8 times, texts that differ": Case(lambda t: headed(t.seen[8])),
    "seen 8 times, texts that differ, without a control": Case(lambda t: headed(t.seen[8]), settings=NO_CONTROL),
    "seen 8 times, texts that differ, confounds allowed": Case(
        lambda t: headed(t.seen[8]), settings={**NO_CONTROL, "allow_confounded": True}
    ),
    "seen 32 times by the control, not by the model": Case(lambda t: t.seen[32], model="builtin:control"),
    "seen by no model in use": Case(lambda t: t.seen[32], model="builtin:control", settings=NO_CONTROL),
    "seen 32 times, black box": Case(lambda t: shortest(t.seen[32]), lambda t: shortest(t.unseen), scores=BLACK),
    "never seen, black box": Case(lambda t: shortest(t.never), lambda t: shortest(t.unseen), scores=BLACK),
}
"""What is true of the texts, in words → the audit."""


def verdicts(t: Texts) -> dict[str, dict[str, object]]:
    """Return case → its verdict, the reason and the figures; token statistics are cached, so each text is read once."""
    return {name: outcome(audited(case, t)) for name, case in CASES.items()}


def audited(case: Case, t: Texts) -> Audit:
    """Run one audit."""
    unseen = None if case.unseen is None else list(case.unseen(t))
    settings = AuditSettings(**{"describe": True, **case.settings})  # type: ignore[arg-type]
    with TemporaryDirectory() as folder:
        if case.calibrated and unseen is not None:
            calibration = Path(folder) / "unseen.json"
            assay.calibrate(case.model, unseen, selection=case.scores, progress=False, out=calibration)
            settings, unseen = replace(settings, calibration=calibration), None
        return assay.audit(
            case.model,
            list(case.benchmark(t)),
            **{"same_form" if case.same_form else "unseen": unseen},
            scores=case.scores,
            settings=settings,
            progress=False,
        )


def outcome(audit: Audit) -> dict[str, object]:
    """Return what is pinned of an audit: figures have six digits."""
    decision, summary, test = audit.decision, audit.summary(audit.primary), audit.test
    found: dict[str, object] = {
        "verdict": decision.verdict.value,
        "reason": decision.reason and decision.reason.value,
    }
    if decision.set_aside:
        found["set aside"] = True
    if test is not None:
        found |= {"p": shortened(test.p_value), "p beyond familiar projects": shortened(test.p_beyond)}
        found |= {"share": interval(test.share.estimate), "upper bound": shortened(test.upper_bound())}
    if summary.form is not None:
        found["residual"] = interval(summary.form.residual.estimate)
        found["supported"] = shortened(summary.form.residual.supported)
    if summary.separation is not None:
        found["auroc"] = interval(summary.separation)
    if summary.calibration is not None:
        found["flagged"] = interval(summary.calibration.flagged.rate)
        if summary.calibration.control is not None:
            found["flagged by the control"] = interval(summary.calibration.control.flagged.rate)
    if audit.blind is not None:
        found["texts told apart"] = audit.blind.separates
    return found


def interval(estimate: Estimate) -> list[float | None]:
    """Return value, low and high."""
    return [shortened(number) for number in (estimate.value, estimate.low, estimate.high)]


def shortened(number: float) -> float | None:
    """Return six significant digits; None for NaN, which JSON does not have."""
    return None if np.isnan(number) else float(f"{number:.6g}")


def main() -> None:
    """Write the file."""
    known = texts()
    content = {"python": sys.version.split()[0], "texts": known.digest, "cases": verdicts(known)}
    PINNED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
