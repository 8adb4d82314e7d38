"""Is a copy ever called clean because its file was not read?

Functions of Python's library, which is indexed under a denied licence, are written into files of sixty kinds that are
no Python source: texts of other suffixes, notebooks, pages, documents, data, patches, archives, binary files. Each must
be denied, or leave the rule undecided. Files of such kinds from packages that have nothing to do with the library must
not be denied. Of ordinary changes, commits drawn from histories, few may be undecided, each with a reason.
"""

import gzip
import html
import io
import json
import random
import sysconfig
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from textwrap import indent

from assay.corpora import SourceChange, git_output, read_change, read_content
from assay.provenance import CodeIndex, judge, trace_files
from assay_lab.columns import attributes
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.provenance.licence_gate import RULES, documents, planted
from assay_lab.result_rows import KeptRows

PARTS = ("argparse.py", "ast.py", "asyncio", "email", "http", "json", "logging", "tarfile.py", "unittest", "zipfile.py")
LARGEST = 1_000_000
Place = Callable[[str], bytes]


def _plain(text: str) -> bytes:
    return text.encode()


def _prose(text: str) -> bytes:
    return f"Some words come first, don't they?\n\n{text}\nAnd here the text ends.\n".encode()


def _fence(text: str) -> bytes:
    return f"# A title\n\n- an item\n\n```python\n{text}```\n\nMore words.\n".encode()


def _literal(text: str) -> bytes:
    return f"A title\n=======\n\nAn example::\n\n{indent(text, '    ')}\nMore words.\n".encode()


def _page(text: str) -> bytes:
    return f"<html>\n<body>\n<p>It's a page.</p>\n<pre>\n{html.escape(text)}</pre>\n</body>\n</html>\n".encode()


def _script(text: str) -> bytes:
    return f'<template><div/></template>\n<script type="text/python">\n{text}</script>\n'.encode()


def _server(text: str) -> bytes:
    return f"<html>\n<%\n{text}%>\n</html>\n".encode()


def _notebook(text: str) -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": text.splitlines(keepends=True)}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def _value(text: str) -> bytes:
    return json.dumps({"name": "x", "code": text}).encode()


def _patch(text: str) -> bytes:
    # every line, an empty one too
    added = indent(text, "+", lambda _: True)
    return f"--- a/x\n+++ b/x\n@@ -1,0 +1,{text.count(chr(10))} @@\n{added}".encode()


def _zip(text: str) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/code.py", text)
    return raw.getvalue()


def _binary(text: str) -> bytes:
    return b"\x7fELF\0\1\2\3" * 20 + text.encode() + b"\0" * 99


def _image(text: str) -> bytes:
    return b"GIF89a\0\0\1\0;\n" + text.encode()


SUFFIXES = (
    ".asm", ".cls", ".cob", ".cshtml", ".cts", ".csx", ".cu", ".d", ".elm", ".f77", ".for", ".gradle", ".inl",
    ".ipp", ".lisp", ".ll", ".nim", ".pas", ".php5", ".proto", ".pth", ".s", ".scm", ".sv", ".tcl", ".tf", ".tpp",
    ".vhd", ".wsgi", ".zsh", ".bat", ".cmake", ".mk", ".graphql", ".hcl", ".lean", ".sage", ".pyw",
)  # fmt: skip
"""Suffixes of programs that are no source files of a known language, or of none."""
KINDS: Mapping[str, Place] = {
    **dict.fromkeys(SUFFIXES, _plain), ".txt": _prose, ".csv": _prose, ".tex": _prose, ".yaml": _literal,
    ".md": _fence, ".Rmd": _fence, ".qmd": _fence, ".rst": _literal, ".html": _page, ".xml": _page, ".vue": _script,
    ".svelte": _script, ".jsp": _server, ".erb": _server, ".ipynb": _notebook, ".json": _value, ".patch": _patch,
    ".zip": _zip, ".whl": _zip, ".gz": lambda text: gzip.compress(text.encode()), ".so": _binary, ".gif": _image,
}  # fmt: skip
"""Suffix → how a copy is written into such a file."""


def verdict(path: str, raw: bytes, index: CodeIndex) -> str:
    """Return denied, undecided or clean, as `assay trace` says it of one file with a rule on licences."""
    read = read_content(path, raw)
    judgement = judge(trace_files(read.texts, index, rules=RULES), RULES)
    if judgement.failures:
        return "denied"
    return "undecided" if judgement.open or read.unread else "clean"


