"""The table of benchmarks. A new one is one entry here and one function from a row to samples.

Other distributions add benchmarks through entry points of the group `assay.benchmarks`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from assay.datasets.families import apps, bigcodebench, bugs, humaneval, mbpp, membership, programs
from assay.datasets.families.selection import Selection
from assay.datasets.hub import HubPart
from assay.datasets.sources import Note, SourceRow
from assay.errors import UnknownBenchmark
from assay.languages import language_named
from assay.plug_ins import PlugIns
from assay.types import Sample


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
    samples: Callable[[SourceRow, int, Selection], Iterator[Sample]] = field(repr=False)
    languages: tuple[str, ...] = ("python",)
    subsets: tuple[str, ...] = ()
    default_subset: str | None = None
    subset_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labelled: bool = False
    unseen: Literal["functions", "files", "passages"] = "functions"
    hub: Callable[[Selection], tuple[HubPart, ...]] = field(repr=False, default=lambda _selection: ())
    folders: Callable[[Path, Note], Iterator[SourceRow]] | None = field(repr=False, default=None)

    @property
    def unseen_advice(self) -> str:
        """Say where unseen text for the benchmark comes from."""
        if self.labelled:
            return "its own nonmembers: an audit needs no --unseen"
        if self.unseen == "passages":
            return "passages of the same kind that were published after the model; give them as --unseen FILE"
        unit = " --unit file" if self.unseen == "files" else ""
        return f"assay unseen build REPOSITORY… --like {self.name} --data FILE{unit} --after DATE -o new.jsonl"


_CODE_PARTS = {"full": "prompt and solution", "prompt": "the prompt alone", "solution": "the solution alone"}
_PROSE_PARTS = {"full": "the passage"}
_BUG_PARTS = {
    "full": "the fixed side of the patch: context and fix lines",
    "fix": "the fix lines alone",
    "buggy": "the buggy side of the patch: context and buggy lines",
}
_PROGRAM_PARTS = {"full": "the program after the fix", "buggy": "the program with the bug"}
_BUG_TEXT = "fixed side of the human patch: context and fix lines, hunk by hunk, an empty line between two"


def _hub_data_set(hub_id: str) -> Callable[[Selection], tuple[HubPart, ...]]:
    """Return a function that gives the hub data set whose splits are the benchmark's own."""
    return lambda selection: (HubPart(hub_id, split=selection.split),)


def _per_language(hub_id: str, file: str, configs: str) -> Callable[[Selection], tuple[HubPart, ...]]:
    """Return a function that gives the hub configurations of the requested language, or of all languages.

    Args:
        hub_id: owner/name on the hub.
        file: path in the repository; "{}" is replaced by the configuration.
        configs: configurations, one a language, with spaces between them.
    """

    def parts(selection: Selection) -> tuple[HubPart, ...]:
        chosen = [config for config in configs.split() if selection.language in (None, language_named(config))]
        return tuple(
            HubPart(hub_id, config, split=selection.split or "test", files={"test": file.format(config)})
            for config in chosen
        )

    return parts


def _languages(configs: str) -> tuple[str, ...]:
    """Return the languages of hub configurations."""
    return tuple(map(language_named, configs.split()))


_PACK_CONFIGS = "python java cpp go js rust"
"""Configurations of HumanEvalPack on the hub, one a language."""
_X_CONFIGS = "python java cpp go js"
"""Configurations of HumanEval-X on the hub, one a language."""

