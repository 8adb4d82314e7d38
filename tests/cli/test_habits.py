"""Habits of every command: common options, configuration, formats, refusals with the nearest name, progress."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from queue import SimpleQueue

import pytest
from rich.cells import cell_len
from rich.console import Console

from assay.cli import OUTPUT_SETTINGS
from assay.cli.app import command_line
from assay.cli.common import leaves
from assay.cli.configuration import allow, read_configuration
from assay.cli.options import WRITTEN
from assay.cli.terminal import OutputSettings
from assay.cli.typer_parts import CHECKED, function_of
from assay.errors import DataError
from assay.progress import (
    PERIOD,
    REPORTING,
    ProgressLines,
    Reporting,
    TimeLeft,
    WorkClock,
    progress_bar,
    time_in_words,
)
from assay.unseen.describing import STILL_APART


@pytest.fixture(autouse=True)
def _settings():
    """Every test begins with the settings that a new process has."""
    tokens = OUTPUT_SETTINGS.set(OutputSettings()), REPORTING.set(Reporting())
    yield
    OUTPUT_SETTINGS.reset(tokens[0])
    REPORTING.reset(tokens[1])


def commands(command, words=()):
    """Every command with its words, groups included."""
    yield words, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*words, name))


def leaf_of(words):
    """The command of these words."""
    return next(command for known, command in commands(command_line()) if known == words)


WORDS = [words for words, _ in commands(command_line())]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_help_names_no_type_of_python_or_click(assay, words):
    done = assay(*words, "-h")
    assert done.code == 0
    assert not re.search(r"<[a-zA-Z]\w*|\b(INTEGER|BOOLEAN|FLOAT|DIRECTORY|list\[|None)\b", done.out)


SCREEN = 45
"""Lines of a terminal of 100 columns that the help of one command may take."""


@pytest.mark.parametrize("words", [words for words in WORDS if words[:1] != ("lab",)], ids=" ".join)
def test_the_help_of_every_command_fits_on_one_screen(assay, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert len(assay(*words, "--help").out.strip().splitlines()) <= SCREEN


def test_the_long_help_of_an_audit_names_every_option_and_the_short_one_after_it_few(assay, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    long, short = (assay("audit", option).out for option in ("--help-all", "--help"))
    named = {name for name in names_of(leaf_of(("audit",))) if name.startswith("--")}
    assert {name for name in named if name not in long} == set()
    assert "--quiet" not in short


def names_of(leaf):
    return {name for parameter in leaf.params for name in parameter.opts}


def test_every_command_has_the_common_options():
    for leaf in leaves(command_line()):
        assert {"-q", "-v", "--no-progress"} <= names_of(leaf), leaf.name
        assert {"--json", "--format"} <= names_of(leaf) or leaf.name == "serve", leaf.name


def test_the_advice_on_unseen_text_names_options_of_the_commands_before_them():
    sentences = [re.split(r"`assay ([a-z]+)`", sentence) for sentence in re.split(r"\. ", STILL_APART)]
    named = [(re.findall(r"--[a-z-]+", "".join(words[::2])), words[1::2]) for words in sentences]
    pairs = {(option, command) for options, names in named for option in options for command in names}
    assert {command for _, command in pairs} == {"audit"}
    for option, command in pairs:
        assert option in names_of(leaf_of((command,))), (option, command)
    assert {option for option, _ in pairs} == set(re.findall(r"--[a-z-]+", STILL_APART))


def test_the_parts_of_typer_were_read_in_the_versions_that_are_required():
    root = Path(__file__).resolve().parents[2]
    required = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert CHECKED in required, "read assay.cli.typer_parts beside the new source of Typer, then change CHECKED"


def test_the_result_has_the_same_options_everywhere():
    for leaf in leaves(command_line()):
        assert len({"-o", "--out", "--output"} & names_of(leaf)) in (0, 3), leaf.name


WRITERS = [
    (words, option)
    for words, command in commands(command_line())
    if not getattr(command, "commands", {})
    for option in command.params
    if option.metavar == "FILE" and function_of(option) in WRITTEN.values()
]


class TestFilesThatExist:
    @pytest.mark.parametrize(
        ("words", "option"), WRITERS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value.name
    )
    def test_no_command_replaces_a_file_without_force(self, assay, tmp_path, words, option):
        (tmp_path / "mine.out").write_text("mine")
        needed = [parameter for parameter in leaf_of(words).params if parameter.required and parameter is not option]
        values = [
            (*parameter.opts[:1], "x") if parameter.param_type_name == "option" else ("x",) for parameter in needed
        ]
        done = assay(*words, *chain.from_iterable(values), option.opts[-1], "mine.out")
        assert (done.code, done.err) == (
            2,
            "assay: error: mine.out exists already; expected another name, or --force to replace it\n",
        )
        assert (tmp_path / "mine.out").read_text() == "mine"

    def test_these_are_all_options_of_written_files(self):
        names = {option.opts[-1] for _, option in WRITERS}
        assert names == {"--output", "--sarif", "--clean", "--page", "--every-eval-ever"}

    @pytest.mark.slow
    def test_no_command_writes_a_file_named_dash(self, assay, tmp_path):
        for words, option in WRITERS:
            needed = [
                parameter for parameter in leaf_of(words).params if parameter.required and parameter is not option
            ]
            if function_of(option) is not WRITTEN[True]:
                values = [(*p.opts[:1], "x") if p.param_type_name == "option" else ("x",) for p in needed]
                done = assay(*words, *chain.from_iterable(values), option.opts[-1], "-")
                assert (done.code, "expected the name of a file" in done.err) == (2, True), words
        assert not (tmp_path / "-").exists()

    def test_force_replaces_it(self, assay, tmp_path, texts, golden):
        (tmp_path / "mine.jsonl").write_text("mine")
        done = assay("score", golden / "model", texts, "--scores", "loss", "-o", "mine.jsonl", "--force")
        assert (done.code, len((tmp_path / "mine.jsonl").read_text().splitlines())) == (0, 24), done.err

    @pytest.mark.parametrize("benchmark", ["{}", "own={}", "corpus.jsonl,{}"])
    @pytest.mark.parametrize("option", [("-o", "tasks.jsonl"), ("-otasks.jsonl",), ("--output=tasks.jsonl",)])
    def test_force_replaces_no_input(self, assay, tmp_path, benchmark, option):
        line = '{"id": "a", "text": "def f(x):\\n    return x"}\n'
        for name in ("tasks.jsonl", "corpus.jsonl"):
            (tmp_path / name).write_text(line)
        result = tmp_path / "tasks.jsonl"
        done = assay("scan", "--for", benchmark.format("tasks.jsonl"), "corpus.jsonl", *option, "--force")
        assert (done.code, result.read_text()) == (2, line)
        assert done.err.endswith("is named as an input and as a result; expected another name for the result\n")


def test_the_version_has_a_short_option(assay):
    assert assay("-V").out == assay("--version").out != ""


class TestFormats:
    @pytest.mark.slow
    def test_every_list_comes_in_every_format(self, assay):
        for command in (["benchmarks", "list"], ["score", "--list"], ["lab", "list"]):
            rows = list(csv.reader(io.StringIO(assay(*command, "--format", "csv").out)))
            assert len({len(row) for row in rows}) == 1
            assert json.loads(assay(*command, "--format", "json").out)
            assert "| --" in assay(*command, "--format", "markdown").out.replace("|---|", "| --")

    def test_a_command_that_writes_a_file_prints_its_figures_in_every_format(self, assay, texts, golden):
        command = ("frequencies", golden / "model", texts, "-o", "table.npz", "--force")
        whole = json.loads(assay(*command, "--json").out)
        assert whole["file"] == "table.npz"
        header, row = csv.reader(io.StringIO(assay(*command, "--format", "csv").out))
        assert dict(zip(header, row, strict=True)) == {name: str(value) for name, value in whole.items()}
        assert f"{whole['tokens']:,} tokens" in assay(*command, "--format", "markdown").out

    def test_two_formats_are_refused(self, assay):
        done = assay("benchmarks", "list", "--json", "--format", "csv")
        assert (done.code, "both --json and --format csv" in done.err) == (2, True)

    @pytest.mark.parametrize("width", ["80", "200"])
    def test_no_list_is_cut(self, assay, width):
        for command, last in ((["benchmarks", "list"], "licence"), (["score", "--list"], "reference")):
            out = assay(*command, COLUMNS=width).out
            assert last in out
            assert "…" not in out
            assert all(cell_len(line) <= int(width) for line in out.splitlines())  # x̃ has two characters and one cell

    def test_a_pipe_has_whole_lines(self, assay, monkeypatch):
        monkeypatch.delenv("COLUMNS", raising=False)
        environment = {"NO_COLOR": "1"}
        assert any(len(line) > 80 for line in assay("score", "--list", **environment).out.splitlines())


class TestConfiguration:
    @pytest.fixture(autouse=True)
    def own_list_of_allowed_files(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
        monkeypatch.delenv("ASSAY_CONFIG", raising=False)

    def test_a_table_of_the_project_file_sets_defaults(self, assay, tmp_path):
        (tmp_path / "pyproject.toml").write_text('[tool.assay.benchmarks.list]\nformat = "json"\n')
        assert json.loads(assay("benchmarks", "list").out)

    def test_the_command_line_overrides_the_file(self, assay, tmp_path):
        (tmp_path / "assay.toml").write_text('format = "json"\n')
        assert assay("benchmarks", "list", "--format", "csv").out.startswith("name,")

    def test_a_file_above_the_current_folder_counts(self, tmp_path):
        (tmp_path / "assay.toml").write_text("seed = 3\n[audit]\nfail-on = ['flagged>0.2']\n")
        (tmp_path / "below").mkdir()
        (tmp_path / ".git").mkdir()
        allow(tmp_path)
        found = read_configuration(command_line(), tmp_path / "below")
        assert found.path == tmp_path / "assay.toml"
        assert found.defaults["audit"] == {"seed": "3", "fail_on": ["flagged>0.2"]}

    @pytest.mark.parametrize(
        "text", ["tool = 1", "[[tool]]", "tool.assay = 1", f"a = {'[' * 3000}", f"a = {'9' * 5000}"]
    )
    def test_a_strange_file_of_another_project_is_passed_over(self, tmp_path, text):
        (tmp_path / "pyproject.toml").write_text(text)
        assert read_configuration(command_line(), tmp_path).path is None

    def test_a_file_beside_the_configuration_is_found_from_below(self, tmp_path, monkeypatch):
        (tmp_path / "fresh.jsonl").touch()
        (tmp_path / "assay.toml").write_text('unseen = "fresh.jsonl"\n')
        (tmp_path / "below").mkdir()
        (tmp_path / ".git").mkdir()
        allow(tmp_path)
        monkeypatch.chdir(tmp_path / "below")
        assert read_configuration(command_line()).defaults["audit"] == {"unseen": str(tmp_path / "fresh.jsonl")}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("methosd = 1", "did you mean method or methods"),
            ("[audti]\nseed = 3", "did you mean audit"),
            ("trust-remote-code = true", "trust-remote-code"),
            ("force = true", "force"),
            ("seed = true", "a number"),
            ("no-cache = 1", "true or false"),
            ('fail-on = "flagged>1"', "a list"),
            ("seed = ", "TOML"),
        ],
    )
    def test_a_wrong_entry_is_refused(self, tmp_path, text, words):
        (tmp_path / "assay.toml").write_text(text)
        with pytest.raises(DataError, match=words):
            read_configuration(command_line(), allow(tmp_path).parent)

    @pytest.mark.parametrize(
        "text",
        [
            '[score]\nnames-from = "openai:evil@http://127.0.0.1:1/v1"',
            '[audit]\nvariant-engine = "openai:evil@http://127.0.0.1:1/v1"',
            '[trace]\nindex = "http://127.0.0.1:1"',
            '[serve]\nhost = "192.0.2.1"',
            'out = "../outside"',
            "model-option = { dtype = 'bfloat16' }",
            "[audit]\nfail-on = ['flagged>0.9']",
            "[index.build]\nexclude = ['src']",
        ],
    )
    def test_a_found_file_may_not_choose_where_texts_and_keys_go(self, assay, tmp_path, text):
        (tmp_path / "assay.toml").write_text(text)
        assert "assay config allow" in read_configuration(command_line(), tmp_path).refused
        done = assay("benchmarks", "list")
        assert (done.code, "assay config allow" in done.err, "Traceback" in done.err) == (2, True, False)

    def test_columns_of_a_found_file_hold_but_no_key_smuggled_in_a_value(self, tmp_path):
        (tmp_path / "assay.toml").write_text("columns = { text = 'prompt' }")
        found = read_configuration(command_line(), tmp_path)
        assert (found.refused, found.defaults["audit"]["columns"]) == ("", ["text=prompt"])
        (tmp_path / "assay.toml").write_text("model-option = { }\n[audit]\nmodel-option = { x = '1,adapter=evil' }")
        assert "assay config allow" in read_configuration(command_line(), tmp_path).refused

    def test_a_refused_file_is_shown_with_what_to_do(self, assay, tmp_path):
        (tmp_path / "assay.toml").write_text("[serve]\nhost = '192.0.2.1'\n")
        shown = json.loads(assay("config", "serve", "--json").out)
        origin = f"{tmp_path / 'assay.toml'}, refused"
        assert {"command": "serve", "setting": "host", "value": "192.0.2.1", "from": origin} in shown["settings"]
        assert f"run `assay config allow {tmp_path / 'assay.toml'}`" in shown["refused"]
        assert assay("config", "allow", tmp_path / "assay.toml").code == 0
        assert "options from" in assay("benchmarks", "list").err

    @pytest.mark.parametrize("words", [("--config", "mine.toml"), ("--config=mine.toml",)])
    def test_a_file_that_the_command_line_names_may_set_everything(self, assay, tmp_path, words):
        (tmp_path / "assay.toml").write_text("seed = 1")
        (tmp_path / "mine.toml").write_text('[benchmarks.list]\nformat = "json"\n')
        assert json.loads(assay("benchmarks", "list", *words).out)
        assert assay("benchmarks", "list", "--config", "missing.toml").code == 2
        assert assay("benchmarks", "list", "--config", "").code == 0

    def test_plug_ins_are_listed_and_not_imported(self, assay):
        plugged = json.loads(assay("config", "--json").out)["plug_ins"]
        assert {"assay.commands", "assay.models"} <= {entry["kind"] for entry in plugged}
        assert all(entry["distribution"].partition(" ")[2] for entry in plugged)

    def test_an_allowed_file_that_changes_is_asked_about_again(self, assay, tmp_path):
        (tmp_path / "assay.toml").write_text("seed = 1")
        assert assay("config", "allow").code == 0
        assert assay("benchmarks", "list").code == 0
        (tmp_path / "assay.toml").write_text("seed = 2")
        assert assay("benchmarks", "list").code == 2

    def test_outside_a_repository_no_file_above_is_read_inside_none_above_its_root(self, tmp_path):
        (tmp_path / "assay.toml").write_text("seed = 1")
        (tmp_path / "root/below").mkdir(parents=True)
        assert read_configuration(command_line(), tmp_path / "root").path is None
        (tmp_path / "root/.git").mkdir()
        assert read_configuration(command_line(), tmp_path / "root/below").path is None

    def test_a_file_of_another_user_is_skipped(self, tmp_path, monkeypatch):
        (tmp_path / "assay.toml").write_text("seed = 1")
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        found = read_configuration(command_line(), tmp_path)
        assert (found.path, found.skipped) == (None, (tmp_path / "assay.toml",))

    def test_the_variable_names_another_file_or_none(self, tmp_path, monkeypatch):
        (tmp_path / "assay.toml").write_text("seed = 1")
        monkeypatch.setenv("ASSAY_CONFIG", "")
        assert read_configuration(command_line(), tmp_path).path is None
        (tmp_path / "other.toml").write_text("seed = 2")
        monkeypatch.setenv("ASSAY_CONFIG", str(tmp_path / "other.toml"))
        assert read_configuration(command_line(), tmp_path).defaults["audit"] == {"seed": "2"}

    def test_the_project_file_of_others_is_none_of_ours(self, tmp_path):
        (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
        found = read_configuration(command_line(), tmp_path)
        assert found.path is None or found.path.parent not in (tmp_path, *tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["score", "m", "d", "--model-option", "bos=allways"],
            "bos: received 'allways', expected auto, always, never; did you",
        ),
        (["score", "m", "d", "--limit", "x"], "--limit: expected a whole number"),
        (
            ["release", "verify", "a", "b", "--secret", "x"],
            "assay release verify has no option --secret; SECRET is an argument, given without a name",
        ),
        (["release", "verify", "a", "b", "--show"], "release verify has no option --show; `assay release make` has it"),
        (["score", "m", "d", "--scorse", "x"], "assay score has no option --scorse; did you mean --scores?"),
        (["audit"], "assay audit: MODEL is missing; see `assay audit --help`"),
        (["adit"], "Did you mean 'audit'?"),
        (["benchmarks", "list", "--format", "jsn"], "--format: received 'jsn'; expected table, json, csv"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line_with_the_nearest_name(assay, arguments, line):
    done = assay(*arguments)
    assert done.code == 2
    assert line in done.err
    assert len(done.err.splitlines()) == 1


class TestProgress:
    def test_a_narrow_terminal_shortens_the_name_and_keeps_the_figures(self, monkeypatch):
        console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
        monkeypatch.setattr("assay.progress.ERRORS", console)
        with progress_bar("scoring copies with a model of a long name") as progress:
            progress(110, 274)
        assert "110/274 texts" in console.file.getvalue()

    def test_a_line_each_period_and_none_before(self, capsys):
        now = [0.0]
        lines = ProgressLines("auditing mbpp", clock=lambda: now[0])
        for seconds in range(0, 100, 10):
            now[0] = float(seconds)
            lines.report(f"{seconds} of 100 texts", seconds / 100)
        printed = capsys.readouterr().err.splitlines()
        assert len(printed) == 90 // PERIOD
        assert printed[0] == "assay: auditing mbpp: 30 of 100 texts, 30 s, about 70 s left"

    def test_the_time_before_the_first_share_does_not_count(self, capsys):
        now = [0.0]
        lines = ProgressLines("scoring", clock=lambda: now[0])
        for seconds, share in ((100, 0.1), (110, 0.2), (140, 0.5), (180, 0.2), (220, 0.6)):
            now[0] = float(seconds)
            lines.report(f"{share:.0%}", share)
        printed = [line.partition("min")[2] for line in capsys.readouterr().err.splitlines()]
        assert printed == ["", ", about 50 s left", "", ", about 40 s left"]  # of other work from 180 s on

    def test_the_time_left_goes_on_where_the_next_part_is_of_the_same_work(self, capsys):
        now = [0.0]
        lines = ProgressLines("scoring", clock=lambda: now[0])
        for seconds, share in ((0, 0.0), (30, 0.2), (60, 0.5)):
            now[0] = float(seconds)
            lines.begin(f"part at {share:.0%}")
            lines.report(f"{share:.0%}", share)
        printed = capsys.readouterr().err.splitlines()
        assert printed[-1] == "assay: part at 50%: 50%, 60 s, about 50 s left"

    def test_the_time_left_is_corrected_smoothly(self):
        now = [0.0]
        left, printed = TimeLeft(lambda: now[0], " of each core"), []
        for seconds, share in ((0, 0.0), (10, 0.1), (20, 0.2), (25, 0.8)):
            now[0] = float(seconds)
            left.reach(share)
            printed.append(left.words())
        # at a share of .8 the pace alone would say 6 s; a line before it was said that 80 s are left
        assert printed == ["", "", "about 80 s of each core left", "about 65 s of each core left"]

    def test_work_that_runs_elsewhere_is_timed_as_it_passes(self, monkeypatch):
        passed, worked = iter((0.0, 10.0, 10.0, 0.0)), iter((0.0, 0.5, 8.0, 0.1))
        monkeypatch.setattr("assay.progress.time.perf_counter", lambda: next(passed))
        monkeypatch.setattr("assay.progress.time.process_time", lambda: next(worked))
        monkeypatch.setattr("assay.progress.seconds_waited", lambda: 0.0)
        clock = WorkClock()
        assert (clock(), clock()) == (10, 8)
        assert clock() == 0  # a clock of coarse steps has not moved yet

    def test_work_on_a_busy_machine_is_no_work_elsewhere(self, monkeypatch):
        passed, worked, waited = iter((0.0, 100.0)), iter((0.0, 5.0)), iter((3.0, 98.0))
        monkeypatch.setattr("assay.progress.time.perf_counter", lambda: next(passed))
        monkeypatch.setattr("assay.progress.time.process_time", lambda: next(worked))
        monkeypatch.setattr("assay.progress.seconds_waited", lambda: next(waited))
        assert WorkClock()() == 5

    def test_the_last_state_is_repeated_while_nothing_is_reported(self, monkeypatch):
        monkeypatch.setattr("assay.progress.PERIOD", 0.0)
        printed = SimpleQueue()
        monkeypatch.setattr("assay.progress._print_line", printed.put)
        with ProgressLines("opening the model").repeated():
            assert printed.get(timeout=30) == "assay: opening the model: 0 s"

    @pytest.mark.parametrize(("seconds", "words"), [(45, "45 s"), (180, "3 min"), (7500, "2 h 5 min")])
    def test_durations_in_words(self, seconds, words):
        assert time_in_words(seconds) == words


class TestCurrentFolder:
    """A folder of a stranger: no file in it is code."""

    @pytest.mark.slow
    @pytest.mark.parametrize("start", [["-m", "assay"], ["-P", "-c", "from assay.cli.app import main; main()"]])
    def test_no_module_in_it_is_imported(self, tmp_path, environment, start):
        (tmp_path / "corpus").mkdir()
        (tmp_path / "corpus/a.py").write_text("def f(x):\n    return x + 1\n")
        for name in ("numpy", "torch", "json", "tempfile", "lazy_loader", "typer", "sitecustomize", "pyarrow"):
            (tmp_path / f"{name}.py").write_text(f"open('{name}.imported', 'w')")
        for words in (["benchmarks", "list"], ["index", "build", "corpus", "--index", "i", "--jobs", "2"]):
            command = [sys.executable, *start, *words]
            done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.returncode, list(tmp_path.glob("*.imported"))) == (0, []), done.stderr

    def test_its_settings_of_numba_name_no_folder_of_pickles(self, tmp_path, environment):
        (tmp_path / ".numba_config.yaml").write_text("cache_dir: pickles\n")
        (tmp_path / "a.py").write_text("x = 1\n")
        command = [sys.executable, "-P", "-m", "assay", "index", "build", "a.py", "--index", "i", "--jobs", "1"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "expected a current folder without this file" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_completes_commands(assay, shell):
    values = {"_ASSAY_COMPLETE": f"complete_{shell}", "COMP_WORDS": "assay aud", "COMP_CWORD": "1"}
    values |= {"_TYPER_COMPLETE_ARGS": "assay aud", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = assay(**values)
    assert "audit" in done.out


def test_the_command_line_imports_neither_torch_nor_numpy_for_help(environment):
    code = "import sys; from assay.cli.app import command_line; command_line(); "
    code += "print({'torch', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("assay audit builtin:s", "builtin:small"),
        ("assay audit builtin:small humaneval-", "humaneval-x"),
        ("assay score m d --scores loss,min_k_", "loss,min_k_plus_plus"),
        ("assay score m d --access b", "black"),
        ("assay audit m b --methods cod", "codec"),
        ("assay index build c --language typ", "typescript"),
        ("assay benchmarks show mbp", "mbpp"),
    ],
)
def test_completion_completes_values(assay, line, offered):
    words = line.split()
    done = assay(_ASSAY_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert offered in done.out.splitlines()


def test_a_configuration_whose_name_is_no_name_is_refused_in_one_line(assay):
    done = assay("--config", "a\0b", "score", "--list")
    assert done.code == 2
    assert "embedded null byte" in done.err
    assert len(done.err.splitlines()) == 1
