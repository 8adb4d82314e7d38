"""Power by planted doses: which texts are planted, what a dose shows, and what the verdict would have been."""

from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.errors import DataError, MissingCapability
from assay.evaluation import Estimate, flag_rate
from assay.leakage import Compared, Evidence, NegativeControl, read_run
from assay.leakage.planting import beyond_control, conditions, plot_of
from assay.leakage.settings import check_doses
from assay.models import open_local
from assay.reports import render_markdown
from assay.scoring import ScoreSelection
from assay.types import Sample, Undecided

BLACK, NAMES = ScoreSelection(access="black"), ScoreSelection("sr_names", variants=2)


def texts(seed: int, count: int, side: str) -> list[Sample]:
    random = np.random.default_rng(seed)
    return [
        Sample(f"{side}{i}", "".join(random.choice(list("abcdefgh "), 24)), group=f"{side}{i // 3}")
        for i in range(count)
    ]


UNSEEN = texts(1, 48, "u")


@pytest.fixture(scope="module")
def audited(golden, tmp_path_factory):
    """An audit whose model saw nothing, with planted doses; the folder of the run."""
    out = tmp_path_factory.mktemp("plant") / "run"
    settings = assay.AuditSettings(control="none", plant=(30, 1), plant_rate=0.005)
    options = {
        "scores": "mid_pit,loss",
        "settings": settings,
        "model_settings": assay.ModelSettings(cache=False),
        "progress": False,
    }
    result = assay.audit(str(golden / "model"), texts(2, 48, "b"), unseen=UNSEEN, out=out, **options)
    return result, out


def test_half_of_the_groups_are_planted_and_every_dose_has_as_many_texts():
    plot = plot_of(UNSEEN, (1, 2, 4), seed=0)
    assert sorted([*plot.planted, *plot.held_out]) == list(range(48))
    assert not {UNSEEN[at].group for at in plot.planted} & {UNSEEN[at].group for at in plot.held_out}
    assert np.unique(plot.doses, return_counts=True)[1].tolist() == [6, 6, 6, 6]
    assert plot.exposures == 6 * 7
    np.testing.assert_array_equal(plot.planted, plot_of(UNSEEN, (1, 2, 4), seed=0).planted)


@pytest.mark.parametrize("unseen", [UNSEEN[:38], [replace(sample, group="one") for sample in UNSEEN]])
def test_texts_that_give_no_two_halves_are_refused(unseen):
    with pytest.raises(DataError, match="expected 20 or more in each half"):
        plot_of(unseen, (1,), seed=0)


@pytest.mark.parametrize("doses", [(), (0, 1), (2, 2), (1, 1000), tuple(range(1, 12))])
def test_doses_are_checked(doses):
    with pytest.raises(DataError, match="doses"):
        check_doses(doses)


def test_a_planted_text_gains_more_than_one_beside_it_and_the_model_stays_as_it_was(audited, golden):
    audit, out = audited
    planted = audit.summary("mid_pit").calibration.planted
    gains = [entry.gain for entry in planted.doses]
    assert [entry.dose for entry in planted.doses] == [0, 1, 30]
    assert gains[2] > 1 + max(gains[:2])
    assert planted.doses[2].flagged.rate.value > 0.5
    assert planted.held_out == 24
    assert not (out / "planting").exists()
    again = assay.score(
        str(golden / "model"), list(audit.samples), "mid_pit", settings=assay.ModelSettings(cache=False), progress=False
    )
    np.testing.assert_allclose(again.to_arrow()["mid_pit"].to_numpy(), audit.values["mid_pit"], rtol=1e-5)


@pytest.mark.slow
def test_the_report_the_run_folder_and_the_statement_state_the_power(audited):
    audit, out = audited
    stored, manifest = read_run(out)
    assert stored.summary("mid_pit").calibration.planted == audit.summary("mid_pit").calibration.planted
    assert manifest["settings"]["plant"] == {"doses": [1, 30], "rate": 0.005}
    page = render_markdown(audit.describe())
    assert "Power by planted doses" in page
    assert "| not planted |" in page
    assert "Planted in a copy" in page


