"""A command is refused before torch is imported, data are fetched or a model is loaded, where that is possible."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.models import ModelSettings

RUNNER = """
import contextlib, io, json, os, sys
os.environ["HF_HUB_OFFLINE"] = "1"
from assay.cli.app import main
for arguments in json.loads(sys.stdin.read()):
    sys.argv = ["assay", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as reported:
        try:
            main()
        except SystemExit as ended:
            print(json.dumps([ended.code, "torch" in sys.modules, "datasets" in sys.modules, reported.getvalue()]))
"""
DESCRIBED = "audit builtin:small texts.jsonl --describe"
REFUSALS = {
    "audit builtin:smal nowhere.jsonl": "did you mean small?",
    "audit bultin:small nowhere.jsonl": "did you mean builtin?",
    "score gpt2-smal hf:owner/name": "HF_HUB_OFFLINE",
    "score ./nowhere nowhere.jsonl": "no model folder './nowhere'",
    f"{DESCRIBED} --primary zlbi": "did you mean zlib?",
    "audit builtin:small texts.jsonl --unseen few.jsonl": "calibration needs at least 20",
    f"{DESCRIBED} --columns text=nope": "nope",
    f"{DESCRIBED} --fail-on zlbi.coverage<1": "did you mean zlib?",
    f"{DESCRIBED} --language pyton": "did you mean python",
    f"{DESCRIBED} --frequencies nowhere.npz": "nowhere.npz",
    f"{DESCRIBED} --variants 2 --variant-engine builtin:smal": "mean small?",
    f"{DESCRIBED} --reference builtin:smal": "did you mean small?",
}


@pytest.fixture
def unseen(tmp_path):
    """Thirty texts, ids of which ten occur three times each."""
    rows = [{"id": f"u{i % 10}", "code": f"def g{i}(y):\n    return y * {i}\n"} for i in range(30)]
    path = tmp_path / "unseen.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_nothing_heavy_is_imported_for_a_refusal(tmp_path, environment, texts):
    """All in one process: what an earlier one imports, a later one shows too."""
    (tmp_path / "few.jsonl").write_text('{"text": "too few"}\n')
    commands = json.dumps([command.split() for command in REFUSALS])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=commands,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for (command, words), line in zip(REFUSALS.items(), done.stdout.splitlines(), strict=True):
        *outcome, reported = json.loads(line)
        assert outcome == [2, False, False], command
        assert words in reported, command


def test_a_model_and_its_control_are_checked_before_the_data_are_read(assay):
    for arguments in (
        ["builtin:smal", "nowhere.jsonl"],
        ["builtin:small", "nowhere.jsonl", "--control", "builtin:smal"],
    ):
        done = assay("audit", *arguments)
        assert (done.code, "did you mean small?" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("annotate r --tasks t.jsonl --after 2024-01-01", "received --after and --tasks"),
        ("annotate r --tasks t.jsonl --every-eval-ever e.jsonl", "received --every-eval-ever and --tasks"),
        ("annotate r --scan e.jsonl --clean - -o -", "received - for --clean and for -o"),
        ("annotate r --scan e.jsonl -o - --json", "--json has no effect"),
        ("detect a.py --sarif - --format csv", "--format has no effect"),
        ("trace a.py --index i --sarif - --format spdx", "--format has no effect"),
        ("check --sarif - --json", "--json has no effect"),
        ("audit builtin:small texts.jsonl --describe --unseen-columns text=code", "--unseen-columns has no effect"),
        ("cache info --path none.sqlite", "--path none.sqlite: no such file"),
        ("cache clear --path none.sqlite", "--path none.sqlite: no such file"),
        ("config allow a.toml b.toml", "received 2 files"),
        ("demo --live --json", "--live prints its verdicts as lines"),
        ("frequencies builtin:small texts.jsonl -o t.npz --device cpu", "--device has no effect"),
        ("frequencies builtin:small texts.jsonl -o t.npz --model-option bos=never", "--model-option bos has no effect"),
        ("serve --index i --mcp --port 80", "--port has no effect"),
        ("unseen build . -o u.jsonl --data HumanEval.jsonl", "--data has no effect"),
    ],
)
def test_what_has_no_effect_is_refused_and_nothing_is_written(assay, tmp_path, texts, arguments, line):
    before = set(tmp_path.rglob("*"))
    done = assay(*arguments.split())
    assert (done.code, line in done.err, done.err.count("\n")) == (2, True, 1), done.err
    assert set(tmp_path.rglob("*")) == before


def test_pairs_of_the_configuration_file_and_values_with_commas_are_no_options_of_the_command_line(assay, tmp_path):
    """Of a table of tasks `group` is not used; the file may set it all the same, and `label` is part of a value."""
    (tmp_path / "assay.toml").write_text('columns = {group = "repo"}\n')
    done = assay("annotate", "r", "--tasks", "t.jsonl", "--columns", "text=patch,label")
    assert "t.jsonl" in done.err
    assert "has no effect" not in done.err


def test_a_list_of_packages_is_checked_in_the_format_asked_for(assay, monkeypatch):
    monkeypatch.setattr("assay.api.unseen.undated_packages", lambda names, _: dict.fromkeys(names, "older"))
    done = assay("unseen", "dates", "numpy", "--after", "2025-08-01", "--json")
    assert (done.code, json.loads(done.out)) == (1, {"after": "2025-08-01", "older": {"numpy": "older"}})


def test_a_model_in_the_cache_of_the_hub_is_near(assay, tmp_path, monkeypatch, texts):
    (tmp_path / "hub" / "models--openai-community--gpt2-small").mkdir(parents=True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    done = assay("score", "openai-community/gpt2-smal", texts)
    assert (done.code, "did you mean openai-community/gpt2-small?" in done.err) == (2, True)


@pytest.mark.slow
def test_the_guessed_column_is_reported_and_repeated_ids_of_unseen_texts_are_numbered(assay, texts, unseen, golden):
    done = assay("audit", golden / "model", texts, "--scores", "loss", "--unseen", unseen, "-v", "--describe")
    assert done.code == 0, done.err
    assert "the text was taken from the column 'code'; --columns text=NAME names another" in done.out
    assert "20 samples repeat an id: each got a number behind its id" in done.out
    assert assay("score", golden / "model", unseen).code == 2


def interrupt(run, **settings):
    """Make a finished run what a killed one of other settings leaves."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seconds"]
    manifest["settings"] |= settings
    (run / "manifest.json").write_text(json.dumps(manifest))


