"""How detection depends on the number of variants (Table 3) and on the mix (Table 10, Figure 3)."""

from collections.abc import Mapping

from assay.experiments.bench import Bench
from assay.experiments.finding import Drawn, Finding, Line, Value
from assay.experiments.paper_values import TABLE_3, TABLE_10
from assay.experiments.srdetection.detection import epochs_of, in_paper, measured, rows, setting, views, whose_columns
from assay.scores import SRDETECTION, flagged
from assay.testbed import Evaluation

F1 = 3
RATIOS = (1, 5, 10)
PAPER_EPOCHS = (1, 3, 5)
DEFAULT_VARIANTS = 10
"""The scores' own default: it has no suffix."""


def table_3(bench: Bench) -> Finding:
    """Macro-F1 of SrDetection, gray-box, by number of variants and epoch."""
    runs = {one.name: bench.evaluations(one) for one in bench.configurations}
    lines = by_variants(in_paper("gray")[SRDETECTION], TABLE_3, runs)
    return Finding(
        name="table-3",
        title="Macro-F1 of SrDetection by number of variants (SrDetection, Table 3)",
        head="variants and epoch",
        columns=tuple(whose_columns(runs)),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *setting(bench, runs),
            (
                "With one variant the paper prints 33.4 throughout, which is what flagging everything, or nothing, "
                "gives; a single variant is harder or not, so that is not what the rule does."
            ),
        ),
        seeds=bench.seeds,
    )


def by_variants(
    score: str, table: Mapping[int, tuple[tuple[float, ...], ...]], runs: dict[str, tuple[Evaluation, ...]]
) -> list[Line]:
    """Macro-F1 of SrDetection for each number of variants and epoch, the paper's beside ours where it has the epoch.

    Args:
        score: SrDetection with gray-box or black-box access.
        table: number of variants → for each model of the paper the percentages after its epochs.
        runs: configuration → evaluations, one a seed.
    """
    lines = []
    for n, printed in table.items():
        for epoch in epochs_of(runs):
            known: list[Value] = [None, None]
            if epoch in PAPER_EPOCHS:
                known = [model[PAPER_EPOCHS.index(epoch)] / 100 for model in printed]
            name = score if n == DEFAULT_VARIANTS else f"{score}:n={n}"
            ours = [measured(found, name, epoch, view)[F1] for found in runs.values() for view in views(runs)]
            lines.append(Line(f"{n} variants · epoch {epoch}", (*known, *ours)))
    return lines


def table_10(bench: Bench) -> Finding:
    """Macro-F1 after one epoch by share of general text."""
    found = mixed(bench)
    runs = found[RATIOS[0]]
    lines = []
    for ratio in RATIOS:
        for detector, paper in rows():
            printed = TABLE_10[ratio].get(paper or "")
            values: list[Value] = [value / 100 for value in printed] if printed else [None, None]
            values += [measured(one, detector, 1, view)[F1] for one in found[ratio].values() for view in views(runs)]
            lines.append(Line(f"1:{ratio} · {paper or detector}", tuple(values)))
    return Finding(
        name="table-10",
        title="Macro-F1 after one epoch by mix (SrDetection, Table 10)",
        head="ratio and detector",
        columns=tuple(whose_columns(runs)),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *setting(bench, runs),
            (
                "The ratio counts tokens. The paper calls this table black-box; its rows are the gray-box methods, "
                "and at 1:5 they repeat Table 1."
            ),
        ),
        seeds=bench.seeds,
    )


def figure_3(bench: Bench) -> Finding:
    """The same as a picture: macro-F1 after one epoch over the parts of general text."""
    found = mixed(bench)
    runs = found[RATIOS[0]]
    view = views(runs)[0]
    name = next(iter(runs))
    shown = flagged("figure")
    values = {one: {r: measured(found[r][name], one, 1, view)[F1] for r in RATIOS} for one in shown}
    drawn = [Drawn(one, {float(r): v for r, v in by.items() if v is not None}) for one, by in values.items()]
    return Finding(
        name="figure-3",
        title="Macro-F1 after one epoch by mix (SrDetection, Figure 3)",
        head="detector",
        columns=tuple(f"1:{ratio}" for ratio in RATIOS),
        lines=tuple(Line(one, tuple(values[one].values())) for one in shown),
        unit="percent",
        notes=(
            *setting(bench, runs),
            "The paper's figure is a picture without numbers; its Table 10 has them.",
        ),
        seeds=bench.seeds,
        drawn=tuple(one for one in drawn if one.points),
        x="tokens of general text for each of the members",
        y="macro-F1",
    )


def mixed(bench: Bench) -> dict[int, dict[str, tuple[Evaluation, ...]]]:
    """Ratio → model → one run a seed."""
    return {r: {one.name: bench.evaluations(one, ratio=r) for one in bench.configurations} for r in RATIOS}