def test_a_killed_training_goes_on_where_it_was(golden, tmp_path):
    from assay.leakage.planting import Planting, planted_power
    from assay.scores import request

    model = open_local(str(golden / "model"))
    random = np.random.default_rng(0)
    compared = Compared(random.normal(size=30), random.normal(size=48), list(range(30)), list(range(48)))
    measured = compared, Evidence("mid_pit", 30)
    steps: list[int] = []

    def count(record, _):
        steps.append(record["step"])
        if len(steps) == 9:
            raise KeyboardInterrupt

    planting = Planting(model=model, scorer=model, doses=(1,), folder=tmp_path, progress=count)
    whole = planted_power(replace(planting, folder=None, progress=None), request("mid_pit"), UNSEEN, *measured)
    again = planted_power(planting, request("mid_pit"), UNSEEN, *measured)
    assert steps == [1, 2, 3]
    assert whole == again == planted_power(planting, request("mid_pit"), UNSEEN, *measured)
    assert steps == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"plant": (1,), "describe": True}, DataError, "expected --unseen DATA"),
        ({"plant": (1,), "unseen": UNSEEN, "scores": BLACK}, MissingCapability, "expected --access gray"),
        ({"plant_rate": 0.1, "unseen": UNSEEN}, DataError, "expected --plant 1,2,4"),
        ({"plant": (1,), "plant_rate": 0.0, "unseen": UNSEEN}, DataError, "expected a number above 0"),
        ({"plant": (1,), "unseen": UNSEEN[:30]}, DataError, "expected 20 or more"),
        ({"plant": (1,), "unseen": UNSEEN, "scores": NAMES, "describe": True}, MissingCapability, "of one pass"),
    ],
)
def test_what_cannot_be_planted_is_refused_in_one_line(golden, options, error, words):
    given = {name: value for name, value in options.items() if name in ("unseen", "scores")}
    rest = {name: value for name, value in options.items() if name not in given}
    settings = assay.AuditSettings(control="none", **rest)
    with pytest.raises(error, match=words):
        assay.audit(
            str(golden / "model"),
            texts(2, 24, "b"),
            settings=settings,
            progress=False,
            model_settings=assay.ModelSettings(cache=False),
            **given,
        )


def test_a_model_behind_a_server_is_refused_before_it_is_asked():
    model, settings = "openai:someone@http://127.0.0.1:9", assay.AuditSettings(plant=(1,))
    with pytest.raises(MissingCapability, match="does not show its weights"):
        assay.audit(model, texts(2, 24, "b"), unseen=UNSEEN, settings=settings, progress=False)


def test_a_larger_dose_is_detected_at_a_smaller_share(audited):
    audit, _ = audited
    once, often = (entry.detectable for entry in audit.summary("mid_pit").calibration.planted.doses[1:])
    assert often < once


def test_an_excess_over_the_control_has_to_be_clear_as_well():
    control = NegativeControl("control", flag_rate(np.where(np.arange(400) < 120, 0.01, 0.5), unseen=200))
    wide = replace(control, excess=Estimate(0.0, -0.15, 0.15, 0.9))
    assert beyond_control(Evidence("mid_pit", 40, control=control), 0.9) == 0.0
    assert 0.2 < beyond_control(Evidence("mid_pit", 40, control=wide), 0.9) < 1
    assert beyond_control(Evidence("mid_pit", 40, control=wide), 0.1) == np.inf


def test_a_score_that_may_carry_no_verdict_bars_it_at_every_share():
    assert conditions(Evidence("loss", 40)) == Undecided.UNFIT_SCORE
    assert conditions(Evidence("mid_pit", 40)) == Undecided.NOT_MEASURED