class TestRunFolders:
    @pytest.fixture
    def command(self, texts, golden):
        return ["audit", golden / "model", texts, "--scores", "loss", "--describe"]

    def test_a_finished_run_is_replaced_only_with_force(self, assay, command):
        assert assay(*command, "--out", "run").code == 0
        done = assay(*command, "--out", "run")
        assert (done.code, "finished run" in done.err, "--force" in done.err) == (2, True, True)
        assert assay(*command, "--out", "run", "--force").code == 0

    def test_without_out_a_second_run_has_a_folder_of_its_own(self, assay, command, tmp_path):
        for _ in range(2):
            assert assay(*command).code == 0
        assert len(list((tmp_path / "assay-runs").iterdir())) == 2

    def test_an_unfinished_run_continues_with_the_same_settings_only(self, assay, command, tmp_path):
        assert assay(*command, "--out", "run").code == 0
        run = tmp_path / "run"
        interrupt(run, model="another")
        done = assay(*command, "--out", "run")
        assert (done.code, "other settings" in done.err, "model" in done.err) == (2, True, True)
        assert assay(*command, "--out", "run", "--force").code == 0
        assert "seconds" in json.loads((run / "manifest.json").read_text())

    @pytest.mark.parametrize("name", ["notes.txt", "report.html", "manifest.json", "fine-tuning/weights.bin"])
    def test_a_folder_with_files_of_others_stays_as_it_is(self, assay, texts, golden, tmp_path, name):
        file = tmp_path / "mine" / name
        file.parent.mkdir(parents=True)
        file.write_text("{}")
        done = assay("audit", "--scores", "loss", golden / "model", texts, "--out", "mine", "--force")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "mine holds files that are no run's; expected a new or empty folder" in done.err
        assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == [file]
        assert file.read_text() == "{}"

    def test_an_interrupted_run_of_other_settings_does_not_block_the_default_folder(self, assay, command, tmp_path):
        assert assay(*command).code == 0
        (first,) = (tmp_path / "assay-runs").iterdir()
        interrupt(first, model="another")
        assert assay(*command).code == 0
        assert (tmp_path / "assay-runs" / f"{first.name}-2" / "manifest.json").is_file()
        assert "seconds" not in json.loads((first / "manifest.json").read_text())

    def test_force_replaces_the_run_of_the_default_folder(self, assay, command, tmp_path):
        for _ in range(2):
            assert assay(*command, "--force").code == 0
        assert len(list((tmp_path / "assay-runs").iterdir())) == 1

    @pytest.mark.parametrize(
        "options",
        [
            ["--scores", "min_k:k=5"],
            ["--scores", "dc_pdd", "--frequencies", "no.npz"],
            ["--reference", "builtin:smal"],
            ["--variants", "1000000"],
            ["--fail-on", "flagged.q<0.05"],
        ],
    )
    def test_a_refused_command_leaves_no_folder(self, assay, command, options, tmp_path):
        before = set(tmp_path.iterdir())
        done = assay(*command, *options)
        lines = [line for line in done.err.splitlines() if not line.startswith("assay: note: ")]
        assert (done.code, len(lines)) == (2, 1), done.err
        assert set(tmp_path.iterdir()) == before

    def test_another_limit_continues_the_run(self):
        limited = ModelSettings(max_requests=1, concurrency=2, price=3, max_cost=1)
        assert limited.identity() == ModelSettings().identity() != ModelSettings(dtype="float16").identity()

    def test_a_folder_that_cannot_be_written_is_refused_before_the_model_loads(self, assay, command, tmp_path):
        (tmp_path / "a-file").write_text("")
        done = assay("audit", "builtin:small", *command[2:], "--out", "a-file/run")
        assert (done.code, "is not a folder that can be written" in done.err) == (2, True), done.err

    def test_a_redacted_run_holds_no_text_and_says_what_it_reveals(self, assay, command, tmp_path):
        done = assay(*command, "--out", "run", "--redact", "-v")
        assert done.code == 0, done.err
        assert "They still reveal" in done.out
        for path in (tmp_path / "run").iterdir():
            assert b"return x +" not in path.read_bytes(), path
        import pyarrow.parquet as pq

        texts = pq.read_table(tmp_path / "run" / "samples.parquet")["text"].to_pylist()
        assert {text[:7] for text in texts} == {"sha256:"}
        assert "return x" not in assay("report", "run").out