def copies(originals: Sequence[str], index: CodeIndex, kept: KeptRows) -> dict[str, object]:
    """Return the verdicts on copies, each kind of file in turn, with the kinds that are not always denied."""
    verdicts: Counter[str] = Counter()
    others: dict[str, Counter[str]] = {}
    # the kinds have no end
    for number, (original, (suffix, place)) in enumerate(zip(originals, cycle(KINDS.items()), strict=False)):
        answer = kept.row(f"copy {number}", partial(verdict, f"file{suffix}", place(original), index))
        verdicts[answer] += 1
        if answer != "denied":
            others.setdefault(suffix, Counter())[answer] += 1
    return {"kind": "copies", "files": len(originals), "kinds": len(KINDS), **_counts(verdicts), "not_denied": others}


def honest(paths: Sequence[Path], index: CodeIndex, kept: KeptRows) -> dict[str, object]:
    """Return the verdicts on files that hold no copy."""
    verdicts: Counter[str] = Counter()
    denied = []
    for path in paths:
        answer = kept.row(str(path), partial(verdict_on_file, path, index))
        verdicts[answer] += 1
        if answer == "denied":
            denied.append(path.name)
    return {"kind": "without a copy", "files": len(paths), **_counts(verdicts), "denied_files": denied}


def verdict_on_file(path: Path, index: CodeIndex) -> str:
    """Return the verdict on a file, of which the first megabyte is read."""
    with path.open("rb") as file:
        return verdict(path.name, file.read(LARGEST + 1), index)


def _counts(verdicts: Counter[str]) -> dict[str, object]:
    return {answer: verdicts[answer] for answer in ("denied", "undecided", "clean")}


def changes(histories: Sequence[Path], count: int, seed: int, kept: KeptRows) -> dict[str, object]:
    """Return how many commits hold a file that could hold code and is not read, and why."""
    undecided, tried = [], 0
    for repository in histories:
        # a first commit has no parent to be compared with
        commits = git_output(repository, "rev-list", "--no-merges", "--min-parents=1", "HEAD").split()
        chosen = random.Random(seed).sample(commits, min(count // len(histories), len(commits)))  # noqa: S311  no secret
        for commit in chosen:
            reasons = kept.row(commit, partial(reasons_unread, repository, commit))
            tried += 1
            if reasons:
                undecided.append({"repository": _name(repository), "commit": commit[:12], "reasons": reasons})
    share = wilson(len(undecided), tried)
    return {
        "kind": "ordinary changes",
        "files": tried,
        "undecided": len(undecided),
        "share": share.value,
        "interval": [share.low, share.high],
        "explained": undecided,
    }


def reasons_unread(repository: Path, commit: str) -> list[str]:
    """Return why files of a commit that could hold code are not read."""
    parent = git_output(repository, "rev-parse", f"{commit}^").strip()
    read = read_change(SourceChange(repository, base=parent, fork=parent, head=commit))
    return sorted(set(attributes(read.unread, "reason")))


def _name(repository: Path) -> str:
    return (repository.parent if repository.name in {"repo", ".git"} else repository).name


def _texts(folder: Path, count: int, seed: int) -> list[Path]:
    """Return files drawn from a folder; links are left out."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return random.Random(seed).sample(files, min(count, len(files)))  # noqa: S311  no secret


def _repositories(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        yield path / "repo" if (path / "repo").is_dir() else path


def run(scale: tuple[Sequence[str], int, int, int], seed: int, data: Data) -> Result:
    """Is a copy ever called clean because its file was not read?"""
    parts, plants, files, commits = scale
    kept = KeptRows(data[WORK] / f"verdicts-{plants}-{seed}.jsonl")
    with tempfile.TemporaryDirectory() as folder, CodeIndex.create(Path(folder) / "index", encoder=None) as index:
        root = Path(sysconfig.get_paths()["stdlib"])
        index.add(documents([root / part for part in parts]))
        index.commit()
        originals = planted(index, plants)
        rows = [copies(list(islice(cycle(originals), plants)), index, kept)]
        if "texts" in data:
            rows.append(honest(_texts(data["texts"], files, seed), index, kept))
    if "histories" in data:
        rows.append(changes(list(_repositories(data["histories"])), commits, seed, kept))
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="provenance/unread",
        run=run,
        scales={
            "smoke": (("json",), 12, 20, 10),
            "small": (("json", "email"), 120, 200, 200),
            "full": (PARTS, 500, 2000, 200),
        },
        columns=("kind", "files", "denied", "undecided", "clean", "share"),
        takes={
            "texts": "a folder of unpacked packages: files that hold no copy",
            "histories": "a folder of git repositories: ordinary changes",
        },
    ),
)
