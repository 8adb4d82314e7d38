"""The index, opened once a thread."""

import threading
from pathlib import Path

from assay.provenance import Searchable, open_index, trace
from assay.types import Encoder

WARMING = "for name in names:\n    print(name, total + 1, 'a text')\n" * 5


class Readers:
    """The index, opened once a thread."""

    def __init__(self, place: Path | str, encoder: Encoder | None) -> None:
        self._place = str(place)
        self._encoder = encoder
        self._of_thread = threading.local()
        self._opened: list[Searchable] = []
        trace(WARMING, self.here(), method="winnowing")  # loops are compiled, and what is wrong with the index is told

    def here(self) -> Searchable:
        """The one of this thread."""
        found: Searchable | None = getattr(self._of_thread, "index", None)
        if found is None:
            found = open_index(self._place, encoder=self._encoder)
            self._of_thread.index = found
            self._opened.append(found)
        return found

    def close(self) -> None:
        """Close all of them."""
        for index in self._opened:
            index.close()
