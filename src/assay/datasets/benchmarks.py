"""The table of benchmarks. A new one is an entry of `benchmarks.toml` and a function from a row to samples.

Other distributions add benchmarks through entry points of the group `assay.benchmarks`.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Literal

from assay.datasets.families import apps, bugs, membership, programs, tasks
from assay.datasets.families.selection import Selection
from assay.datasets.hub import HubPart
from assay.datasets.sources import Note, SourceRow
from assay.errors import UnknownBenchmark
from assay.languages import language_named
from assay.plug_ins import PlugIns
from assay.types import Sample

TABLE = Path(__file__).with_name("benchmarks.toml")
Samples = Callable[[SourceRow, int, Selection], Iterator[Sample]]
"""A row, its position and the request → its samples."""
Folders = Callable[[Path, Note], Iterator[SourceRow]]
"""Folder of the official layout → its rows."""


@dataclass(frozen=True, slots=True)
class BenchmarkInfo:
    """A benchmark: its origin, its texts and how they are read.

    Attributes:
        name: name on the command line.
        title: name in print.
        paper: authors, year, title.
        url: its official home.
        hub_id: owner/name on the Hugging Face hub, or None.
        licence: SPDX identifier if there is one, else in words.
        text: description of the text of a sample.
        parts: part → description of the text; "full" is the default.
        group: description of the samples that stay together in evaluation.
        files: patterns of the official file names, the preferred ones first; "{subset}" and "{language}"
            are replaced by the request ("*" if there is none).
        columns: columns that every row must have; "a|b" means either.
        languages: of the code; empty for prose.
        subsets: values of `subset`; empty if the benchmark has one form only.
        default_subset: subset that is read unless another is named; None if the data show it, or if it is the
            first.
        subset_files: subset → its own `files`, if they differ.
        labelled: True if the benchmark says which samples are members.
        unseen: kind of text that its texts are compared with.
        samples: a row, its position and the request → its samples.
        hub: the request → the hub data sets that hold it.
        folders: reads the official folder layout, if there is one.
    """

    name: str
    title: str
    paper: str
    url: str
    hub_id: str | None
    licence: str
    text: str
    parts: Mapping[str, str]
    group: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    samples: Samples = field(repr=False)
    languages: tuple[str, ...] = ("python",)
    subsets: tuple[str, ...] = ()
    default_subset: str | None = None
    subset_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labelled: bool = False
    unseen: Literal["functions", "files", "passages"] = "functions"
    hub: Callable[[Selection], tuple[HubPart, ...]] = field(repr=False, default=lambda _selection: ())
    folders: Folders | None = field(repr=False, default=None)

    @property
    def unseen_advice(self) -> str:
        """Say where unseen text for the benchmark comes from."""
        if self.labelled:
            return "its own nonmembers: an audit needs no --unseen"
        if self.unseen == "passages":
            return "passages of the same kind that were published after the model; give them as --unseen FILE"
        unit = " --unit file" * (self.unseen == "files")
        return f"assay unseen build REPOSITORY… --like {self.name} --data FILE{unit} --after DATE -o new.jsonl"


_READERS: Mapping[str, tuple[Samples, Folders | None]] = {
    "humaneval": (tasks.humaneval, None),
    "mbpp": (tasks.mbpp, None),
    "apps": (apps.apps, apps.apps_folders),
    "bigcodebench": (tasks.bigcodebench, None),
    "humanevalpack": (tasks.translated, None),
    "humaneval-x": (tasks.translated, None),
    "wikimia": (membership.wikimia, None),
    "bookmia": (membership.bookmia, None),
    "arxivtection": (membership.arxivtection, None),
    "defects4j": (bugs.defects4j, bugs.defects4j_folders),
    "bugscpp": (bugs.bugscpp, bugs.bugscpp_folders),
    "bugsinpy": (bugs.bugsinpy, bugs.bugsinpy_folders),
    "gitbug-java": (bugs.gitbug_java, None),
    "swe-bench-lite": (bugs.swe_bench, None),
    "swe-bench-verified": (bugs.swe_bench, None),
    "quixbugs": (programs.quixbugs, programs.quixbugs_folders),
    "humaneval-java": (programs.humaneval_java, programs.humaneval_java_folders),
    "debugbench": (programs.debugbench, programs.debugbench_folders),
}
"""Benchmark → what reads its rows, and what reads its folder layout, if it has one."""


def _built_in() -> dict[str, BenchmarkInfo]:
    """Return the benchmarks of `benchmarks.toml` by name."""
    content = tomllib.loads(TABLE.read_text("utf-8"))
    benchmarks = {}
    for entry in content["benchmarks"]:
        # the entry itself comes last, so it wins over what its kind gives
        values = {"hub_id": None, **content["kinds"][entry.pop("kind")], **entry}
        values["parts"] = {**values["parts"], **values.pop("more_parts", {})}
        values["subset_files"] = {subset: tuple(files) for subset, files in values.get("subset_files", {}).items()}
        hub = values.pop("hub", None)
        # TOML knows only lists, and a frozen entry holds tuples
        lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        samples, folders = _READERS[values["name"]]
        info = BenchmarkInfo(**{**values, **lists}, samples=samples, folders=folders)
        if hub is not None:
            # the function needs the entry that it belongs to, so it is added once that exists
            info = replace(info, hub=partial(_hub_parts, info, hub))
        benchmarks[info.name] = info
    return benchmarks


def _hub_parts(info: BenchmarkInfo, hub: Mapping[str, Any], selection: Selection) -> tuple[HubPart, ...]:
    """Return the hub data sets that hold what was requested of a benchmark.

    Args:
        info: the benchmark.
        hub: its key `hub`: `split` that is read unless another is named, `config`, `files` by split; `languages`,
            configurations of one language each, with the path `file`. "{subset}" is the requested subset.
        selection: the request.
    """
    subset = selection.subset or info.default_subset or next(iter(info.subsets), None)
    split, config = (str(hub.get(key, "")).format(subset=subset) or None for key in ("split", "config"))
    # a data set that has a split for each subset has no other splits to choose from
    if "{subset}" not in hub.get("split", ""):
        split = selection.split or split
    name = str(info.hub_id)
    if "languages" not in hub:
        return (HubPart(name, config=config, split=split, files=hub.get("files", {})),)
    parts = []
    for language in hub["languages"]:
        if selection.language in (None, language_named(language)):
            files = {"test": hub["file"].format(language=language)}
            parts.append(HubPart(name, config=language, split=split, files=files))
    return tuple(parts)


_BENCHMARKS: PlugIns[BenchmarkInfo] = PlugIns(
    "assay.benchmarks",
    accepts=lambda plug_in: isinstance(plug_in, BenchmarkInfo),
    description="an assay.datasets.BenchmarkInfo",
    own=_built_in(),
)


def list_benchmarks() -> tuple[BenchmarkInfo, ...]:
    """Return every benchmark that has a name, those of plug-ins last.

    Raises:
        PlugInError: a plug-in cannot be used.
    """
    return tuple(_BENCHMARKS.values())


def is_benchmark(name: str) -> bool:
    """Return True if a benchmark has that name, whatever the case."""
    return name.casefold() in _BENCHMARKS


def benchmark(name: str) -> BenchmarkInfo:
    """Return the benchmark of that name, whatever the case.

    Raises:
        UnknownBenchmark: there is none; the message has the closest names.
        PlugInError: the plug-in that has it cannot be used.
    """
    key = name.casefold()
    if key in _BENCHMARKS:
        return _BENCHMARKS[key]
    close = get_close_matches(key, _BENCHMARKS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"expected one of {', '.join(_BENCHMARKS)}"
    raise UnknownBenchmark(f"no benchmark, file or folder is called {name!r}; {hint} (or a path, or hf:OWNER/NAME)")
