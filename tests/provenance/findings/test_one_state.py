"""A trace sees one state of the index from its first look-up to its last, whatever a writer does meanwhile."""

import random

from assay.corpora import Document, Origin, SourceText, parts_of
from assay.provenance import CodeIndex, trace_files


def function(seed):
    draw = random.Random(seed)
    lines = (f"    part_{draw.getrandbits(32):x} = call_{draw.getrandbits(32):x}({at})" for at in range(12))
    return "\n".join(["def work():", *lines, ""])


def test_files_of_one_trace_meet_one_state(tmp_path):
    texts = [function(seed) for seed in range(2)]
    with CodeIndex.create(tmp_path / "index") as index, CodeIndex.open(tmp_path / "index") as reader:
        index.add(Document(text, "python", "function", "work", (Origin("shop", "a.py"),)) for text in texts)
        index.commit()

        def parts(file):
            # a writer commits and merges between any two files
            index.remove(source="shop")
            index.commit()
            index.compact()
            return parts_of(file)

        files = [SourceText(f"{at}.py", text, "python") for at, text in enumerate(texts)]
        assert [len(file.findings) > 0 for file in trace_files(files, reader, parts=parts)] == [True, True]
        assert not trace_files(files, reader)[0].findings
