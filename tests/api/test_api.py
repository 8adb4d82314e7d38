"""`import assay` offers what the commands do, and its results become tables, reports and notebook pages."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

import assay
from assay.errors import AssayError, DataError, MissingExtra, NothingToCompare, SettingError
from assay.models import builtin_folder, display_name
from assay.types import Undecided

CODE = """def interval(low, high, values):
    total = 0
    for value in values:
        if low <= value < high:
            total += value * value
    return total / max(1, len(values))
"""
TEXTS = [f"def f{i}(x):\n    return x + {i * i}\n" for i in range(30)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def samples(start=0, stop=30):
    return [assay.Sample(f"t{i}", TEXTS[i], label=("member", "nonmember")[i % 2]) for i in range(start, stop)]


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return assay.audit(
        "builtin:small", samples(), scores="loss,min_k", model_settings=assay.ModelSettings(cache=False), out=folder
    ), folder


def test_importing_assay_loads_no_heavy_library():
    code = "import sys, assay; sys.exit(bool({'torch', 'numpy', 'pyarrow', 'rich'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_can_be_imported():
    assert all(getattr(assay, name) is not None for name in assay.__all__)
    assert {"audit", "score", "trace", "load", "open_model", "calibrate", "CodeIndex"} <= set(dir(assay))


def test_scores_are_a_table_with_one_row_per_sample():
    scores = assay.score(
        "builtin:small",
        [assay.Sample("a", CODE), assay.Sample("b", "")],
        "loss,lrr",
        settings=assay.ModelSettings(cache=False),
    )
    table = scores.to_arrow()
    assert table.column_names == ["id", "loss", "lrr", "unscorable"]
    assert table["id"].to_pylist() == ["a", "b"]
    assert table["loss"].to_pylist()[0] < 0
    assert dict(table["unscorable"].to_pylist()[1]).keys() >= {"lrr"}
    assert table["lrr"].to_pylist()[1] is None


def test_an_audit_writes_its_run_folder(audited):
    result, folder = audited
    assert {"manifest.json", "summary.json", "report.html"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "manifest.json").read_text())["settings"]["seed"] == 0
    assert result.to_arrow().num_rows == 30


def test_an_audit_is_a_table_with_p_values_where_it_was_calibrated():
    result = assay.audit(
        "builtin:small",
        samples(0, 10),
        unseen=samples(10, 30),
        scores="loss",
        model_settings=assay.ModelSettings(cache=False),
        progress=False,
    )
    assert result.to_arrow().column_names == ["id", "label", "group", "loss", "loss_p", "loss_q"]


@pytest.mark.parametrize("suffix", [".html", ".md", ".tex", ".json"])
def test_a_result_writes_its_report_in_the_format_of_the_suffix(audited, tmp_path, suffix):
    path = audited[0].report(tmp_path / f"report{suffix}")
    assert "loss" in path.read_text("utf-8")


def test_another_suffix_is_refused(audited, tmp_path):
    with pytest.raises(DataError, match=r"expected a name that ends in \.html"):
        audited[0].report(tmp_path / "report.docx")


def test_a_notebook_shows_the_report(audited):
    shown = audited[0]._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "min_k" in shown


def test_a_run_folder_is_opened_as_the_value_that_the_audit_returned(audited):
    result, folder = audited
    opened = assay.load_run(folder)

    assert opened.to_json() == result.to_json()
    assert opened.to_arrow().equals(result.to_arrow())


def test_finished_runs_are_shown_side_by_side_or_as_a_statement(audited):
    result, folder = audited
    assert assay.report(folder).describe().answer == result.describe().answer
    assert assay.report(folder, folder, statement=True).describe().title == "Contamination statement"
    compared = assay.report(folder, figure="flagged").to_arrow()
    assert compared.num_rows == 1


def test_a_setting_of_a_report_that_is_not_there_is_refused(audited):
    with pytest.raises(SettingError, match="figures"):
        assay.report(audited[1], figures="flagged")


def test_code_gets_an_answer_and_a_row_for_each_piece(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    found = assay.detect(tmp_path / "a.py", detector=assay.DetectorSettings(scores="loss"))

    assert found.to_arrow()["answer"].to_pylist() == ["cannot tell"]
    assert repr(found).startswith("<Detection: Cannot tell. ")


def test_a_result_prints_as_one_line(audited):
    assert repr(audited[0]).startswith("<Audit: ")
    assert len(repr(audited[0]).splitlines()) == 1


def test_a_data_frame_needs_pandas(audited, monkeypatch):
    monkeypatch.setattr("assay.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"needs the package 'pandas'"):
        audited[0].to_pandas()


def test_code_is_indexed_and_traced(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text(CODE)
    counts = assay.build_index([tmp_path / "corpus"], tmp_path / "code.index", encoder=None)
    assert counts.files == 1
    found = assay.trace(CODE, tmp_path / "code.index")
    table = found.to_arrow()
    assert isinstance(table, pa.Table)
    assert table["path"].to_pylist()[0].endswith("a.py")
    assert "a.py" in found._repr_html_()


def test_a_calibration_is_used_by_a_later_audit(tmp_path):
    assay.calibrate(
        "builtin:small",
        samples(10, 30),
        selection="loss",
        settings=assay.ModelSettings(cache=False),
        out=tmp_path / "unseen.json",
    )
    settings = assay.AuditSettings(calibration=tmp_path / "unseen.json")
    result = assay.audit(
        "builtin:small",
        samples(0, 10),
        settings=settings,
        scores="loss",
        model_settings=assay.ModelSettings(cache=False),
    )
    assert "loss_p" in result.to_arrow().column_names


def test_both_unseen_text_and_a_calibration_are_refused(tmp_path):
    settings = assay.AuditSettings(calibration=tmp_path / "unseen.json")
    with pytest.raises(DataError, match="expected one of them"):
        assay.audit("builtin:small", samples(), unseen=samples(), settings=settings)


@pytest.mark.parametrize("parent", ["builtin:small", "copy"])
def test_a_model_or_its_copy_is_no_parent_of_itself(parent, tmp_path):
    if parent == "copy":
        parent = str(shutil.copytree(builtin_folder("small"), tmp_path / "copy"))
    texts = [assay.Sample(str(at), f"def f_{at}(x):\n    return {at} * x + g_{at}(x)\n") for at in range(50)]
    settings = assay.AuditSettings(parent=parent)
    with pytest.raises(DataError, match=f"--parent {parent} is the audited model itself"):
        assay.audit("builtin:small", texts[:20], unseen=texts[20:], scores="loss", settings=settings, progress=False)


def test_an_audit_with_nothing_to_compare_with_is_refused_unless_it_shall_only_describe():
    bare = [replace(sample, label=None) for sample in samples()]
    with pytest.raises(NothingToCompare, match="there will be no verdict"):
        assay.audit("builtin:small", bare, scores="loss", model_settings=assay.ModelSettings(cache=False))
    described = assay.audit(
        "builtin:small",
        bare,
        scores="loss",
        settings=assay.AuditSettings(describe=True),
        model_settings=assay.ModelSettings(cache=False),
        progress=False,
    )
    assert described.decision.reason is Undecided.NO_UNSEEN_TEXT


def test_a_model_is_named_by_the_last_part_of_its_path():
    for name, shown in {
        "bigcode/starcoder2-3b": "starcoder2-3b",
        "runs/model-1.5b/": "model-1.5b",
        "models/small.Q4_K.gguf": "small.Q4_K",
        "openai:gpt@http://127.0.0.1:9/v1": "gpt",
        "vllm:org/name": "name",
        "builtin:small": "builtin:small",
    }.items():
        assert display_name(name) == shown


@pytest.mark.parametrize("texts", [[CODE], [{"text": CODE}], [1], None, 7], ids=repr)
def test_texts_that_are_no_samples_are_refused_with_what_is_expected(texts):
    with pytest.raises(DataError, match=r"expected .* samples such as assay\.Sample\("):
        assay.score("builtin:small", texts, "loss")


def test_a_list_of_scores_and_a_single_corpus_are_refused_with_the_right_form(tmp_path):
    with pytest.raises(AssayError, match="expected names with commas between them: 'loss,min_k'"):
        assay.score("builtin:small", samples(), ["loss", "min_k"])
    with pytest.raises(DataError, match=r"received 'src'; expected a list of them: \['src'\]"):
        assay.build_index("src", tmp_path / "index")


def test_a_script_without_a_main_guard_builds_an_index(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(CODE)
    script = tmp_path / "script.py"
    script.write_text("import assay\nprint(assay.build_index(['src'], 'index', encoder=None, jobs=2).read)\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
