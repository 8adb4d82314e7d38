import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import columns_of

from assay.errors import CacheError
from assay.models import CachedScorer, StatisticsCache, cached_models, default_cache_path
from assay.models.cache import pack_statistics, text_digest, unpack_statistics
from assay.types import TokenScorer, TokenStatistics
from support.table_model import TableModel

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
TEXTS = [f"def f_{index}(x):\n    return x + {index}\n" for index in range(40)]


def model(name="table", read=TEXTS[:5], **settings):
    return TableModel.trained(read, name=name, **settings)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "statistics.sqlite"


@pytest.fixture
def opened(path):
    with StatisticsCache(path) as found:
        yield found


def scored(model, cache, texts, **settings):
    return list(CachedScorer(model, cache, **settings).token_statistics(texts))


def lookup(cache, digest, texts):
    """The texts that the cache holds under a digest."""
    keys = {text_digest(text): text for text in texts}
    return {keys[key] for key in cache.rows(digest, keys, unpack_statistics)}


def store(cache, model):
    rows = [
        (text_digest(text), pack_statistics(value))
        for text, value in zip(TEXTS, model.token_statistics(TEXTS), strict=True)
    ]
    cache.write_rows(model.digest, "table", rows)


def same(found, expected):
    assert len(found) == len(expected)
    for entry, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(entry.token_ids, other.token_ids)
        np.testing.assert_array_equal(columns_of(entry), columns_of(other))
        np.testing.assert_array_equal(entry.offsets, other.offsets)


# What is kept


@settings(max_examples=30)
@given(st.text(max_size=30))
def test_what_is_unpacked_is_what_was_packed(text):
    statistics = next(model(units="characters").token_statistics([text]))
    found = unpack_statistics(pack_statistics(statistics))
    same([found], [statistics])
    assert [getattr(found, name).dtype for name in TokenStatistics.__slots__] == [
        getattr(statistics, name).dtype for name in TokenStatistics.__slots__
    ]


def test_a_text_that_is_held_does_not_run_again(opened):
    expected = list(model().token_statistics(TEXTS))
    first, second = model(), model()
    same(scored(first, opened, TEXTS), expected)
    same(scored(second, opened, TEXTS[::-1]), expected[::-1])
    assert first.scored == TEXTS
    assert second.scored == []


def test_it_is_a_scorer_with_the_models_own_name_and_digests(opened):
    inner = model()
    scorer = CachedScorer(inner, opened)
    assert isinstance(scorer, TokenScorer)
    for name in ("name", "digest", "tokenizer_digest", "vocabulary_size"):
        assert getattr(scorer, name) == getattr(inner, name)


def test_equal_texts_run_once_and_all_get_their_values(opened):
    inner = model()
    found = scored(inner, opened, [TEXTS[0], TEXTS[1], TEXTS[0]])
    assert inner.scored == TEXTS[:2]
    same([found[0]], [found[2]])


def test_more_texts_than_one_query_looks_up(opened, monkeypatch):
    monkeypatch.setattr(cached_models, "LOOKUP", 7)
    monkeypatch.setattr("assay.models.cache.LOOKUP", 7)
    scored(model(), opened, TEXTS[::2])
    inner = model()
    same(scored(inner, opened, TEXTS), list(model().token_statistics(TEXTS)))
    assert sorted(inner.scored) == sorted(TEXTS[1::2])


def test_another_model_finds_nothing(opened):
    for others in range(5, 9):  # four digests: whatever their order, each meets a smaller and a larger one
        another = model(read=TEXTS[:others])
        scored(another, opened, TEXTS)
        assert another.scored == TEXTS
        for held in range(5, others + 1):
            again = model(read=TEXTS[:held])
            same(scored(again, opened, TEXTS[:1]), list(model(read=TEXTS[:held]).token_statistics(TEXTS[:1])))
            assert again.scored == []


def test_what_the_cache_holds_comes_before_the_model_runs(opened):
    scored(model(), opened, TEXTS[20:])
    inner = model()
    first = next(CachedScorer(inner, opened).completed(TEXTS))
    assert sorted(index for index, _ in first) == list(range(20, 40))
    assert inner.scored == []


