"""Writes to an index and dies: python crashing_writer.py FOLDER DEATHS.

For n = 1, 2, … DEATHS a child process works on FOLDER/n: commits, commits, compacts, commits, commits. It is killed
when it asks the disk to keep what was written: the first of them at the first time, the last at the last time. How many
batches had been committed stands in FOLDER/n.committed.
"""

import os
import signal
import sys
from pathlib import Path

from assay.corpora import Document, Origin
from assay.provenance import CodeIndex


def document(number):
    body = "".join(f"    total_{number} = step_{number}_{line}(total_{number}, {line})\n" for line in range(6))
    return Document(f"def work_{number}():\n{body}", "python", "function", "work", (Origin("made", f"{number}.py"),))


def work(folder, told):
    with CodeIndex.open(folder, writable=True) as index:
        for batch in range(4):
            index.add(document(number) for number in range(10 * batch, 10 * batch + 10))
            index.remove(source="made", path=f"{10 * batch}.py")
            index.commit()
            told.write_text(f"{batch + 1}")
            if batch == 1:
                index.compact()


def counting_sync(count, *, end):
    """Syncs and counts; calls `end` instead when it is called for the last of these times."""
    sync, asked = os.fsync, 0

    def syncing(descriptor):
        nonlocal asked
        asked += 1
        if asked == count:
            end()
        sync(descriptor)

    syncing.asked = lambda: asked
    return syncing


def main(folder, deaths):
    # once alive: it counts the syncs, and what is compiled or read for the first time is there for all children
    sync, os.fsync = os.fsync, counting_sync(0, end=None)
    CodeIndex.create(folder / "0").close()
    before = os.fsync.asked()
    work(folder / "0", folder / "0.committed")
    syncs = os.fsync.asked() - before
    os.fsync = sync
    for death in range(1, deaths + 1):
        CodeIndex.create(folder / str(death)).close()
        child = os.fork()
        if not child:
            count = 1 + (syncs - 1) * (death - 1) // (deaths - 1)
            os.fsync = counting_sync(count, end=lambda: os.kill(os.getpid(), signal.SIGKILL))
            work(folder / str(death), folder / f"{death}.committed")
            os._exit(1)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
