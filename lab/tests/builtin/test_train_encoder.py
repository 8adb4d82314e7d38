"""The encoder's training end to end, on a tiny recipe."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.ground_truth import read_manifest
from assay.retrieval.encoding import hashed_features, open_encoder
from assay.training import STATE
from assay.training.resuming import LOG
from assay_lab.builtin import control_prepared, encoder_corpus
from assay_lab.builtin.control_corpus import SourceText
from assay_lab.builtin.encoder_corpus import EncoderCorpusRecipe, blocks_of, prepare_encoder_corpus, read_encoder_corpus
from assay_lab.builtin.export_encoder import export_encoder
from assay_lab.builtin.fragment_pairs import FragmentRecipe, as_snippet, draw_fragment
from assay_lab.builtin.train_encoder import (
    CORPUS,
    BagModel,
    EncoderMachine,
    EncoderRecipe,
    batches_of,
    load_trained,
    schedule,
    train_encoder,
    validation_mrr,
)
from support.tiny import MODULES

TINY_CORPUS = EncoderCorpusRecipe(package_cap=60_000, validation_files=2, roots=("jinja2", "rich"), headers=())
TINY_ENCODER = EncoderRecipe(corpus=TINY_CORPUS, dimensions=16, row_bits=6, batch=12, steps=8, warm_up=1)
HERE = EncoderMachine(device="cpu")


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """The folder of the tiny corpus."""
    folder = tmp_path_factory.mktemp("encoder") / CORPUS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder_corpus, "library_paths", lambda _: MODULES)
        prepare_encoder_corpus(folder, TINY_CORPUS)
    return folder


@pytest.fixture(scope="session")
def trained_encoder(encoder_folder, tmp_path_factory):
    """The folder of an unbroken run."""
    out = tmp_path_factory.mktemp("trained_encoder")
    (out / CORPUS).symlink_to(encoder_folder)
    assert train_encoder(out, TINY_ENCODER, HERE)
    return out


@pytest.fixture
def fresh(encoder_folder, tmp_path):
    (tmp_path / CORPUS).symlink_to(encoder_folder)
    return tmp_path


def learned(out):
    return load_trained(out, TINY_ENCODER)[0].state_dict()


def log(out):
    """The loss curve, without the times."""
    records = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    return [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def test_the_corpus_holds_functions_with_their_features_and_its_record(encoder_folder):
    corpus = read_encoder_corpus(encoder_folder)
    header = read_manifest(encoder_folder / "manifest.jsonl.gz").header
    assert header["functions_trained"] == corpus.trained < len(corpus.snippets)
    for at in (0, len(corpus.snippets) - 1):
        wanted = hashed_features([corpus.snippets[at].text]).hashes
        assert corpus.features([at]).hashes.tolist() == wanted.tolist()
    assert corpus.seen.sum() == corpus.starts[corpus.trained]


def test_no_function_of_a_held_out_file_is_trained_on(encoder_folder):
    entries = read_manifest(encoder_folder / "manifest.jsonl.gz").entries
    corpus = read_encoder_corpus(encoder_folder)
    assert {entry.dose for entry in entries} == {0, 1}
    assert sum(entry.tokens for entry in entries if entry.dose == 0) == len(corpus.snippets) - corpus.trained
    assert len({entry.path for entry in entries}) == len(entries)


def test_a_function_of_the_standard_library_is_not_trained_on(install, monkeypatch, tmp_path):
    """Nor one that shares half of its shingles with one."""
    own = [
        f"def f{n}(rows, {n * 'k'}):\n" + "".join(f"    rows.m{n}_{i}({i})\n" for i in range(20)) for n in range(1, 9)
    ]
    copied = "def stolen(a, b):\n" + "".join(f"    a.step{i}(b, {i})\n" for i in range(20))
    install("p", ("License-Expression", "MIT"), files={f"p/m{n}.py": text for n, text in enumerate([*own, copied])})
    library = [type("F", (), {"text": copied + "    return a\n"})]
    monkeypatch.setattr(encoder_corpus, "library_functions", lambda *_: library)
    prepare_encoder_corpus(tmp_path / "c", replace(TINY_CORPUS, roots=("p",), validation_files=1))
    texts = [snippet.text for snippet in read_encoder_corpus(tmp_path / "c").snippets]
    assert sorted(texts) == sorted(own)


def test_headers_are_taken_block_by_block(install, monkeypatch, tmp_path):
    body = "".join(f"  total += rows[{i}] * {i};\n" for i in range(12))
    header = f"// one\nint first(int* rows) {{\n{body}}}\n\nint second(int* rows) {{\n  int twice = 2;\n{body}}}\n"
    python = [f"def f{n}(rows):\n" + "".join(f"    rows.m{n}_{i}({i})\n" for i in range(20)) for n in range(3)]
    files = {"p/include/a.h": header, "p/other/b.h": header.replace("one", "two")}
    install("p", ("License-Expression", "MIT"), files=files | {f"p/m{n}.py": text for n, text in enumerate(python)})
    monkeypatch.setattr(encoder_corpus, "library_functions", lambda *_: [])
    wanted = replace(TINY_CORPUS, roots=("p",), validation_files=1, headers=("p/include/",))
    prepare_encoder_corpus(tmp_path / "c", wanted)
    found = read_encoder_corpus(tmp_path / "c").snippets
    assert [entry.text.split("(")[0] for entry in found if entry.language == "cpp"] == ["// one\nint first"]


def test_a_block_ends_where_a_line_begins_with_a_brace():
    assert list(blocks_of("int a() {\n  {\n  }\n}\n\nint b;\nvoid c() {\n};\nrest\n")) == [
        "int a() {\n  {\n  }\n}\n",
        "int b;\nvoid c() {\n};\n",
    ]


def test_another_recipes_corpus_is_refused(encoder_folder):
    with pytest.raises(DataError, match=r"different in seed"):
        prepare_encoder_corpus(encoder_folder, replace(TINY_CORPUS, seed=21))


def test_too_little_code_is_told(install, monkeypatch, tmp_path):
    monkeypatch.setattr(encoder_corpus, "library_functions", lambda *_: [])
    install("p", ("License-Expression", "MIT"), files={"p/a.py": "x = 1\n" * 50})
    with pytest.raises(DataError, match="give 0 functions"):
        prepare_encoder_corpus(tmp_path / "c", replace(TINY_CORPUS, roots=("p",)))


def test_training_lowers_the_loss_and_ends_at_its_last_step(trained_encoder):
    records = log(trained_encoder)
    assert [record["step"] for record in records] == list(range(1, 9))
    assert records[-1]["loss"] < records[0]["loss"]
    assert "validation_mrr" in records[-1]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(trained_encoder, fresh):
    for _ in range(3):
        finished = train_encoder(fresh, TINY_ENCODER, replace(HERE, stop_after=3))
    assert finished
    assert log(fresh) == log(trained_encoder)
    for name, value in learned(trained_encoder).items():
        assert torch.equal(learned(fresh)[name], value), name


def test_a_batch_in_parts_learns_the_same(trained_encoder, fresh):
    train_encoder(fresh, TINY_ENCODER, replace(HERE, pairs_at_once=5))
    for name, value in learned(trained_encoder).items():
        torch.testing.assert_close(learned(fresh)[name], value, rtol=1e-3, atol=1e-4)


def test_what_was_logged_after_the_checkpoint_is_done_again(fresh):
    train_encoder(fresh, TINY_ENCODER, replace(HERE, stop_after=2))
    with (fresh / LOG).open("a") as file:
        file.write('{"step": 3}\n')
    train_encoder(fresh, TINY_ENCODER, replace(HERE, stop_after=1))
    assert [record["step"] for record in log(fresh)] == [1, 2, 3]
    assert "loss" in log(fresh)[2]


def test_progress_is_told_after_each_step(fresh):
    told = []
    train_encoder(fresh, TINY_ENCODER, replace(HERE, stop_after=2), lambda record, steps: told.append((record, steps)))
    assert [(record["step"], steps) for record, steps in told] == [(1, 8), (2, 8)]


@pytest.mark.parametrize(
    ("recipe", "machine", "told"),
    [
        (TINY_ENCODER, replace(HERE, device="abacus"), "no device 'abacus'"),
        (replace(TINY_ENCODER, batch=100_000), HERE, "expected at least one batch of 100000"),
    ],
)
def test_what_cannot_be_done_is_told(fresh, recipe, machine, told):
    with pytest.raises(DataError, match=told):
        train_encoder(fresh, recipe, machine)


def test_another_recipes_run_and_a_damaged_checkpoint_are_refused(fresh):
    train_encoder(fresh, TINY_ENCODER, replace(HERE, stop_after=1))
    with pytest.raises(DataError, match="a run of another recipe"):
        train_encoder(fresh, replace(TINY_ENCODER, seed=3), HERE)
    (fresh / STATE).write_bytes(b"x")
    with pytest.raises(DataError, match="expected a state of `assay lab builtin train-encoder`"):
        train_encoder(fresh, TINY_ENCODER, HERE)
    with pytest.raises(DataError, match="holds no run"):
        load_trained(fresh / "nothing", TINY_ENCODER)


def test_the_exported_encoder_is_the_model_up_to_rounding(trained_encoder, tmp_path):
    record = export_encoder(trained_encoder, tmp_path, TINY_ENCODER, hardware="a test")
    model, corpus, *_ = load_trained(trained_encoder, TINY_ENCODER)
    exported = open_encoder(str(tmp_path))
    texts = [snippet.text for snippet in corpus.snippets[:20]]
    cosines = (exported.encode(texts) * model.encoder().encode(texts)).sum(axis=1)
    assert cosines.min() > 0.999
    assert record.finished
    assert json.loads((tmp_path / "training.json").read_text())["weights_sha256"] == record.weights_sha256


def test_the_model_in_torch_and_the_encoder_agree(encoder_folder):
    corpus = read_encoder_corpus(encoder_folder)
    model = BagModel(TINY_ENCODER, corpus)
    torch.nn.init.normal_(model.learned)
    with torch.no_grad():
        vectors = torch.nn.functional.normalize(model(corpus.features([3, 5])), dim=1).numpy()
    texts = [corpus.snippets[at].text for at in (3, 5)]
    np.testing.assert_allclose(model.encoder().encode(texts), vectors, atol=1e-5)


def test_a_mean_reciprocal_rank_is_between_0_and_1(encoder_folder):
    corpus = read_encoder_corpus(encoder_folder)
    assert 0 < validation_mrr(BagModel(TINY_ENCODER, corpus).encoder(), corpus, TINY_ENCODER) <= 1


def test_no_function_is_twice_in_a_batch_and_an_epoch_has_each_once():
    order = batches_of(50, replace(TINY_ENCODER, batch=10))
    epoch = np.concatenate([order(step) for step in range(5)])
    assert sorted(epoch.tolist()) == list(range(50))
    assert order(5).tolist() != order(0).tolist()


def test_rates_rise_stay_and_fall():
    recipe = replace(TINY_ENCODER, steps=100, warm_up=10, decay=0.5)
    assert [round(schedule(recipe)(step), 2) for step in (0, 9, 40, 75, 99)] == [0.1, 1.0, 1.0, 0.5, 0.02]


def test_fragments_are_as_the_recipe_says():
    text = 'def f(rows):\n    """Doc."""\n' + "".join(f"    rows_{i} = rows + {i}  # why\n" for i in range(40))
    snippet = as_snippet(text, "python", 10)
    plain = FragmentRecipe(
        tokens_share=1.0, bare_share=1.0, adapted_share=0, renamed_share=0, variant_share=0, edited_share=0
    )

    def drawn(recipe, seed=1):
        return draw_fragment([snippet], 0, recipe, random.Random(seed))

    assert drawn(plain) in snippet.bare
    assert "rows" not in drawn(replace(plain, renamed_share=1.0))
    assert "rows_" not in drawn(replace(plain, variant_share=1.0))
    assert drawn(replace(plain, edited_share=1.0)) != drawn(plain)
    assert any(drawn(replace(plain, adapted_share=1.0), seed) not in snippet.bare for seed in range(80))
    assert "#" in drawn(replace(plain, bare_share=0.0))


def test_a_function_of_comments_is_no_snippet():
    assert as_snippet('def f():\n    """' + "word " * 100 + '"""\n', "python", 10) is None


def go_file(seed):
    """Return a file of the control corpus with one long function, different for each seed."""
    draw = random.Random(seed)
    lines = "".join(f"\tlimit{draw.randrange(10**6)} := weigh({draw.randrange(10**6)}, {at})\n" for at in range(20))
    text = f"package p\n\nfunc share{seed}(x int) int {{\n{lines}\treturn x\n}}\n"
    return SourceText("go", "debian-source", "shop", "1.0", f"shop/{seed}.go", "MIT", text)


def test_functions_of_other_languages_come_from_the_corpus_of_the_control_model(tmp_path, monkeypatch):
    files = [go_file(seed) for seed in range(4)]
    monkeypatch.setattr(control_prepared, "read_control_files", lambda _, **choice: files[: choice["language_cap"]])
    monkeypatch.setattr(encoder_corpus, "library_paths", lambda _: MODULES)
    recipe = EncoderCorpusRecipe(roots=(), headers=(), language_cap=4, validation_files=1)
    prepare_encoder_corpus(tmp_path / "c", recipe, tmp_path / "control")
    corpus = read_encoder_corpus(tmp_path / "c")
    assert corpus.trained == 3
    assert {snippet.language for snippet in corpus.snippets} == {"go"}
    assert all(snippet.text.startswith("func share") for snippet in corpus.snippets)
    manifest = read_manifest(tmp_path / "c" / "manifest.jsonl.gz")
    assert {(entry.language, entry.registry) for entry in manifest.entries} == {("go", "debian-source")}
    with pytest.raises(DataError, match="expected a corpus of `build-control-corpus`"):
        prepare_encoder_corpus(tmp_path / "d", recipe)
