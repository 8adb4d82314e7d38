"""Confidence: one minus a measured rate, never smaller than the measurement can tell."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpora import Document, Origin
from assay.corpora.texts import SourceText
from assay.errors import DataError
from assay.provenance import CodeIndex, Thresholds, TraceSettings, trace
from assay.provenance.confidence import (
    CALIBRATION_FILE,
    FEWEST,
    CalibrationTable,
    IndexCalibration,
    UnrelatedQuery,
    bin_of,
    bin_values,
    fusion,
    measured_bins,
    shipped_calibration,
)
from assay.provenance.confidence.rates import ENOUGH
from assay.provenance.search.calibrating import calibrate_index
from assay.retrieval import DEFAULT, PAPER
from assay.retrieval.encoding import open_encoder

VALUES = st.floats(0, 1)


@given(st.lists(VALUES, min_size=FEWEST, max_size=60), VALUES)
def test_the_rate_is_the_share_that_reaches_the_value_and_never_below_it(values, value):
    (length_bin,) = bin_values((9, entry) for entry in values)
    rate = length_bin.rate(value)
    exact = (sum(entry >= value for entry in values) + 1) / (len(values) + 1)
    assert rate >= exact - 1e-12
    assert rate <= (sum(entry >= value - 0.02 for entry in values) + 1) / (len(values) + 1)
    assert rate >= 1 / (len(values) + 1)


@given(st.lists(VALUES, min_size=FEWEST), VALUES, VALUES)
def test_a_larger_value_has_no_larger_rate(values, first, second):
    (length_bin,) = bin_values((9, value) for value in values)
    assert length_bin.rate(max(first, second)) <= length_bin.rate(min(first, second))


def test_a_further_unrelated_query_has_a_small_rate_as_rarely_as_it_says():
    draw = random.Random(3)
    (length_bin,) = bin_values((1, draw.betavariate(1, 8)) for _ in range(999))
    rates = [length_bin.rate(draw.betavariate(1, 8)) for _ in range(20_000)]
    for level in (0.01, 0.05, 0.2):
        assert sum(rate <= level for rate in rates) / len(rates) < 1.25 * level


def test_a_length_between_two_bins_belongs_to_the_shorter():
    bins = bin_values([(4, 0.5)] * ENOUGH + [(64, 0.1)] * ENOUGH)
    assert [bin_of(bins, length).rate(0.3) for length in (63, 64, 1)] == [1, 1 / (ENOUGH + 1), 1]
    assert bin_of((), 9) is None


def test_a_length_of_few_queries_is_counted_with_the_shorter_ones():
    (both,) = bin_values([(4, 0.5)] * ENOUGH + [(64, 0.1)] * (ENOUGH - 1))
    assert (both.shortest, both.n) == (4, 2 * ENOUGH - 1)


def test_too_few_queries_of_a_length_say_nothing():
    bins = bin_values([(4, 0.5)] * (FEWEST - 1))
    assert bin_of(bins, 4) is None
    assert CalibrationTable("python", 1, {"tokens": bins}).rates(tokens_of(0.9), ["tokens"]) is None


def test_rates_of_vectors_hold_for_the_encoder_that_they_were_measured_with():
    bins = {channel: bin_values([(9, 0.5)] * FEWEST) for channel in ("tokens", "vector")}
    table = CalibrationTable("python", 10, bins)
    calibration = IndexCalibration(DEFAULT, (table,), "0123")
    assert calibration.table_for("python", documents=10, encoder_digest="0123") == table
    for other in ("4567", None):
        assert set(calibration.table_for("python", documents=10, encoder_digest=other).channels) == {"tokens"}
    of_unknown_encoder = IndexCalibration(DEFAULT, (table,))
    assert set(of_unknown_encoder.table_for("python", documents=10).channels) == {"tokens"}


def test_the_table_is_that_of_the_language_and_of_the_next_larger_index():
    tables = tuple(
        CalibrationTable(language, documents, {"tokens": bin_values([(9, value)] * 99)})
        for language, documents, value in (("go", 500, 0.1), ("go", 100, 0.2), ("rust", 50, 0.3))
    )
    calibration = IndexCalibration(DEFAULT, tables)
    assert calibration.table_for("go", documents=100) == tables[1]
    assert calibration.table_for("go", documents=101) == tables[0]
    assert calibration.table_for("java", documents=1) is None
    larger = calibration.table_for("rust", documents=500)
    (rate,), (of_small,) = (table.rates(tokens_of(0.31), ["tokens"]).rates for table in (larger, tables[2]))
    assert rate == 10 * of_small
    assert larger.rates(tokens_of(0.3), ["tokens"]).rates == [1], "a rate is at most 1"


def test_a_larger_table_with_rates_of_vectors_serves_an_index_with_vectors():
    rates = {"tokens": bin_values([(9, 0.1)] * 99)}
    small = CalibrationTable("go", 100, rates)
    large = CalibrationTable("go", 500, rates | {"vector": bin_values([(9, 0.2)] * 99)})
    calibration = IndexCalibration(DEFAULT, (small, large), "digest")
    assert calibration.table_for("go", documents=50) == small
    assert calibration.table_for("go", documents=50, encoder_digest="another") == small
    assert calibration.table_for("go", documents=50, encoder_digest="digest") == large


def test_fused_rates_hold_for_channels_that_depend_on_each_other():
    draw = np.random.default_rng(5)

    def queries(count):
        common = draw.beta(1, 8, count)
        return [
            {"characters": (9, np.array([value])), "tokens": (9, np.array([value])), "vector": (9, np.array([other]))}
            for value, other in zip(common, (common + draw.beta(1, 8, count)) / 2, strict=True)
        ]

    table = CalibrationTable("python", 1, *measured_bins([UnrelatedQuery.of(values) for values in queries(1_000)]))
    rates = np.array([table.rates(values, list(values)).rates[0] for values in queries(5_000)])
    for level in (0.01, 0.05, 0.2):
        assert (rates <= level).mean() < 1.25 * level
        assert (rates <= level).mean() > 0.6 * level, "Bonferroni's correction would give a third"


def test_support_of_several_channels_makes_a_document_surer():
    draw = np.random.default_rng(6)
    values = [{name: (9, draw.beta(1, 8, 1)) for name in ("characters", "tokens")} for _ in range(1_000)]
    table = CalibrationTable("python", 1, *measured_bins([UnrelatedQuery.of(query) for query in values]))
    candidates = {"characters": (9, np.array([0.3, 0.3, 0.0])), "tokens": (9, np.array([0.3, 0.0, 0.3]))}
    both, alone, other = table.rates(candidates, ["characters", "tokens"]).rates
    assert both < alone
    assert both < other


def test_a_document_that_has_nothing_in_a_calibrated_channel_has_no_rate():
    table = CalibrationTable("python", 1, {"tokens": bin_values([(9, 0.1)] * FEWEST)})
    values = {"tokens": (9, np.array([0.0, 0.5])), "vector": (9, np.array([0.9, 0.0]))}
    rates = table.rates(values, ["tokens", "vector"])
    assert np.isnan(rates.rates).tolist() == [True, False]
    assert rates.at_limit.tolist()[1]


def test_channels_that_were_not_measured_together_have_no_rates():
    bins = {name: bin_values([(9, 0.1)] * FEWEST) for name in ("characters", "tokens")}
    values = {name: (9, np.array([0.9])) for name in bins}
    table = CalibrationTable("python", 1, bins)
    assert table.rates(values, list(bins)) is None
    assert [table.covers(names) for names in (list(bins), ["tokens"], ["vector"])] == [False, True, True]


def test_documents_that_others_surpass_are_left_out_of_a_measured_query():
    columns = {"characters": (9, np.array([0.2, 0.2, 0.1, 0.2])), "vector": (9, np.array([0.3, 0.5, 0.4, 0.5]))}
    assert UnrelatedQuery.of(columns).steps.tolist() == [[10, 20], [40, 50]]
    nothing = UnrelatedQuery.of({name: (9, np.zeros(0)) for name in columns})
    assert nothing.steps.shape == (2, 0)
    assert nothing.best == {"characters": 0, "vector": 0}


def tokens_of(value):
    return {"tokens": (9, np.array([value]))}


@given(st.lists(st.tuples(st.integers(1, 300), VALUES), min_size=1, max_size=50))
def test_a_saved_calibration_is_the_same(tmp_path_factory, measured):
    path = tmp_path_factory.mktemp("calibration") / CALIBRATION_FILE
    bins = bin_values(measured)
    table = CalibrationTable(None, 3, {"tokens": bins}, {"characters+tokens": bins})
    calibration = IndexCalibration(DEFAULT, (table,), None, {"seed": 0})
    calibration.save(path)
    assert IndexCalibration.load(path, DEFAULT) == calibration


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 3}'])
def test_a_file_that_is_not_a_calibration_is_reported(tmp_path, content):
    path = tmp_path / CALIBRATION_FILE
    path.write_text(content)
    with pytest.raises(DataError, match="expected a calibration of profile 'default'"):
        IndexCalibration.load(path, DEFAULT)


def test_a_calibration_of_another_format_is_refused_with_both_versions(tmp_path):
    path = tmp_path / CALIBRATION_FILE
    path.write_text('{"format": 9}')
    with pytest.raises(DataError, match=r"calibration of format 9, written by another version.*expected format 3$"):
        IndexCalibration.load(path, DEFAULT)


def test_a_calibration_of_another_profile_is_refused(tmp_path):
    path = tmp_path / CALIBRATION_FILE
    IndexCalibration(PAPER, ()).save(path)
    with pytest.raises(DataError, match="other channels"):
        IndexCalibration.load(path, DEFAULT)


@pytest.mark.parametrize("profile", [DEFAULT, PAPER])
def test_each_profile_ships_with_a_calibration_that_says_where_it_is_from(profile):
    shipped = shipped_calibration(profile)
    assert shipped.provenance["functions"] >= 1000
    for table in shipped.tables:
        forms = {channel.form for channel in profile.channels}
        assert set(table.channels) - {"vector"} == forms
        # a table whose rates of vectors missed the target ships without them
        assert len(forms) == 1 or fusion(table.channels) in table.fused
        for bins in table.channels.values():
            assert max(length_bin.n for length_bin in bins) >= ENOUGH
        for bins in table.fused.values():
            assert min(length_bin.n for length_bin in bins) >= 500


@pytest.mark.parametrize("language", ["c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"])
def test_each_language_has_checked_rates_for_fingerprints_and_vectors_together(language):
    shipped = shipped_calibration(DEFAULT)
    table = shipped.table_for(language, documents=1000, encoder_digest=shipped.encoder_digest)
    assert table.covers(["characters", "tokens", "vector"])
    without = shipped.table_for(language, documents=1000)
    # in TypeScript fingerprints alone missed the target on packages that were not used to measure them
    assert without.covers(["characters", "tokens"]) == (language != "typescript")


def test_the_encoder_that_ships_is_calibrated():
    digest = open_encoder("builtin:fragments").digest
    shipped = shipped_calibration(DEFAULT).table_for("python", documents=1000, encoder_digest=digest)
    assert max(length_bin.n for length_bin in shipped.channels["vector"]) >= ENOUGH
    rates = bin_of(shipped.channels["vector"], 64).rates(np.array([0.5, 0.9, 1.0])).tolist()
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.05 / 3, "the confidence that is asked for by default can be reached"


def random_function(draw, name):
    words = [f"{draw.choice('abcdefgh')}{draw.randrange(50)}" for _ in range(12)]
    lines = "\n".join(f"    {draw.choice(words)} = {draw.choice(words)}({draw.choice(words)})" for _ in range(10))
    return f"def {name}({words[0]}):\n{lines}\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    draw = random.Random(5)
    with CodeIndex.create(tmp_path_factory.mktemp("confidence") / "index") as index:
        texts = [random_function(draw, f"held_{at}") for at in range(30)]
        index.add(
            Document(text, "python", "function", f"held_{at}", (Origin("corpus", f"{at}.py"),))
            for at, text in enumerate(texts)
        )
        index.commit()
        yield index


def unrelated(count=30):
    draw = random.Random(6)
    return [SourceText("other.py", random_function(draw, f"own_{at}"), "python", f"own_{at}") for at in range(count)]


def test_a_copy_in_the_index_has_more_confidence_than_any_unrelated_function(index):
    found = calibrate_index(index, unrelated())
    settings = TraceSettings(calibration=found)
    own = trace(index.document(1).text, index, language="python", settings=settings).matches[0].confidence
    others = [trace(entry.text, index, language="python", settings=settings).matches for entry in unrelated()]
    assert own > max((match.confidence for matches in others for match in matches), default=0)
    assert own <= 1 - 1 / (max(length_bin.n for length_bin in found.tables[0].fused["characters+tokens"]) + 1)


def test_near_duplicates_are_taken_out_and_listed(index):
    copy = SourceText("copied.py", index.document(3).text, "python", index.document(3).name)
    found = calibrate_index(index, [*unrelated(), copy])
    assert found.provenance["near_duplicates_removed"] == 1
    assert found.provenance["removed"][0][0] == f"copied.py:{copy.name}"
    assert found.tables == calibrate_index(index, [*unrelated()]).tables or found.provenance["functions"] == 30


def test_channels_that_missed_the_target_have_no_confidence_and_the_answer_says_so(index):
    measured = calibrate_index(index, unrelated())
    tables = tuple(replace(table, fused={}) for table in measured.tables)
    text = index.document(index.ids()[0]).text
    result = trace(text, index, language="python", settings=TraceSettings(calibration=replace(measured, tables=tables)))
    assert not result.calibrated
    assert {match.confidence for match in result.matches} == {None}
    assert "not measured for python with profile 'default' by fingerprints alone" in result.notes[0]


def test_a_language_without_rates_has_no_confidence_and_the_answer_says_so(index):
    settings = TraceSettings(calibration=calibrate_index(index, unrelated()))
    text = index.document(2).text
    calibrated = trace(text, index, language="python", settings=settings)
    other = trace(text, index, language="java", settings=settings)
    assert (calibrated.calibrated, other.calibrated) == (True, False)
    assert calibrated.matches[0].confidence > 0
    assert {match.confidence for match in other.matches} == {None}
    assert "confidence not measured for java with profile 'default'; see `assay index calibrate`" in other.notes


def test_a_confidence_that_was_not_measured_reaches_no_threshold_above_0_and_a_copy_needs_none(index):
    calibration = calibrate_index(index, unrelated())
    copy = index.document(2).text
    little = "".join(copy.splitlines(keepends=True)[:3]) + "def other(first):\n    return first\n"

    def matches(text, least):
        return trace(
            text,
            index,
            language="java",
            settings=TraceSettings(Thresholds(min_confidence=least), calibration=calibration),
        )

    assert {match.confidence for match in matches(little, 0).matches} == {None}
    rejected = matches(little, 0.01)
    assert not rejected.matches
    assert (
        rejected.why_none == "what documents of the index share with it is no copy, and its confidence was not measured"
    )
    assert matches(copy, 1).matches


def test_the_index_takes_its_own_calibration(index):
    calibrate_index(index, unrelated()).save(index.folder / CALIBRATION_FILE)
    text = index.document(2).text
    own = trace(text, index, language="python").matches[0].confidence
    settings = TraceSettings(calibration=calibrate_index(index, unrelated()))
    assert own == trace(text, index, language="python", settings=settings).matches[0].confidence
    (index.folder / CALIBRATION_FILE).unlink()


def test_the_calibration_of_an_index_that_has_grown_by_more_than_a_tenth_is_refused(tmp_path):
    calibration = IndexCalibration(DEFAULT, (), provenance={"documents": 30})
    assert all(calibration.of_size(documents, "index") is calibration for documents in (1, 30, 33))
    with CodeIndex.create(tmp_path / "index") as index:
        index.add([Document(f"x = {at}\n", "python", "file", None, (Origin("c", f"{at}.py"),)) for at in range(34)])
        index.commit()
        index.keep_calibration(calibration)
        with pytest.raises(DataError, match="with 30 documents, received an index of 34; expected about as many"):
            trace("x = 1\n", index, language="python")


def test_a_calibration_without_the_size_of_its_index_is_refused():
    with pytest.raises(DataError, match="with None documents"):
        IndexCalibration(DEFAULT, ()).of_size(3, "index")


def test_too_little_unrelated_code_is_reported(index):
    with pytest.raises(DataError, match="received 3 functions"):
        calibrate_index(index, unrelated(3))
