"""A corpus small enough to train on in seconds, and distributions made up for one test."""

import importlib.metadata
import sys

import pytest

from assay.ground_truth import library_functions
from assay.ground_truth.doses import library_root
from assay_lab.builtin import base_corpus
from assay_lab.builtin.prepared import prepare_corpus
from assay_lab.builtin.train_base import CORPUS, train_base
from support.tiny import CPU, MODULES, TINY


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory):
    """The folder of the tiny recipe's corpus: two packages with what they need, and a few library modules."""
    folder = tmp_path_factory.mktemp("tiny") / CORPUS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_corpus, "library_paths", lambda _: MODULES)
        prepare_corpus(folder, TINY.corpus)
    return folder


@pytest.fixture(scope="session")
def trained(tiny_corpus, tmp_path_factory):
    """The folder of an unbroken run of the tiny recipe."""
    out = tmp_path_factory.mktemp("trained")
    (out / CORPUS).symlink_to(tiny_corpus)
    assert train_base(out, TINY, CPU)
    return out


@pytest.fixture
def fresh_run(tiny_corpus, tmp_path):
    """A folder that holds the tiny corpus and no run."""
    (tmp_path / CORPUS).symlink_to(tiny_corpus)
    return tmp_path


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a made-up distribution: its files, and its metadata as (field, value) pairs."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def installed(name, *metadata, files=()):
        for path, text in dict(files).items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        info = site / f"{name.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        fields = [("Metadata-Version", "2.4"), ("Name", name), ("Version", "1.5"), *metadata]
        (info / "METADATA").write_text("".join(f"{field}: {value}\n" for field, value in fields))
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in dict(files)))
        importlib.invalidate_caches()
        return importlib.metadata.distribution(name)

    yield installed
    sys.path_importer_cache.pop(str(site), None)


@pytest.fixture(scope="session")
def library_texts():
    """Texts of the functions of the few modules, by digest."""
    return {function.digest: function.text for function in library_functions(library_root(), MODULES)}