def test_two_runs_of_one_model_and_benchmark_have_a_row_each(assay, texts, golden):
    for name in ("one", "two"):
        assay("audit", golden / "model", texts, "--scores", "loss", "--describe", "--out", name)
    done = assay("report", "one", "two", "--figure", "coverage")
    assert done.code == 0, done.err
    assert len([line for line in done.out.splitlines() if line.rstrip().endswith("100\u00a0%")]) == 2
    assert ", one" in done.out
    assert ", two" in done.out


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "builtin:small", "humaneval", "-o", "private/run"),
        ("report", "private/run"),
        ("detect", "private/code.py"),
        ("trace", "x.py", "--index", "private/index"),
    ],
    ids=lambda command: command[0],
)
def test_a_folder_of_another_user_is_refused_in_one_line(assay, tmp_path, monkeypatch, command):
    (tmp_path / "x.py").write_text("x = 1\n")
    stat = Path.stat

    def denied(path, **options):
        if "private" in path.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", denied)
    done = assay(*command)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "Permission denied" in done.err


@pytest.mark.parametrize(
    "command",
    [
        "audit builtin:small texts.jsonl -o",
        "demo -o",
        "index build . --index",
        "lab testbed plant -o",
        "lab run kds/table-1 -o",
        "lab build-authorship texts.jsonl --generator builtin:small -o",
        "lab authorship fine-tune builtin:small texts.jsonl -o",
        "lab authorship train texts.jsonl -o",
    ],
)
def test_a_broken_link_in_the_place_of_a_folder_is_refused(assay, tmp_path, texts, command):
    (tmp_path / "link").symlink_to("nowhere")
    for place in ("link", "link/inside"):
        done = assay(*command.split(), place)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert "link is a link to a missing place" in done.err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("annotate log.jsonl --scan evidence.jsonl -o x.html", ".jsonl"),
        ("annotate runs --tasks tasks.jsonl -o x.json", ".jsonl or .html or .htm"),
        ("annotate log.jsonl --scan evidence.jsonl --every-eval-ever x.json", ".jsonl"),
        ("authorship calibrate . --undated -o x.html", ".json"),
        ("calibrate builtin:small texts.jsonl -o x.jsonl", ".json"),
        ("check --sarif x.html", ".sarif or .json"),
        ("detect . -o x.JSON", ".html or .htm"),
        ("detect . --sarif x.html", ".sarif or .json"),
        ("frequencies builtin:small texts.jsonl -o x.json", ".npz"),
        ("release make tasks.jsonl -o x.csv --secret s.json", ".jsonl"),
        ("release rotate s.json -o x.json", ".jsonl"),
        ("release twins s.json -o x.html", ".jsonl"),
        ("scan corpus --for tasks.jsonl --page x.json", ".html or .htm"),
        ("trace a.py --index index --sarif x.html", ".sarif or .json"),
        ("unseen build . -o x.parquet", ".jsonl"),
    ],
)
def test_a_name_that_says_another_format_is_refused(assay, tmp_path, command, expected):
    (tmp_path / "evidence.jsonl").write_text("")
    done = assay(*command.split())
    assert done.code == 2
    assert f", expected a name that ends in {expected}\n" in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.glob("x.*"))