_TABLE = (
    BenchmarkInfo(
        name="humaneval",
        title="HumanEval",
        paper="Chen et al. 2021, Evaluating Large Language Models Trained on Code",
        url="https://github.com/openai/human-eval",
        hub_id="openai/openai_humaneval",
        licence="MIT",
        text="prompt + canonical_solution, nothing between them",
        parts=_CODE_PARTS,
        group="the task",
        files=("HumanEval.jsonl.gz", "HumanEval.jsonl"),
        columns=("task_id", "prompt", "canonical_solution"),
        samples=humaneval.humaneval,
        hub=_hub_data_set("openai/openai_humaneval"),
    ),
    BenchmarkInfo(
        name="mbpp",
        title="MBPP",
        paper="Austin et al. 2021, Program Synthesis with Large Language Models",
        url="https://github.com/google-research/google-research/tree/master/mbpp",
        hub_id="google-research-datasets/mbpp",
        licence="CC-BY-4.0",
        text="task description, a line end, code",
        parts={**_CODE_PARTS, "published": "the paper's prompt with the three tests, then the code"},
        group="the task",
        files=("mbpp.jsonl", "full/*.parquet"),
        subset_files={"sanitized": ("sanitized-mbpp.json", "sanitized/*.parquet")},
        columns=("task_id", "text|prompt", "code"),
        samples=mbpp.mbpp,
        subsets=("full", "sanitized"),
        hub=lambda selection: (HubPart("google-research-datasets/mbpp", selection.subset or "full", selection.split),),
    ),
    BenchmarkInfo(
        name="apps",
        unseen="files",
        title="APPS",
        paper="Hendrycks et al. 2021, Measuring Coding Challenge Competence With APPS",
        url="https://github.com/hendrycks/apps",
        hub_id="codeparrot/apps",
        licence="MIT (as declared by the authors; problem statements come from contest sites)",
        text="question, a line end, the first solution (subset all: one sample per solution)",
        parts=_CODE_PARTS,
        group="the problem",
        files=("test.jsonl", "train.jsonl"),
        columns=("problem_id", "question", "solutions"),
        samples=apps.apps,
        subsets=("first", "all"),
        hub=lambda selection: (
            HubPart("codeparrot/apps", None, selection.split, {"train": "train.jsonl", "test": "test.jsonl"}),
        ),
        folders=apps.apps_folders,
    ),
    BenchmarkInfo(
        name="bigcodebench",
        title="BigCodeBench",
        paper="Zhuo et al. 2024, BigCodeBench: Benchmarking Code Generation with Diverse Function Calls",
        url="https://github.com/bigcode-project/bigcodebench",
        hub_id="bigcode/bigcodebench",
        licence="Apache-2.0",
        text="complete_prompt + canonical_solution (subset instruct: instruct_prompt, a line end, then it)",
        parts=_CODE_PARTS,
        group="the task",
        files=("BigCodeBench*.jsonl*",),
        columns=("task_id", "complete_prompt", "instruct_prompt", "canonical_solution"),
        samples=bigcodebench.bigcodebench,
        subsets=("complete", "instruct"),
        hub=lambda selection: (HubPart("bigcode/bigcodebench", split=selection.split or "v0.1.4"),),
    ),
    BenchmarkInfo(
        name="humanevalpack",
        title="HumanEvalPack",
        paper="Muennighoff et al. 2023, OctoPack: Instruction Tuning Code Large Language Models",
        url="https://github.com/bigcode-project/octopack",
        hub_id="bigcode/humanevalpack",
        licence="MIT",
        text="prompt + canonical_solution, nothing between them",
        parts={**_CODE_PARTS, "buggy": "prompt and the solution with a bug put in"},
        group="the HumanEval task, over all languages",
        files=(
            "{language}/data/humanevalpack.jsonl",
            "{language}/humanevalpack.jsonl",
            "humanevalpack.jsonl",
        ),
        columns=("task_id", "prompt", "canonical_solution", "buggy_solution"),
        samples=humaneval.translated,
        languages=_languages(_PACK_CONFIGS),
        hub=_per_language("bigcode/humanevalpack", "data/{}/data/humanevalpack.jsonl", _PACK_CONFIGS),
    ),
    BenchmarkInfo(
        name="humaneval-x",
        title="HumanEval-X",
        paper="Zheng et al. 2023, CodeGeeX: A Pre-Trained Model for Code Generation",
        url="https://github.com/THUDM/CodeGeeX",
        hub_id="THUDM/humaneval-x",
        licence="Apache-2.0",
        text="prompt + canonical_solution, nothing between them",
        parts=_CODE_PARTS,
        group="the HumanEval task, over all languages",
        files=("humaneval_{language}.jsonl.gz", "{language}/data/humaneval.jsonl"),
        columns=("task_id", "prompt", "canonical_solution"),
        samples=humaneval.translated,
        languages=_languages(_X_CONFIGS),
        hub=_per_language("THUDM/humaneval-x", "data/{}/data/humaneval.jsonl", _X_CONFIGS),
    ),
    BenchmarkInfo(
        name="wikimia",
        unseen="passages",
        title="WikiMIA",
        paper="Shi et al. 2023, Detecting Pretraining Data from Large Language Models",
        url="https://huggingface.co/datasets/swj0419/WikiMIA",
        hub_id="swj0419/WikiMIA",
        licence="MIT",
        text="the excerpt (input), cut to the length of the subset in words",
        parts=_PROSE_PARTS,
        group="the excerpt itself",
        files=("*length{subset}*",),
        columns=("input", "label"),
        samples=membership.wikimia,
        languages=(),
        subsets=("32", "64", "128", "256"),
        default_subset="64",
        labelled=True,
        hub=lambda selection: (HubPart("swj0419/WikiMIA", split=f"WikiMIA_length{selection.subset or '64'}"),),
    ),
    BenchmarkInfo(
        name="bookmia",
        unseen="passages",
        title="BookMIA",
        paper="Shi et al. 2023, Detecting Pretraining Data from Large Language Models",
        url="https://huggingface.co/datasets/swj0419/BookMIA",
        hub_id="swj0419/BookMIA",
        licence="MIT (snippets of books under their authors' copyright)",
        text="the snippet",
        parts=_PROSE_PARTS,
        group="the book",
        files=("BookMIA*",),
        columns=("snippet", "label", "book|book_id"),
        samples=membership.bookmia,
        languages=(),
        labelled=True,
        hub=_hub_data_set("swj0419/BookMIA"),
    ),
    BenchmarkInfo(
        name="arxivtection",
        unseen="passages",
        title="arXivTection",
        paper="Duarte et al. 2024, DE-COP: Detecting Copyrighted Content in Language Models Training Data",
        url="https://github.com/avduarte333/DE-COP_Method",
        hub_id="avduarte333/arXivTection",
        licence="Apache-2.0 (passages under their authors' copyright)",
        text="the verbatim passage (Example_A)",
        parts=_PROSE_PARTS,
        group="the paper",
        files=("arXivTection.csv",),
        columns=("Example_A", "ID", "Label"),
        samples=membership.arxivtection,
        languages=(),
        labelled=True,
        hub=_hub_data_set("avduarte333/arXivTection"),
    ),
    BenchmarkInfo(
        name="defects4j",
        unseen="files",
        title="Defects4J",
        paper="Just et al. 2014, Defects4J: A Database of Existing Faults",
        url="https://github.com/rjust/defects4j",
        hub_id=None,
        licence="MIT (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the project",
        files=("framework/projects/<project>/patches/<bug>.src.patch",),
        columns=("project", "bug", "patch"),
        samples=bugs.defects4j,
        languages=("java",),
        folders=bugs.defects4j_folders,
    ),
    BenchmarkInfo(
        name="bugscpp",
        unseen="files",
        title="BugsC++",
        paper="An et al. 2023, BugsC++: A Highly Usable Real World Defect Benchmark for C/C++",
        url="https://github.com/Suresoft-GLaDOS/bugscpp",
        hub_id=None,
        licence="MIT (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the project",
        files=("bugscpp/taxonomy/<project>/patch/NNNN-buggy.patch",),
        columns=("project", "bug", "patch"),
        samples=bugs.bugscpp,
        languages=("c", "cpp"),
        folders=bugs.bugscpp_folders,
    ),
    BenchmarkInfo(
        name="bugsinpy",
        unseen="files",
        title="BugsInPy",
        paper="Widyasari et al. 2020, BugsInPy: A Database of Existing Bugs in Python Programs",
        url="https://github.com/soarsmu/BugsInPy",
        hub_id=None,
        licence="none stated (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the project",
        files=("projects/<project>/bugs/<bug>/bug_patch.txt",),
        columns=("project", "bug", "patch"),
        samples=bugs.bugsinpy,
        folders=bugs.bugsinpy_folders,
    ),
    BenchmarkInfo(
        name="gitbug-java",
        unseen="files",
        title="GitBug-Java",
        paper="Silva et al. 2024, GitBug-Java: A Reproducible Benchmark of Recent Java Bugs",
        url="https://github.com/gitbugactions/gitbug-java",
        hub_id=None,
        licence="MIT (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the repository",
        files=("data/bugs/*.json",),
        columns=("repository", "commit_hash", "bug_patch"),
        samples=bugs.gitbug_java,
        languages=("java",),
    ),
    BenchmarkInfo(
        name="swe-bench-lite",
        unseen="files",
        title="SWE-bench Lite",
        paper="Jimenez et al. 2024, SWE-bench: Can Language Models Resolve Real-World GitHub Issues?",
        url="https://www.swebench.com/lite.html",
        hub_id="princeton-nlp/SWE-bench_Lite",
        licence="MIT for the benchmark's code (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the repository",
        files=("SWE-bench_Lite*",),
        columns=("instance_id", "repo", "patch"),
        samples=bugs.swe_bench,
        hub=lambda selection: (HubPart("princeton-nlp/SWE-bench_Lite", split=selection.split or "test"),),
    ),
    BenchmarkInfo(
        name="swe-bench-verified",
        unseen="files",
        title="SWE-bench Verified",
        paper="Jimenez et al. 2024, SWE-bench; 500 tasks checked by people (OpenAI 2024)",
        url="https://www.swebench.com/verified.html",
        hub_id="princeton-nlp/SWE-bench_Verified",
        licence="MIT for the benchmark's code (patches under the licences of their projects)",
        text=_BUG_TEXT,
        parts=_BUG_PARTS,
        group="the repository",
        files=("SWE-bench_Verified*",),
        columns=("instance_id", "repo", "patch"),
        samples=bugs.swe_bench,
        hub=lambda selection: (HubPart("princeton-nlp/SWE-bench_Verified", split=selection.split or "test"),),
    ),
    BenchmarkInfo(
        name="quixbugs",
        title="QuixBugs",
        paper="Lin et al. 2017, QuixBugs: A Multi-Lingual Program Repair Benchmark Set",
        url="https://github.com/jkoppel/QuixBugs",
        hub_id=None,
        licence="MIT",
        text="the program after the fix; in Java without its package line, which names the side",
        parts=_PROGRAM_PARTS,
        group="the program, in both languages",
        files=("python_programs/<program>.py", "*.jsonl*"),
        columns=("id", "fixed", "buggy", "group"),
        samples=programs.quixbugs,
        languages=("python", "java"),
        folders=programs.quixbugs_folders,
    ),
    BenchmarkInfo(
        name="humaneval-java",
        title="HumanEval-Java",
        paper="Jiang et al. 2023, Impact of Code Language Models on Automated Program Repair",
        url="https://github.com/ASSERT-KTH/human-eval-java",
        hub_id=None,
        licence="none stated",
        text="the program after the fix, without its package line, which names the side",
        parts=_PROGRAM_PARTS,
        group="the class",
        files=("src/main/java/humaneval/buggy/<class>.java",),
        columns=("group", "fixed", "buggy"),
        samples=programs.humaneval_java,
        languages=("java",),
        folders=programs.humaneval_java_folders,
    ),
    BenchmarkInfo(
        name="debugbench",
        unseen="files",
        title="DebugBench",
        paper="Tian et al. 2024, DebugBench: Evaluating Debugging Capability of Large Language Models",
        url="https://github.com/thunlp/DebugBench",
        hub_id="Rtian/DebugBench",
        licence="Apache-2.0",
        text="a posted solution, before a bug was put into it",
        parts=_PROGRAM_PARTS,
        group="the LeetCode task, in all languages",
        files=("benchmark/<language>_<kind>.json", "*.jsonl*"),
        columns=("oracle_code|solution|fixed", "buggy_code|buggy", "slug|group"),
        samples=programs.debugbench,
        languages=("cpp", "java", "python"),
        hub=_hub_data_set("Rtian/DebugBench"),
        folders=programs.debugbench_folders,
    ),
)