def test_what_is_held_does_not_pile_up_behind_what_is_missing(opened, monkeypatch):
    """In order, the first block is given before the second is looked up, and a text of both blocks runs once."""
    monkeypatch.setattr(cached_models, "BLOCK", 4)
    scored(model(), opened, TEXTS[1:])
    looked_up = []
    rows = opened.rows
    monkeypatch.setattr(opened, "rows", lambda digest, keys, read: looked_up.extend(keys) or rows(digest, keys, read))
    inner = model()
    texts = [*TEXTS, TEXTS[0]]
    found = CachedScorer(inner, opened).token_statistics(texts)
    first = [next(found) for _ in range(4)]
    assert looked_up == [text_digest(text) for text in TEXTS[:4]]
    same([*first, *found], list(model().token_statistics(texts)))
    assert inner.scored == [TEXTS[0]]


def test_a_batch_is_in_the_file_before_anyone_sees_it(opened, path):
    inner = model(batch_size=4)
    for batch in CachedScorer(inner, opened).completed(TEXTS):
        with StatisticsCache(path) as other:
            assert lookup(other, inner.digest, [TEXTS[index] for index, _ in batch]) == {
                TEXTS[index] for index, _ in batch
            }


def test_no_texts_ask_nobody(opened):
    assert scored(model(), opened, []) == []
    assert opened.info().entries == 0


def test_a_lone_surrogate_has_a_digest_of_its_own(opened):
    assert text_digest("a\ud800") != text_digest("a\ufffd")
    scored(model(), opened, ["a \ud800 b"])
    assert opened.info().entries == 1


# Death and company

SCORE = """
import os, signal, sys
from pathlib import Path
from assay.models import CachedScorer, StatisticsCache
from support.table_model import TableModel

path, log, name, die_at_text, die_at_commit = sys.argv[1:]
texts = [f"def f_{index}(x):\\n    return x + {index}\\n" for index in range(40)]

class Watched(TableModel):
    def _statistics(self, text):
        if len(self.scored) == int(die_at_text):
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(log).open("a") as file:
            file.write(f"{texts.index(text)}\\n")
        return super()._statistics(text)

model = Watched.trained(texts[:5], name=name, batch_size=4, order=2 + (name == "other"))
commits = 0
def watch(sql):
    global commits
    commits += sql == "COMMIT"
    if commits == int(die_at_commit):
        os.kill(os.getpid(), signal.SIGKILL)

print("ready", flush=True)
sys.stdin.readline()
with StatisticsCache(path) as cache:
    cache._connection.set_trace_callback(watch)
    scorer = CachedScorer(model, cache, on_problem=lambda line: print(line, flush=True))
    print(sum(len(found) for found in scorer.token_statistics(texts)))
"""


