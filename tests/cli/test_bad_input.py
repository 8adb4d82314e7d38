"""Bad input: one line that says what was received and what was expected, exit code 2, no traceback."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from assay.errors import install_command


def refused(done, *words):
    """The one line on standard error."""
    assert done.code == 2, done.err
    (line,) = done.err.splitlines()
    assert line.startswith("assay: error: ")
    for word in words:
        assert word in line, line
    return line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (bytes(range(256)) * 8, []),
        (b'{"text": "a\n', []),
        (b'{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}\n', ["x"]),
        (b'{"foo": "a", "bar": "b"}\n', ["foo", "bar"]),
        (b"\x1f\x8b\x08\x00broken", []),
        (b"PAR1 broken", []),
    ],
    ids=["empty", "binary", "broken-json", "id-twice", "wrong-columns", "truncated-gzip", "truncated-parquet"],
)
def test_bad_data_is_refused(assay, tmp_path, golden, content, words):
    (tmp_path / "data.jsonl").write_bytes(content)
    refused(assay("score", golden / "model", "data.jsonl"), *words)


def test_missing_data_is_refused(assay, golden):
    refused(assay("score", golden / "model", "nowhere.jsonl"), "nowhere.jsonl")


def test_an_unknown_benchmark_names_its_neighbours(assay, golden):
    refused(assay("audit", golden / "model", "humanevil"), "humaneval")


def test_a_benchmark_that_is_not_here_says_which_file_or_id_is_wanted(assay, golden):
    refused(assay("audit", golden / "model", "humaneval"), "--data", "openai/openai_humaneval")


class TestBrokenModels:
    @pytest.fixture
    def model(self, golden, tmp_path):
        return shutil.copytree(golden / "model", tmp_path / "model")

    def test_without_tokenizer(self, assay, model, texts):
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (model / name).unlink()
        refused(assay("score", model, texts), "tokenizer")

    def test_without_weights(self, assay, model, texts):
        (model / "model.safetensors").unlink()
        refused(assay("score", model, texts), "weights")

    def test_with_truncated_weights(self, assay, model, texts):
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100_000])
        refused(assay("score", model, texts), "model")

    def test_with_nan_weights(self, assay, model, texts):
        weights = load_file(model / "model.safetensors")
        weights["lm_head.weight"] = np.full_like(weights["lm_head.weight"], np.nan)
        save_file(weights, model / "model.safetensors", {"format": "pt"})
        refused(assay("score", model, texts), "finite")

    def test_that_does_not_exist(self, assay, texts):
        refused(assay("score", "./nowhere", texts), "nowhere")

    def test_of_a_kind_that_is_not_opened(self, assay, texts):
        refused(assay("score", "vllm:some/model", texts), "vllm", install_command("vllm"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scores", "mink"], ["min_k"]),
        (["--scores", "reference"], ["--reference MODEL"]),
        (["--scores", "dc_pdd"], ["assay frequencies"]),
        (["--model-option", "bos=sometimes"], ["sometimes"]),
        (["--model-option", "dtype=float8"], ["float8", "float32"]),
        (["--device", "warp"], ["warp", "cpu"]),
        (["--limit", "0"], ["limit"]),
        (["--frequencies", "nowhere.npz"], ["nowhere.npz"]),
        (["-o", "scores.xls"], [".jsonl"]),
        (["-o", "no/such/folder/scores.csv"], ["folder"]),
        (["--colour"], ["--colour"]),
    ],
)
def test_a_wrong_option_is_refused(assay, texts, golden, arguments, words):
    refused(assay("score", golden / "model", texts, *arguments), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--alpha", "3"], ["alpha"]),
        (["--fail-on", "leaked"], ["FIGURE"]),
        (["--fail-on", "coverage.p<0.1"], ["coverage"]),
        (["--primary", "zlib", "--scores", "loss"], ["--primary"]),
        (["--calibration", "texts.jsonl"], ["calibration"]),
        (["--unseen", "texts.jsonl", "--calibration", "c"], ["one of them"]),
        (["--unseen", "few.jsonl"], ["20"]),
        (["--parent", "builtin:control"], ["--parent is for unseen text"]),
        (["--control", "builtin:control", "--calibration", "c"], ["--control is for unseen text"]),
        (["--weights", "length"], ["--weights is for unseen text"]),
    ],
)
def test_a_wrong_wish_of_an_audit_is_refused(assay, texts, golden, tmp_path, arguments, words):
    (tmp_path / "few.jsonl").write_text('{"text": "too few of us"}\n')
    refused(assay("audit", golden / "model", texts, "--scores", "loss", "--describe", *arguments), *words)


@pytest.fixture
def broken(tmp_path):
    """Files and folders that no command can read."""
    for name in ("folder/manifest.json", "folder/summary.json", "folder/index.json"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "deep").mkdir()
    for name in ("manifest.json", "summary.json", "index.json"):
        (tmp_path / "deep" / name).write_text("[" * 100_000)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "links").mkdir()
    for name in ("manifest.json", "summary.json", "index.json"):
        (tmp_path / "links" / name).symlink_to(name)


NINES, NAME = "9" * 5_000, "n" * 5_000


@pytest.mark.parametrize("place", ["folder", "deep", "circle", "links"])
@pytest.mark.parametrize(
    "arguments",
    [["report"], ["index", "info", "--index"], ["detect", "a.py", "--reference"]],
)
def test_what_lies_in_the_place_of_a_file_of_ours_is_refused(assay, broken, arguments, place):
    refused(assay(*arguments, place), place)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit", "builtin:small", "t", "--limit", NINES], "--limit: expected a whole number"),
        (["audit", "builtin:small", "t", "--seed", NINES], "--seed: expected a whole number"),
        (["detect", "a.py", "--lines", f"1-{NINES}"], "expected FIRST-LAST within 1-1"),
        (["lab", "build-authorship", "a.py", "--generator", "g", "--tokens", f"1-{NINES}", "-o", "d"], "FEWEST-MOST"),
        (["index", "build", "a.py", "--index", "i", "--max-file-size", NINES], "expected a number of bytes"),
        (["detect", NAME], "File name too long"),
        (["audit", NAME, "t"], "File name too long"),
        (["index", "build", "a.py", "--index", NAME], "File name too long"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value)[:40],
)
def test_numbers_and_names_of_thousands_of_characters_are_one_short_line(assay, broken, arguments, words):
    assert len(refused(assay(*arguments), words)) < 500


@pytest.mark.parametrize("content", [f'model = "{NAME}"', f"{NAME} = 1", f'reference = "./{NAME}"'])
def test_a_name_of_thousands_of_characters_in_the_configuration_is_refused(assay, broken, tmp_path, content):
    (tmp_path / "assay.toml").write_text(content)
    done = assay("detect", "a.py")
    assert (done.code, len(done.err) < 500, "Traceback" in done.err) == (2, True, False)


@pytest.mark.parametrize("command", ["score", "audit", "calibrate"])
@pytest.mark.parametrize("option", ["--rename one", "--names-from synonyms", "--variant-kinds tests"])
def test_options_of_rewritings_without_any_are_refused(assay, texts, command, option):
    end = ["-o", "c.json"] if command == "calibrate" else []
    words = f"{option.split()[0]} has no effect: no requested score compares rewritings"
    refused(assay(command, "builtin:small", texts, *option.split(), *end), words)


def test_a_text_longer_than_the_context_is_scored_whole(assay, golden, tmp_path):
    (tmp_path / "long.jsonl").write_text(json.dumps({"text": "x = 1\n" * 3000}) + "\n")
    done = assay("score", golden / "model", "long.jsonl", "--scores", "loss")
    assert done.code == 0, done.err
    assert json.loads(done.out)["scores"]["loss"] < 0


def test_a_full_cache_disk_costs_a_warning_and_nothing_else(assay, texts, golden, tmp_path):
    (tmp_path / "file").write_text("where a folder would have to be")
    done = assay("score", golden / "model", texts, "--scores", "loss", ASSAY_CACHE=str(tmp_path / "file" / "cache"))
    assert (done.code, len(done.out.splitlines())) == (0, 24), done.err
    assert "cache" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_with_one_line_that_says_how_to_go_on(golden, tmp_path, environment, stop):
    rows = "".join(json.dumps({"text": f"value_{i} = {i}\n" * 200}) + "\n" for i in range(500))
    (tmp_path / "many.jsonl").write_text(rows)
    command = [sys.executable, "-m", "assay", "score", str(golden / "model"), "many.jsonl", "-o", "out.jsonl"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` lets its children ignore Ctrl-C
    try:
        running = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    cache = tmp_path / "cache"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (cache.is_dir() and any(cache.glob("*-wal"))):
        with pytest.raises(subprocess.TimeoutExpired):  # else it ended before it could be interrupted
            running.wait(timeout=0.02)
    running.send_signal(stop)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 128 + stop
    # a warning about a score may have come before
    assert len([line for line in err.splitlines() if not line.startswith("assay: warning: ")]) == 1
    assert "run the same command again to continue" in err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("command", ["twins", "rotate"])
def test_a_link_that_leads_to_itself_is_the_path_of_nothing(assay, tmp_path, command):
    (tmp_path / "loop").symlink_to("loop")
    refused(assay("release", command, "loop", "-o", "out.jsonl"), "loop", "expected the path of a file or folder")


def test_a_path_with_a_nul_character_is_refused(assay):
    refused(assay("release", "verify", "a\0b", "secret.json"), "PUBLIC: expected a text without NUL characters")