_BUILT_IN: Mapping[str, BenchmarkInfo] = {info.name: info for info in _TABLE}
_PLUG_INS: PlugIns[BenchmarkInfo] = PlugIns(
    "assay.benchmarks",
    accepts=lambda plug_in: isinstance(plug_in, BenchmarkInfo),
    description="an assay.datasets.BenchmarkInfo",
    reserved=lambda: _BUILT_IN,
)


def list_benchmarks() -> tuple[BenchmarkInfo, ...]:
    """Return every benchmark that has a name, those of plug-ins last.

    Raises:
        PlugInError: a plug-in cannot be used.
    """
    return (*_BUILT_IN.values(), *_PLUG_INS.values())


def is_benchmark(name: str) -> bool:
    """Return True if a benchmark has that name, whatever the case."""
    return name.casefold() in _BUILT_IN or name.casefold() in _PLUG_INS


def benchmark(name: str) -> BenchmarkInfo:
    """Return the benchmark of that name, whatever the case.

    Raises:
        UnknownBenchmark: there is none; the message has the closest names.
        PlugInError: the plug-in that has it cannot be used.
    """
    key = name.casefold()
    if is_benchmark(key):
        return _PLUG_INS[key] if key in _PLUG_INS else _BUILT_IN[key]
    names = [*_BUILT_IN, *_PLUG_INS]
    close = get_close_matches(name.casefold(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"expected one of {', '.join(names)}"
    raise UnknownBenchmark(f"no benchmark, file or folder is called {name!r}; {hint} (or a path, or hf:OWNER/NAME)")