def start(path, log, *, name="table", die_at_text=-1, die_at_commit=-1):
    arguments = [sys.executable, "-c", SCORE, path, log, name, str(die_at_text), str(die_at_commit)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(arguments, text=True, env=ENVIRONMENT, **pipes)


@pytest.mark.parametrize("death", [{"die_at_text": 21}, {"die_at_commit": 6}], ids=["computing", "writing"])
def test_a_killed_run_starts_again_where_it_stopped(path, tmp_path, death):
    """20 texts are in the file when the signal comes; the 20 others, and only they, are left to do."""
    log = tmp_path / "log"
    with start(path, log, **death) as first:
        _, errors = first.communicate("go\n")
    assert first.returncode == -signal.SIGKILL, errors
    log.unlink()
    with start(path, log) as second:
        output, errors = second.communicate("go\n")
    assert (second.returncode, errors) == (0, "")
    assert [int(line) for line in log.read_text().split()] == list(range(20, 40))
    expected = sum(len(found) for found in model(order=2).token_statistics(TEXTS))
    assert output == f"ready\n{expected}\n"
    with StatisticsCache(path) as opened:
        assert opened.info().entries == 40


def test_two_processes_fill_one_file_at_once(path, tmp_path):
    """Both begin on a file that is not there yet; two with the same model, one with another."""
    names = ["table", "table", "other"]
    runs = [start(path, tmp_path / f"log{number}", name=name) for number, name in enumerate(names)]
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    for run in runs:
        output, errors = run.communicate()
        assert (run.returncode, errors) == (0, "")
        assert output.strip().isdigit(), "nothing went wrong with the cache"
    with StatisticsCache(path) as opened:
        assert sorted((held.name, held.entries) for held in opened.info().models) == [("other", 40), ("table", 40)]
        assert opened._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert opened._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# A full disk


def test_a_full_disk_is_told_once_and_loses_neither_results_nor_what_was_kept(opened, path):
    scored(model(), opened, TEXTS[:8])
    pages = opened._connection.execute("PRAGMA page_count").fetchone()[0]
    opened._connection.execute(f"PRAGMA max_page_count = {pages}")
    problems = []
    inner = model(batch_size=4)
    same(scored(inner, opened, TEXTS, on_problem=problems.append), list(model().token_statistics(TEXTS)))
    assert inner.scored == TEXTS[8:]
    assert len(problems) == 1
    assert problems[0].startswith(f"cache {path} cannot be written: database or disk is full; going on without")
    opened._connection.execute("PRAGMA max_page_count = 1073741823")
    assert opened.info().entries >= 8
    later = model()
    same(scored(later, opened, TEXTS), list(model().token_statistics(TEXTS)))
    assert not set(later.scored) & set(TEXTS[:8])


def test_a_store_that_fails_has_written_nothing(opened):
    pages = opened._connection.execute("PRAGMA page_count").fetchone()[0]
    opened._connection.execute(f"PRAGMA max_page_count = {pages}")
    inner = model()
    with pytest.raises(CacheError, match="cannot be written"):
        store(opened, inner)
    assert opened.info().entries == 0
    opened._connection.execute("PRAGMA max_page_count = 1073741823")
    store(opened, inner)
    assert opened.info().entries == 40


def test_a_file_that_may_not_grow_stops_the_cache_and_not_the_run(path, tmp_path):
    """The operating system itself refuses the bytes."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))"
    arguments = [sys.executable, "-c", f"{limit}\n{SCORE}", path, tmp_path / "log", "table", "-1", "-1"]
    run = subprocess.run(arguments, input="go\n", capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (run.returncode, run.stderr) == (0, "")
    ready, problem, total = run.stdout.splitlines()
    assert ready == "ready"
    assert problem.endswith("; going on without the cache")
    assert int(total) == sum(len(found) for found in model(order=2).token_statistics(TEXTS))
    with StatisticsCache(path) as opened:
        assert 0 < opened.info().entries < 40


# Damage


@pytest.mark.parametrize(
    "damage", [lambda value: value[:2], lambda value: value[:-40], lambda value: value[:-1] + bytes([value[-1] ^ 1])]
)
def test_a_damaged_entry_is_told_computed_again_and_replaced(opened, caplog, damage):
    scored(model(), opened, TEXTS)
    key = text_digest(TEXTS[3])
    (value,) = opened._connection.execute("SELECT value FROM statistics WHERE text = ?", (key,)).fetchone()
    opened._connection.execute("UPDATE statistics SET value = ? WHERE text = ?", (damage(value), key))
    same(scored(model(), opened, TEXTS), list(model().token_statistics(TEXTS)))
    assert [record.getMessage() for record in caplog.records] == [
        f"cache {opened.path}: 1 damaged entries are computed again"
    ]
    caplog.clear()
    scored(model(), opened, TEXTS)
    assert not caplog.records


def test_a_problem_goes_to_the_log_unless_someone_listens(opened, caplog):
    opened.close()
    scored(model(), opened, TEXTS[:2])
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "going on without the cache" in caplog.text


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(CacheError, match="is not a usable statistics cache: file is not a database"):
        StatisticsCache(path)
    assert path.read_bytes() == b"not a database" * 1000


def test_a_file_damaged_in_the_middle_stops_the_cache_and_not_the_run(path):
    with StatisticsCache(path) as opened:
        scored(model(), opened, TEXTS)
    whole = bytearray(path.read_bytes())
    whole[4096:] = b"\x5a" * (len(whole) - 4096)
    path.write_bytes(whole)
    problems = []
    with StatisticsCache(path) as opened:
        same(scored(model(), opened, TEXTS, on_problem=problems.append), list(model().token_statistics(TEXTS)))
    assert len(problems) == 1


def test_another_programs_database_is_refused_and_left_alone(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE photographs (id INTEGER)")
    other.close()
    with pytest.raises(CacheError, match="is another program's database: name another file"):
        StatisticsCache(path)
    other = sqlite3.connect(path)
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("photographs",)]
    other.close()


def test_a_cache_of_another_format_is_refused(path):
    StatisticsCache(path).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(CacheError, match="has format 7: expected 1; delete it or name another"):
        StatisticsCache(path)


def test_a_place_where_no_file_can_be_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot be opened"):
        StatisticsCache(tmp_path / "file" / "statistics.sqlite")
    with pytest.raises(CacheError, match="cannot be opened"):
        StatisticsCache(tmp_path)


def test_a_cache_that_is_closed_is_an_error_to_use(path):
    opened = StatisticsCache(path)
    opened.close()
    opened.close()
    for use in (opened.info, opened.clear, lambda: lookup(opened, "0", ["a"]), lambda: opened.write_rows("0", "m", [])):
        with pytest.raises(CacheError):
            use()


def test_the_last_reference_may_end_in_another_thread(path, monkeypatch):
    """Garbage is collected in whatever thread runs; the file is closed there, and nothing is raised."""
    raised = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: raised.append(error))
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    held = [StatisticsCache(path)]
    other = threading.Thread(target=held.clear)
    other.start()
    other.join()
    assert raised == []


# Looking and clearing


def test_info_says_what_is_held_of_which_model(opened, path):
    scored(model("first"), opened, TEXTS[:3])
    scored(model("second", read=TEXTS), opened, TEXTS)
    info = opened.info()
    assert info.path == path
    assert info.entries == 43
    assert [(held.name, held.entries) for held in info.models] == [("first", 3), ("second", 40)]
    assert info.models[0].digest == model().digest
    assert info.bytes == sum(file.stat().st_size for file in path.parent.iterdir())


@pytest.mark.parametrize("by", [lambda entry: entry.name, lambda entry: entry.digest, lambda entry: entry.digest[:8]])
def test_clearing_one_model_leaves_the_others(opened, by):
    first, second = model("first"), model("second", read=TEXTS)
    scored(first, opened, TEXTS[:3])
    scored(second, opened, TEXTS)
    assert opened.clear(by(second)) == 40
    assert [(held.name, held.entries) for held in opened.info().models] == [("first", 3)]


def test_clearing_everything_gives_the_space_back(opened):
    empty = opened.info().bytes
    scored(model(), opened, TEXTS)
    full = opened.info().bytes
    assert opened.clear() == 40
    assert opened.info().entries == 0
    assert opened.info().models == ()
    assert opened.info().bytes < full
    assert opened.info().bytes <= empty + 2 * 4096


def test_clearing_an_unknown_model_clears_nothing(opened):
    scored(model(), opened, TEXTS)
    assert opened.clear("unknown") == 0
    assert opened.clear(model().digest[:5]) == 0
    assert opened.info().entries == 40


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ASSAY_CACHE": "/chosen", "XDG_CACHE_HOME": "/xdg"}, "/chosen/statistics.sqlite"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/assay/statistics.sqlite"),
    ],
)
def test_the_environment_says_where_the_cache_is(monkeypatch, environment, expected):
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_cache_path() == Path(expected)


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", ".cache/assay"), ("darwin", "Library/Caches/assay"), ("win32", "local/assay")],
)
def test_each_platform_has_its_own_place(monkeypatch, tmp_path, platform, folder):
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(sys, "platform", platform)
    assert default_cache_path() == tmp_path / folder / "statistics.sqlite"


def test_without_a_path_the_default_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "new" / "folder"))
    with StatisticsCache() as opened:
        assert opened.path == tmp_path / "new" / "folder" / "statistics.sqlite"
        assert opened.path.is_file()
