"""Table 1: gray-box detectors on every checkpoint."""

from collections.abc import Sequence

from assay.evaluation import Estimate
from assay.experiments.bench import Bench
from assay.experiments.finding import Drawn, Finding, Line, Value, over_seeds, seeds_note
from assay.experiments.paper_values import MEASURES, MODELS, TABLE_1, TABLE_2
from assay.scores import DETECTORS, SRDETECTION, Access, flagged, request
from assay.testbed import Cell, Evaluation, View

VIEWS: tuple[View, ...] = ("filtered", "all")


def table_1(bench: Bench) -> Finding:
    """Accuracy, precision, recall and macro-F1 of the gray-box detectors after 1, 3 and 5 epochs."""
    runs = {one.name: bench.evaluations(one) for one in bench.configurations}
    lines = []
    for epoch in epochs_of(runs):
        for detector, paper in rows():
            printed = TABLE_1.get(epoch, {}).get(paper or "")
            values: list[Value] = []
            for place, _ in enumerate(MEASURES):
                values += [four[place] / 100 for four in printed] if printed else [None, None]
                values += [
                    measured(found, detector, epoch, view)[place] for found in runs.values() for view in views(runs)
                ]
            lines.append(Line(f"epoch {epoch} · {paper or detector}", tuple(values)))
    columns = [f"{measure}, {whose}" for measure in MEASURES for whose in whose_columns(runs)]
    return Finding(
        name="table-1",
        title="Gray-box detectors after 1, 3 and 5 epochs (SrDetection, Table 1)",
        head="epoch and detector",
        columns=tuple(columns),
        lines=tuple(lines),
        unit="percent",
        notes=(*setting(bench, runs), "Precision and recall are means over the two classes."),
        seeds=bench.seeds,
        drawn=drawn(runs),
        x="epochs of training",
        y="macro-F1",
    )


def rows() -> list[tuple[str, str | None]]:
    """Detector → its name in the paper, the paper's first."""
    return [
        *((name, paper) for paper, name in in_paper("gray").items()),
        *((name, None) for name in flagged("contender")),
    ]


def in_paper(*accesses: Access) -> dict[str, str]:
    """The paper's name of each detector of some access → ours, in the order of its tables."""
    order = list({**TABLE_2[1], **TABLE_1[1]})
    entries = [entry for entry in DETECTORS.values() if SRDETECTION in entry.names_in and entry.access in accesses]
    entries.sort(key=lambda entry: order.index(entry.names_in[SRDETECTION]))
    return {entry.names_in[SRDETECTION]: entry.name for entry in entries}


def epochs_of(runs: dict[str, tuple[Evaluation, ...]]) -> list[int]:
    """The epochs of all runs, without the base model."""
    return sorted({epoch for found in runs.values() for one in found for epoch in one.epochs if epoch})


def views(runs: dict[str, tuple[Evaluation, ...]]) -> tuple[View, ...]:
    """The views that the runs have; a run on filtered texts has one."""
    known = {cell.view for found in runs.values() for one in found for cell in one.cells}
    return tuple(view for view in VIEWS if view in known)


def whose_columns(runs: dict[str, tuple[Evaluation, ...]]) -> list[str]:
    """The paper's two models, then each of ours in each view."""
    told = {"filtered": "filtered", "all": "unfiltered" if len(views(runs)) > 1 else "filtered"}
    return [
        *(f"{model} (paper)" for model in MODELS),
        *(f"{name}, {told[view]}" for name in runs for view in views(runs)),
    ]


def measured(found: Sequence[Evaluation], detector: str, epoch: int, view: View) -> tuple[Estimate | None, ...]:
    """Accuracy, precision, recall and F1 of a detector, over seeds."""
    decided = [cell.decided if (cell := cell_of(one, detector, epoch, view)) else None for one in found]
    return tuple(
        over_seeds([getattr(one, measure) if one else None for one in decided], share=True)
        for measure in ("accuracy", "precision", "recall", "f1")
    )


def cell_of(found: Evaluation, detector: str, epoch: int, view: View) -> Cell | None:
    """The cell of a detector; where fewer variants were made than it asks for, that of its series with the most."""
    cell = found.cell(detector, epoch, view)
    if cell is not None:
        return cell
    series = [name for name in found.detectors if name.split(":")[0] == detector and request(name).variants]
    most = max(series, key=lambda name: int(name.rpartition("=")[2]), default=None)
    return found.cell(most, epoch, view) if most else None


def drawn(runs: dict[str, tuple[Evaluation, ...]]) -> tuple[Drawn, ...]:
    """Macro-F1 by epoch of four detectors on the first model."""
    found = next(iter(runs.values()))
    view = views(runs)[0]
    lines = []
    for name in flagged("figure"):
        points = {float(epoch): measured(found, name, epoch, view)[3] for epoch in epochs_of(runs)}
        known = {epoch: value for epoch, value in points.items() if value is not None}
        if known:
            lines.append(Drawn(name, known))
    return tuple(lines)


def setting(bench: Bench, runs: dict[str, tuple[Evaluation, ...]]) -> tuple[str, ...]:
    """What was measured on what, and how it differs from the paper."""
    notes = [seeds_note(bench.seeds)]
    for configuration in bench.configurations:
        training, first = configuration.training, runs[configuration.name][0]
        notes.append(
            f"{configuration.name}: {configuration.model}, {first.parts['member']} members and "
            f"{first.parts['nonmember']} non-members of {configuration.data.source}, "
            f"{'all weights' if training.method == 'full' else f'LoRA r {training.rank}'} at {training.rate:g}, "
            f"batch {training.batch}, general text 1:{configuration.mix.ratio:g}; thresholds from "
            f"{first.parts['calibration-member']} + {first.parts['calibration-nonmember']} other texts, where the "
            "paper does not say where its own come from."
        )
    if views(runs) == ("all",) and not all(one.data.filter for one in bench.configurations):
        notes.append("No text, or none of one class, passed the filter: columns called filtered are of all texts.")
    separated = [
        f"seed {run.seed}, {'filtered' if one.view == 'filtered' else 'all texts'}: {one.kind} {one.auroc}"
        for found in runs.values()
        for run in found
        for one in run.blind
        if one.separates
    ]
    if separated:
        notes.append(
            f"Without the model the classes can be told apart a little in some splits (AUROC: {', '.join(separated)})."
        )
    return tuple(notes)
