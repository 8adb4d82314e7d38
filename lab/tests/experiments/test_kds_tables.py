"""The experiments of the kernel divergence paper on trials whose values are made by the test."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from assay.datasets import Dataset
from assay.errors import DataError
from assay.scores import dataset_requests
from assay.types import Sample
from assay_lab.experiments import all_experiments, experiment_named
from assay_lab.experiments.bench import Bench
from assay_lab.papers.kds import figures, tables, trials
from assay_lab.papers.kds.tables import KDS_ROW, PAPER, correlation, negated, percentage_error, relative_spread
from assay_lab.papers.kds.trials import Trial, TrialSettings, TrialSource, settings_of, trial_set

SETTINGS = TrialSettings(20, (0.0, 0.5, 1.0), 3)
METHODS = tuple(dict.fromkeys(PAPER.methods.values()))


def source(members: int = 30, others: int = 30) -> TrialSource:
    texts = tuple(Sample(str(i), f"x = {i}") for i in range(members + others))
    return TrialSource("planted", "builtin:small", texts[:members], texts[members:])


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Every method rises with λ; the scores after fine-tuning fall."""

    def value(method: str, share: float, subset: int) -> float:
        sign = -1.0 if method.startswith("fsd") else 1.0
        return sign * (1 + share) + 0.001 * subset

    def fabricated(_: Bench, methods: list[str]) -> tuple[Trial, ...]:
        return tuple(
            Trial("planted", share, subset, {m: value(m, share, subset) for m in methods}, dict.fromkeys(methods, 2.0))
            for subset in range(SETTINGS.subsets)
            for share in SETTINGS.shares
        )

    for module in (tables, figures):
        monkeypatch.setattr(module, "trials", fabricated)
    for module in (tables, figures, trials):
        monkeypatch.setattr(module, "settings_of", lambda _: SETTINGS, raising=False)
    monkeypatch.setattr(figures, "sources", lambda _: (source(),))

    def embeddings(_bench: Bench, _source: TrialSource, samples: tuple[Sample, ...], layer: int = -1):
        random = np.random.default_rng([len(samples), layer + 5])
        before = random.normal(size=(len(samples), 4)).astype(np.float32)
        return before, before + np.float32(0.01)

    monkeypatch.setattr(figures, "embeddings_of", embeddings)
    return Bench(tmp_path, (), (0,), scale="smoke")


TIMED = "kds/table-8"
"""It fine-tunes, to say how long that takes."""
NAMES = sorted(name for name in all_experiments() if name.startswith("kds/") and name != TIMED)


@pytest.mark.parametrize("name", [*NAMES, pytest.param(TIMED, marks=pytest.mark.slow)])
def test_every_table_and_figure_is_made_beside_the_values_of_the_paper(name, bench, monkeypatch):
    @dataclass
    class Config:
        num_hidden_layers: int = 2

        def get_text_config(self):
            return self

    @dataclass
    class Opened:
        config: Config

        @property
        def checkpoint(self):
            return self

        model = property(lambda self: self)

    monkeypatch.setattr(figures, "open_local", lambda _: Opened(Config()))
    finding = experiment_named(name).run(bench)
    assert finding.name == name
    assert all(len(row.values) == len(table.columns) for table in finding.tables for row in table.rows)
    assert finding.tables[0].rows


def test_the_paper_has_ten_tables_and_six_figures_here():
    names = [name for name in all_experiments() if name.startswith("kds/")]
    assert names == [*(f"kds/figure-{n}" for n in range(2, 8)), *(f"kds/table-{n}" for n in range(1, 11))]


def test_every_row_of_the_paper_names_a_method_that_exists():
    for method in METHODS:
        if method == trials.UNIT_DOT:  # of the laboratory alone
            continue
        (request,) = dataset_requests(method)
        assert request.work
    rows = {row for number in (1, 2, 3, 4, 5, 10) for row in PAPER.tables[f"table-{number}"].values}
    assert rows <= set(PAPER.methods)


