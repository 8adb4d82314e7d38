"""Workers of a Ray cluster give what this process gives, whatever dies on the way.

Most facts are tested with workers that this process plays; those of a real cluster are at the end.
"""

import json
import os
from functools import partial

import pytest

pytest.importorskip("ray", reason="ray is not installed")

from ray_workers import local_cluster
from typer.testing import CliRunner

from assay.cli.app import app
from assay.errors import MissingCapability, ModelError
from assay.models import ModelSettings, open_model
from assay.types import TokenScorer
from assay_ray import models as ray_backend
from assay_ray.cluster import RayCluster
from assay_ray.models import SHARD_CHARACTERS, SHARD_TEXTS, RayScorer, RayWorkers, open_on_ray, shards_of

TEXTS = [
    f"def function_{n}(value):\n    return value + {n} * {'value' if n % 3 else 'other'}\n" * (1 + n % 4)
    for n in range(9)
]
NAME = "builtin:small"
RAY = f"ray:{NAME}@local"

# the settings of Ray Data warn of themselves when they are made, whoever uses them
pytestmark = pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\.")
score_in_worker = ray_backend._score


class Died(BaseException):
    """Stands for the death of a worker."""


class PlayedCluster:
    """Two machines of one core, played by this process; a task whose worker dies twice is given up."""

    smallest_node = 1

    def __init__(self, address):
        self.address = address
        self.resources = {"CPU": 2.0}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing is open."""

    def each(self, function, tasks, *, cores, accelerators):
        assert (cores, accelerators) == (1, 0)
        for task in tasks:
            yield self.alone(function, task) or self.alone(function, task)

    def alone(self, function, task, **_):
        try:
            return function(task)
        except Died:
            return None


@pytest.fixture
def played(monkeypatch):
    monkeypatch.setattr(ray_backend, "RayCluster", PlayedCluster)
    monkeypatch.setattr(ray_backend, "SHARD_TEXTS", 4)


@pytest.fixture(scope="module")
def expected():
    return list(open_model(NAME).token_statistics(TEXTS))


def assert_equal(results, expected):
    for result, own in zip(results, expected, strict=True):
        assert result.token_ids.tolist() == own.token_ids.tolist()
        assert result.log_probs == pytest.approx(own.log_probs, rel=1e-5, abs=1e-6)
        assert result.variance == pytest.approx(own.variance, rel=1e-4, abs=1e-6)


def test_a_model_of_workers_has_the_capabilities_of_the_model(played, expected):
    model, own = open_model(RAY), open_model(NAME)
    assert isinstance(model, TokenScorer)
    assert (model.name, model.digest, model.tokenizer_digest) == (NAME, own.digest, own.tokenizer_digest)
    assert model.vocabulary_size == own.vocabulary_size
    assert_equal(model.token_statistics(TEXTS), expected)


@pytest.mark.parametrize("deaths", [1, 2])
def test_deaths_of_workers_change_nothing(played, expected, monkeypatch, deaths):
    """After the second one the texts of the shard are scored alone."""
    model = open_model(RAY)
    remaining = [Died()] * deaths

    def dying(texts, **bound):
        if remaining:
            raise remaining.pop()
        return score_in_worker(texts, **bound)

    monkeypatch.setattr(ray_backend, "_score", dying)
    assert_equal(model.token_statistics(TEXTS), expected)
    assert not remaining


def test_a_text_that_ends_its_worker_ends_the_run_with_its_length(played, monkeypatch):
    model = open_model(RAY)

    def dying(*_, **__):
        raise Died

    monkeypatch.setattr(ray_backend, "_score", dying)
    with pytest.raises(ModelError, match="scoring a text of 8 characters ends its worker"):
        list(model.completed(["x = 1234"]))


def test_the_cache_joins_runs_on_a_cluster_and_in_one_process(played, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), "utf-8")
    command = ["score", NAME, str(data), "--scores", "loss"]
    far = CliRunner().invoke(app, ["score", RAY, *command[2:]], catch_exceptions=False)

    def unused(*_):
        raise AssertionError("the cache has everything")

    monkeypatch.setattr("assay.models.transformers_backend.TransformersModel.completed", unused)
    near = CliRunner().invoke(app, command, catch_exceptions=False)
    assert (far.exit_code, near.exit_code) == (0, 0)
    assert far.stdout == near.stdout


def test_an_error_of_a_worker_is_one_line(played):
    with pytest.raises(ModelError, match="nowhere") as caught:
        open_model("ray:./nowhere/at/all")
    assert "\n" not in str(caught.value)


def test_what_a_cluster_does_not_give_is_refused(played):
    with pytest.raises(ModelError, match="behind a server already"):
        open_model("ray:openai:m@http://localhost:1/v1")
    with pytest.raises(MissingCapability, match="a Ray cluster generates no text"):
        open_model(RAY).generate(["x"], max_new_tokens=1)


@pytest.mark.parametrize(
    ("name", "model", "address"),
    [
        ("ray:builtin:small", "builtin:small", "auto"),
        ("ray:/models/a@b@head:6379", "/models/a@b", "head:6379"),
        ("ray:owner/name@ray://head:10001", "owner/name", "ray://head:10001"),
    ],
)
def test_a_name_holds_model_and_address(monkeypatch, name, model, address):
    seen = []

    class AskedError(Exception):
        pass

    def workers(*arguments):
        seen.extend(arguments)
        raise AskedError

    monkeypatch.setattr(ray_backend, "RayWorkers", workers)
    with pytest.raises(AskedError):
        open_on_ray(name, ModelSettings())
    assert (seen[0], RayCluster(seen[2]).address) == (model, address)


@pytest.mark.parametrize("name", ["ray:", "ray:@local", "ray:model@"])
def test_a_name_without_model_or_address_is_refused(name):
    with pytest.raises(ModelError, match="expected ray:MODEL, or ray:MODEL@ADDRESS"):
        open_on_ray(name, ModelSettings())


def test_shards_hold_every_text_once_and_little_work_each():
    texts = ["a" * (n * 97 % 5000) for n in range(300)] + ["b" * (2 * SHARD_CHARACTERS)]
    shards = shards_of(texts)
    assert sorted(index for shard in shards for index in shard) == list(range(301))
    assert shards[0] == [300]
    assert all(len(shard) <= SHARD_TEXTS for shard in shards)
    assert all(sum(len(texts[index]) for index in shard) <= SHARD_CHARACTERS for shard in shards[1:])
    assert shards_of([]) == []


# a real cluster


def killed_once(texts, *, flag, **bound):
    """Score, in a worker that dies at the first shard of all."""
    if not flag.exists():
        flag.touch()
        os._exit(1)
    return score_in_worker(texts, **bound)


@pytest.fixture(scope="module")
def cluster():
    """One worker at a time."""
    with local_cluster(workers=1):
        yield


@pytest.mark.slow
def test_a_worker_killed_on_a_real_cluster_changes_nothing(cluster, expected, monkeypatch, tmp_path):
    flag = tmp_path / "killed"
    monkeypatch.setattr(ray_backend, "SHARD_TEXTS", 4)
    monkeypatch.setattr(ray_backend, "_score", partial(killed_once, flag=flag))
    workers = RayWorkers(NAME, ModelSettings(), "local")
    model = RayScorer(workers, workers.alone(ray_backend._describe, b"", "opening the model"))
    assert_equal(model.token_statistics(TEXTS), expected)
    assert flag.exists()
