"""The n-gram decontamination of datatrove on JSON lines, run by a Python of an environment that has it.

    python datatrove_filter.py TASKS CORPUS QUERY

TASKS holds rows of `query` and `text`, as its indexer takes them; QUERY is 1 if prompts are indexed too. Writes the
seconds of a processor, and the rows that it would remove, from 1.
"""

import json
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

LIGHTEVAL = "_requires_dependencies"


def removed_rows(tasks: Path, corpus: Path, *, is_query_indexed: bool) -> tuple[float, list[int]]:
    """Return the seconds of a processor that the filter takes with reading, and the rows that it removes."""
    data, decont = import_module("datatrove.data"), import_module("datatrove.pipeline.decont")
    config = decont.NGramsDecontConfig(find_query_ngrams=is_query_indexed)
    with tempfile.TemporaryDirectory() as folder:
        # its indexer loads lighteval for tasks of its own; the hashes are what it would store of ours
        setattr(decont.NGramsDecontIndexer, LIGHTEVAL, [])
        indexer = decont.NGramsDecontIndexer(folder, config=config)
        hashes: set[int] = set()
        for asked in tasks.read_text("utf-8").splitlines():
            task = json.loads(asked)
            hashes.update(indexer.compute_hashes(task["text"], task["query"]))
        np.array(sorted(hashes), config.hash_config.np_descr).tofile(Path(folder) / "tasks.index.hashes")
        decontaminated = decont.NGramsDecontFilter(folder, config=config)
        decontaminated.load_index_hashes()
        decontaminated.filter(data.Document(text="once before the clock runs", id="0"))
        began = time.process_time()
        removed = []
        with corpus.open("rb") as file:
            for number, line in enumerate(file, 1):
                document = data.Document(text=json.loads(line)["content"], id=str(number))
                if decontaminated.filter(document) is not True:
                    removed.append(number)
    return time.process_time() - began, removed


if __name__ == "__main__":
    spent, rows = removed_rows(Path(sys.argv[1]), Path(sys.argv[2]), is_query_indexed=sys.argv[3] == "1")
    sys.stdout.write(json.dumps({"seconds": spent, "rows": rows}) + "\n")