def test_a_score_that_rises_with_the_share_has_a_correlation_of_one(bench):
    rows = {row.name: row.values for row in tables.kds_table_1(bench).tables[0].rows}
    assert rows[KDS_ROW][0].value == pytest.approx(1)
    assert rows["Zlib + FSD"][0].value == pytest.approx(-1)
    assert rows["Min-K%, sign of its equation"][0].value == pytest.approx(-1)
    assert rows[KDS_ROW][2] == 0.999  # WikiMIA, printed
    assert rows["Min-K%++"][4] is None  # the paper ran out of memory


def test_spread_is_measured_where_the_percentage_error_is_undefined():
    crossing = [Trial("a", share, subset, {"m": share - 0.5 + 0.6 * subset}) for share in (0, 1) for subset in (0, 1)]
    assert percentage_error(crossing, "a", "m") is None
    assert relative_spread(crossing, "a", "m") == pytest.approx(0.6 / np.sqrt(2))
    steady = [Trial("a", share, subset, {"m": 1 + share + 0.1 * subset}) for share in (0, 1) for subset in (0, 1)]
    assert percentage_error(steady, "a", "m") == pytest.approx((0.05 / 1.05 + 0.05 / 2.05) / 2)
    assert correlation(crossing, "a", "other", "Spearman") is None
    assert negated(None) is None


def test_a_set_has_its_share_of_members_and_differs_by_subset():
    samples = trial_set(source(), SETTINGS, 0.5, 0)
    assert sum(int(sample.id) < 30 for sample in samples) == 10
    assert samples == trial_set(source(), SETTINGS, 0.5, 0)
    assert samples != trial_set(source(), SETTINGS, 0.5, 1)
    with pytest.raises(DataError, match="5 members and 30 others"):
        trial_set(source(members=5), SETTINGS, 0.5, 0)


def test_the_scale_of_the_paper_needs_its_data(tmp_path):
    with pytest.raises(DataError, match="needs data with labels"):
        trials.sources(Bench(tmp_path, (), (0,), scale="paper"))
    with pytest.raises(DataError, match="expected one of smoke, full, paper"):
        settings_of(Bench(tmp_path, (), (0,), scale="other"))


def test_labels_of_both_kinds_are_needed(tmp_path, monkeypatch):
    unlabelled = Dataset.of("mine", (Sample("1", "x = 1"),), source="mine")
    monkeypatch.setattr(trials, "named_dataset", lambda *_, **__: unlabelled)
    with pytest.raises(DataError, match="0 members and 0 non-members; expected labels of both"):
        trials.sources(Bench(tmp_path, (), (0,), {"mine": tmp_path}, scale="paper"))


def test_the_sums_of_figure_6_stand_beside_the_sizes_of_their_own_source(monkeypatch):
    """Two sources of different sizes: each row names its own, and the columns are numbered."""
    own = [TrialSource(name, "model", (), (), data=name) for name in ("small", "large")]
    settings = TrialSettings(20, (0.0,), 1, n_of={"large": 40})
    vectors = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    monkeypatch.setattr(figures, "sources", lambda _: own)
    monkeypatch.setattr(figures, "settings_of", lambda _: settings)
    monkeypatch.setattr(figures, "trial_set", lambda source, *_, **__: source)

    def embedded(_, source, __):
        return (vectors[: source.texts_of_a_set(settings)],) * 2

    monkeypatch.setattr(figures, "embeddings_of", embedded)
    (table,) = figures.kds_figure_6(SimpleNamespace(seeds=(0,))).tables
    assert [row.name for row in table.rows] == ["small, n = 4, 8, 12, 16, 20", "large, n = 8, 16, 24, 32, 40"]
    assert table.columns[2:] == ("n, 1 of 5", "n, 2 of 5", "n, 3 of 5", "n, 4 of 5", "n, 5 of 5")
