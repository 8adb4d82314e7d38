"""The index, opened once for each thread."""

import threading
from pathlib import Path

from assay.provenance import Searchable, open_index, trace
from assay.types import Encoder

WARMING = "for name in names:\n    print(name, total + 1, 'a text')\n" * 5


class Readers:
    """The index, opened once for each thread."""

    def __init__(self, place: Path | str, encoder: Encoder | None) -> None:
        self._place = str(place)
        self._encoder = encoder
        self._of_thread = threading.local()
        self._opened: list[Searchable] = []
        trace(WARMING, self.index(), method="winnowing")  # compiles the loops, and reports a broken index at once

    def index(self) -> Searchable:
        """Return the index of this thread."""
        opened: Searchable | None = getattr(self._of_thread, "index", None)
        if opened is None:
            opened = open_index(self._place, encoder=self._encoder)
            self._of_thread.index = opened
            self._opened.append(opened)
        return opened

    def close(self) -> None:
        """Close all of them."""
        for index in self._opened:
            index.close()
