"""Power by planted doses: which texts are planted, what a dose shows, and what the verdict would have been."""

from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.errors import DataError, MissingCapability
from assay.evaluation import Estimate, FlagTest, UnseenTail, flag_test
from assay.leakage import check_doses, plot_of, read_run
from assay.leakage.planting import VerdictConditions
from assay.models import open_local
from assay.reports import render_markdown
from assay.types import Sample, Undecided

NORMAL = np.random.default_rng(0).normal


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
    options = {"scores": "mid_pit,loss", "control": "none", "cache": False, "progress": False}
    result = assay.audit(
        str(golden / "model"), texts(2, 48, "b"), unseen=UNSEEN, plant=(30, 1), plant_rate=0.005, out=out, **options
    )
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
    again = assay.score(str(golden / "model"), list(audit.samples), "mid_pit", cache=False, progress=False)
    np.testing.assert_allclose(again.to_arrow()["mid_pit"].to_numpy(), audit.values["mid_pit"], rtol=1e-5)


def test_the_report_the_run_folder_and_the_statement_state_the_power(audited):
    audit, out = audited
    stored, manifest = read_run(out)
    assert stored.summary("mid_pit").calibration.planted == audit.summary("mid_pit").calibration.planted
    assert manifest["settings"]["plant"] == {"doses": [1, 30], "rate": 0.005}
    page = render_markdown(audit.describe())
    assert "Power by planted doses" in page
    assert "| not planted |" in page
    assert ("Planted in a copy" in page) == (audit.decision().reason is None)


def test_a_killed_training_goes_on_where_it_was(golden, tmp_path):
    from assay.leakage.planting import Planting, planted_power
    from assay.scores import request

    model = open_local(str(golden / "model"))
    conditions = VerdictConditions(0.05, None, "", None)
    steps: list[int] = []

    def count(record, _):
        steps.append(record["step"])
        if len(steps) == 9:
            raise KeyboardInterrupt

    planting = Planting(model=model, scorer=model, doses=(1,), folder=tmp_path, progress=count)
    whole = planted_power(replace(planting, folder=None, progress=None), request("mid_pit"), UNSEEN, conditions)
    again = planted_power(planting, request("mid_pit"), UNSEEN, conditions)
    assert steps == [1, 2, 3]
    assert whole == again == planted_power(planting, request("mid_pit"), UNSEEN, conditions)
    assert steps == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"plant": (1,)}, DataError, "expected --unseen DATA"),
        ({"plant": (1,), "unseen": UNSEEN, "access": "black"}, MissingCapability, "expected --access gray"),
        ({"plant_rate": 0.1}, DataError, "expected --plant 1,2,4"),
        ({"plant": (1,), "plant_rate": 0.0}, DataError, "expected a number above 0"),
        ({"plant": (1,), "unseen": UNSEEN[:30]}, DataError, "expected 20 or more"),
        ({"plant": (1,), "unseen": UNSEEN, "scores": "sr_names", "variants": 2}, MissingCapability, "of one pass"),
    ],
)
def test_what_cannot_be_planted_is_refused_in_one_line(golden, options, error, words):
    with pytest.raises(error, match=words):
        assay.audit(str(golden / "model"), texts(2, 24, "b"), progress=False, cache=False, control="none", **options)


def test_a_model_behind_a_server_is_refused_before_it_is_asked():
    with pytest.raises(MissingCapability, match="does not show its weights"):
        assay.audit("openai:someone@http://127.0.0.1:9", texts(2, 24, "b"), unseen=UNSEEN, plant=(1,), progress=False)


def test_a_larger_leak_and_a_larger_dose_are_detected_more_often():
    test = flag_test(NORMAL(size=164), unseen := NORMAL(size=400), UnseenTail.of(unseen, None))
    conditions = VerdictConditions(0.05, test, "", None)
    weak, strong = conditions.probabilities(0.3), conditions.probabilities(0.9)
    assert all(weak[share] <= strong[share] for share in weak)
    assert np.diff(list(strong.values())).min() > -1e-9
    assert (strong[0.01] < 0.3, strong[0.5] > 0.99) == (True, True)


def test_simulated_leaks_are_detected_as_often_as_stated():
    """164 samples, a tenth of them leaked, and a leaked one is flagged in half of the cases."""
    random = np.random.default_rng(1)
    unseen = random.normal(size=400)
    test = flag_test(random.normal(size=164), unseen, UnseenTail.of(unseen, None))
    stated, detected = test.power(16, 0.5), 0
    for _ in range(300):
        rate = random.beta(test.above, test.below)
        flags = random.binomial(16, 0.5) + random.binomial(148, rate)
        detected += flags >= test.critical
    assert abs(detected / 300 - stated) < 0.1


def test_an_excess_over_the_control_has_to_be_clear_as_well():
    test = FlagTest(164, 14, 20.0, 380.0, 1.0)
    alone = VerdictConditions(0.05, test, "", None).probabilities(0.9)
    wide = VerdictConditions(0.05, test, "", (Estimate(0.0, -0.15, 0.15, 0.9), 0.1)).probabilities(0.9)
    assert (alone[0.2] > 0.9, wide[0.2] < 0.3, wide[0.5] > 0.9) == (True, True, True)


def test_a_score_that_may_carry_no_verdict_bars_it_at_every_share(audited):
    audit, _ = audited
    calibration = audit.summary("loss").calibration
    test = FlagTest(164, 14, 20.0, 380.0, 1.0)
    conditions = VerdictConditions.of(calibration, "loss", test, blind=None, compares="")
    assert conditions.barred == Undecided.UNFIT_SCORE
    assert set(conditions.probabilities(1.0).values()) == {0.0}
