"""A place is a folder, or an address of a scheme that a plug-in opens; readers are processes, or a plug-in."""

import pytest

from assay.errors import CorpusIndexError, DataError
from assay.provenance import CodeIndex, create_index, open_index
from assay.provenance.index import IndexSettings, description_at, folder_named
from assay.provenance.index.opening import _BACKENDS
from assay.provenance.index.workers import ProcessReaders, open_readers


def test_a_place_without_scheme_is_a_folder(tmp_path):
    place = str(tmp_path / "code.index")
    assert description_at(place) is None
    create_index(place).close()
    assert description_at(place).profile.name == "default"
    with open_index(place) as index:
        assert isinstance(index, CodeIndex)
    assert folder_named(place, "compacts") == tmp_path / "code.index"


@pytest.mark.parametrize("work", [description_at, create_index, open_index])
def test_an_address_that_nothing_opens_is_one_line_that_names_what_is_missing(work):
    with pytest.raises(CorpusIndexError, match=r"^Other://h/x: nothing installed opens other:// addresses; expected"):
        work("Other://h/x")


def test_a_plug_in_opens_the_addresses_of_its_scheme(monkeypatch):
    class Elsewhere:
        described = staticmethod(lambda place: f"described {place}")
        create = staticmethod(lambda place, **_: f"created {place}")
        open = staticmethod(lambda place, **_: f"opened {place}")

    monkeypatch.setitem(_BACKENDS._own, "other", Elsewhere)
    monkeypatch.setitem(_BACKENDS._loaded, "other", Elsewhere)
    assert [work("other://x") for work in (description_at, create_index, open_index)] == [
        "described other://x",
        "created other://x",
        "opened other://x",
    ]
    with pytest.raises(CorpusIndexError, match="expected the folder of an index"):
        folder_named("other://x", "a server compacts its collections itself")


def test_readers_are_found_by_name():
    assert isinstance(open_readers("processes", IndexSettings(), None, 1), ProcessReaders)
    with pytest.raises(DataError, match=r"^received --readers nobody:here, expected one of processes"):
        open_readers("nobody:here", IndexSettings(), None, 1)
