"""SourceTracker is trained as the paper says, goes on after a kill, and its output is an encoder of an index."""

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from assay.corpora import Document, Origin
from assay.errors import DataError, ModelError
from assay.models import builtin_folder
from assay.provenance import CodeIndex
from assay.retrieval import open_encoder
from assay_lab.cli.app import app
from assay_lab.clones import TokenizedText
from assay_lab.papers.hst.corpus import installed_functions
from assay_lab.papers.hst.source_tracker import (
    SourceTracker,
    TrackerMachine,
    TrackerRecipe,
    divided,
    first_layers,
    long_enough,
    train_tracker,
)

MODEL = str(builtin_folder("small"))
RECIPE = TrackerRecipe(
    model=MODEL, layers=1, dimensions=48, batch=6, steps=3, warm_up=1, tokens=20, rate=1e-3, max_length=64
)
MACHINE = TrackerMachine(device="cpu", pairs_at_once=4)


@pytest.fixture(scope="module")
def snippets():
    return long_enough(islice(installed_functions(), 120), RECIPE.tokens)[:40]


@pytest.fixture(scope="module")
def run(snippets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracker") / "run"
    return folder, train_tracker(folder, snippets, RECIPE, machine=MACHINE)


def test_the_defaults_are_the_published_settings():
    recipe = TrackerRecipe(model="m")
    assert (recipe.layers, recipe.dimensions, recipe.batch, recipe.steps) == (9, 1024, 2048, 2000)
    assert (recipe.rate, recipe.warm_up, recipe.tokens, recipe.adapted_share) == (6e-4, 500, 60, 0.5)
    fragments = recipe.fragments
    assert (fragments.tokens_share, fragments.renamed_share, fragments.variant_share, fragments.edited_share) == (
        1,
        0,
        0,
        0,
    )


def test_training_begins_with_the_geometry_of_the_first_layers():
    encoder = first_layers(RECIPE)
    model = SourceTracker(encoder, RECIPE).eval()
    texts = ["def f(x):\n    return x\n", "class A:\n    pass\n", "for i in range(10):\n    print(i)\n"]
    with torch.no_grad():
        vectors = torch.nn.functional.normalize(model(texts), dim=1).numpy()
    before = encoder.encode(texts)
    # 48 dimensions of 128 keep the cosines roughly, 128 of 128 exactly
    wide = replace(RECIPE, dimensions=encoder.dimensions)
    with torch.no_grad():
        same = torch.nn.functional.normalize(SourceTracker(encoder, wide).eval()(texts), dim=1).numpy()
    assert vectors.shape == (3, 48)
    assert same @ same.T == pytest.approx(before @ before.T, abs=1e-4)


def test_the_encoder_has_the_layers_and_dimensions_that_were_asked_for(run):
    folder, done = run
    assert done.finished
    assert done.steps == 3
    encoder = open_encoder(done.folder)
    assert encoder.dimensions == 48
    config = json.loads((folder / "encoder" / "config.json").read_text("utf-8"))
    assert config["num_hidden_layers"] == 1
    record = json.loads((folder / "record.json").read_text("utf-8"))
    assert record["recipe"]["batch"] == 6
    assert 0 <= record["mrr"] <= 1


def test_an_index_takes_the_encoder(run, tmp_path):
    encoder = open_encoder(run[1].folder)
    texts = [
        "def f(x):\n    return x + 1\n",
        "def read(path):\n    with open(path) as file:\n        return file.read()\n",
    ]
    with CodeIndex.create(tmp_path / "index", encoder=encoder) as index:
        index.add(
            Document(text, "python", "function", "f", (Origin("s", f"{at}.py"),)) for at, text in enumerate(texts)
        )
        index.commit()
        assert index.candidates_by_vector(texts[1], 1)[0].tolist() == [2]


def test_a_run_that_was_stopped_ends_with_the_weights_of_an_unbroken_one(run, snippets, tmp_path):
    first = train_tracker(tmp_path / "run", snippets, RECIPE, machine=replace(MACHINE, stop_after=2))
    assert not first.finished
    done = train_tracker(tmp_path / "run", snippets, RECIPE, machine=MACHINE)
    assert done.finished
    texts = ["def f(x):\n    return x\n"]
    np.testing.assert_allclose(
        open_encoder(done.folder).encode(texts), open_encoder(run[1].folder).encode(texts), atol=1e-5
    )


def test_the_parts_of_a_batch_change_nothing(run, snippets, tmp_path):
    done = train_tracker(tmp_path / "run", snippets, RECIPE, machine=replace(MACHINE, pairs_at_once=6))
    texts = ["def f(x):\n    return x\n"]
    np.testing.assert_allclose(
        open_encoder(done.folder).encode(texts), open_encoder(run[1].folder).encode(texts), atol=1e-3
    )


def test_held_out_functions_are_not_trained_on(snippets):
    held_out, trained = divided(snippets)
    assert len(held_out) == 4
    assert not {each.text for each in held_out} & {each.text for each in trained}
    assert divided(snippets[::-1]) == (held_out, trained)
    assert all(len(TokenizedText.of(each.text, "python")) >= RECIPE.tokens for each in snippets)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"layers": 99}, ModelError, "received 99 layers to keep; expected 1 to"),
        ({"model": "builtin:fragments", "max_length": None}, ModelError, "received a bag of features"),
        ({"batch": 4000}, DataError, "expected at least one batch of 4,000"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(changes, error, words, snippets, tmp_path):
    with pytest.raises(error, match=words) as caught:
        train_tracker(tmp_path / "run", snippets, replace(RECIPE, **changes), machine=MACHINE)
    assert "\n" not in str(caught.value)


def test_a_folder_of_another_run_is_refused(run, snippets):
    with pytest.raises(DataError, match="a run of another recipe, different in steps"):
        train_tracker(run[0], snippets, replace(RECIPE, steps=4), machine=MACHINE)


def test_the_command_trains_on_a_folder_and_says_what_it_gave(snippets, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for at, snippet in enumerate(snippets):
        (corpus / f"{at}.py").write_text(snippet.text, "utf-8")
    words = ["--layers", "1", "--dimensions", "48", "--batch", "6", "--steps", "2", "--warm-up", "1", "--tokens", "20"]
    words += ["--max-length", "64", "--pairs-at-once", "6"]
    done = CliRunner().invoke(app, ["train-encoder", MODEL, str(corpus), "-o", str(tmp_path / "run"), *words])
    assert done.exit_code == 0, done.output
    assert "held-out functions: MRR" in done.stdout
    assert open_encoder(str(tmp_path / "run" / "encoder")).dimensions == 48
