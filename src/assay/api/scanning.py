"""`assay.scan_data`: is this benchmark in my training data?"""

from collections.abc import Sequence
from pathlib import Path

from assay.progress import progress_bar
from assay.scan import CorpusScan, ScanWorkers, check_evidence, scan_corpus


def scan_data(
    corpora: Sequence[str | Path] | str | Path,
    benchmarks: Sequence[str] | str,
    *,
    columns: Sequence[str] = (),
    blind: bool = True,
    jobs: int | None = None,
    readers: str = "processes",
    clean: Path | str | None = None,
    out: Path | str | None = None,
    progress: bool = True,
) -> CorpusScan:
    """Look for the tasks of benchmarks in training data.

    Args:
        corpora: files, folders, or hf:OWNER/NAME.
        benchmarks: names, NAME=PATH, or paths of tables.
        columns: of the texts in tables of the corpus; none: all text of a row.
        blind: look for code with other names too.
        jobs: files that are read at a time; None: one for each core.
        readers: "processes" of this machine, or "ray:ADDRESS" of a cluster.
        clean: folder that the corpus is written to without the rows that hold a task.
        out: file of the evidence, .parquet or .jsonl; a scan that was killed continues from what lies beside it.
        progress: show progress.

    Raises:
        AssayError: bad input; one line.
    """
    target = None if out is None else Path(out)
    # a place that cannot be written ends the scan before its hours of reading
    check_evidence(target)
    with progress_bar("scanning", unit="files", shown=progress) as report:
        return scan_corpus(
            list(map(str, [corpora] if isinstance(corpora, str | Path) else corpora)),
            [benchmarks] if isinstance(benchmarks, str) else list(benchmarks),
            columns=columns,
            blind=blind,
            workers=ScanWorkers(jobs, readers),
            clean=None if clean is None else Path(clean),
            out=target,
            progress=report,
        )
