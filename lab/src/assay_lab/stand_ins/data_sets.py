"""Stand-ins of data sets: tables of the hub under their real ids, and folders of what is not on the hub."""

import difflib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.files import write_json, write_text
from assay_lab.experiments.papers import paper
from assay_lab.rewrites.building import DATA_SETS
from assay_lab.rewrites.writing import MANIFEST
from assay_lab.stand_ins.home import mark
from assay_lab.stand_ins.texts import LANGUAGES, functions, invented, passages

TASKS = 160
"""Rows of a table of code, of which the parts of a planted split are drawn."""
TEXTS = 24
"""Passages of a table with labels, half of them members."""
BUGS = 6
PROMPTS = 10
"""Tasks of each split of MBPP: as many as its smallest, "prompt", has."""
DATA = "data"
"""Folder of what is not on the hub."""
PROJECTS = {
    "defects4j": ("framework/projects/Lang/patches/{}.src.patch", "java"),
    "bugscpp": ("bugscpp/taxonomy/coreutils/patch/{:04d}-buggy.patch", "c"),
    "bugsinpy": ("projects/black/bugs/{}/bug_patch.txt", "python"),
}
"""Benchmark → path of a patch in its official layout, and its language."""
SUFFIX = {"c": "c", "cpp": "cpp", "java": "java", "python": "py"}
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HubTable:
    """A data set of the hub.

    Attributes:
        rows: makes the rows of a split, by its name, with the official columns.
        splits: as the hub calls them.
        config: as the hub calls it.
    """

    rows: Callable[[str], Iterable[Row]]
    splits: tuple[str, ...] = ("train",)
    config: str = "default"


def apps_rows(split: str) -> Iterator[Row]:
    """Yield problems of APPS with one solution each."""
    for number, text in enumerate(functions(TASKS)):
        yield {
            "problem_id": number + (5000 if split == "train" else 0),
            "question": f"Write function {number}.",
            "solutions": json.dumps([text if split == "test" else f"{text}\n# {split}"]),
            "input_output": json.dumps({"inputs": [], "outputs": []}),
            "difficulty": "interview",
            "url": "https://example.org/problem",
            "starter_code": "",
        }


def humaneval_rows(_split: str) -> Iterator[Row]:
    """Yield tasks of HumanEval."""
    for number in range(BUGS * 2):
        head, _, body = invented("python", number, 7).partition("\n")
        yield {
            "task_id": f"HumanEval/{number}",
            "prompt": f"{head}\n",
            "canonical_solution": body,
            "test": "def check(candidate):\n    assert candidate\n",
            "entry_point": head[4:].partition("(")[0],
        }


def mbpp_rows(split: str) -> Iterator[Row]:
    """Yield tasks of MBPP."""
    # the official ranges of task ids begin here
    first = {"prompt": 1, "test": 11, "validation": 511, "train": 601}[split]
    # behind the functions of APPS, so that no function is in both
    place = TASKS + ("prompt", "test", "validation", "train").index(split) * PROMPTS
    for number, text in enumerate(functions(TASKS + 4 * PROMPTS)[place : place + PROMPTS], start=first):
        yield {
            "task_id": number,
            "text": f"Write function {number} of a rehearsal.",
            "code": text,
            "test_list": ["assert True"],
            "test_setup_code": "",
            "challenge_test_list": [],
        }


def bigcodebench_rows(_split: str) -> Iterator[Row]:
    """Yield tasks of BigCodeBench."""
    for number in range(BUGS * 2):
        head, _, body = invented("python", number, 9).partition("\n")
        yield {
            "task_id": f"BigCodeBench/{number}",
            "complete_prompt": f"{head}\n",
            "instruct_prompt": f"Write function {number}.",
            "canonical_solution": body,
            "code_prompt": f"{head}\n",
            "test": "",
            "entry_point": "task_func",
            "doc_struct": "{}",
            "libs": "[]",
        }


def wikimia_rows(split: str) -> Iterator[Row]:
    """Yield passages of WikiMIA, of the length that its split names."""
    words = int(split.rpartition("length")[2])
    for number, text in enumerate(passages(words, TEXTS)):
        yield {"input": text, "label": number % 2}


def bookmia_rows(_split: str) -> Iterator[Row]:
    """Yield snippets of BookMIA: whole books are members."""
    for number, text in enumerate(passages(96, TEXTS)):
        book = number % 6
        yield {"book_id": book, "book": f"Book {book}", "snippet_id": number, "snippet": text, "label": book % 2}


def arxivtection_rows(_split: str) -> Iterator[Row]:
    """Yield passages of arXivTection with three paraphrases each."""
    for number, text in enumerate(passages(64, TEXTS)):
        examples = {f"Example_{letter}": f"{letter} {text}" for letter in "BCD"}
        answer = {"Answer": "A", "Length": "medium"}
        yield {"ID": f"paper-{number % 6}", "Example_A": text, **examples, **answer, "Label": number % 6 % 2}


def refinedweb_rows(_split: str) -> Iterator[Row]:
    """Yield pages of RefinedWeb."""
    for number, text in enumerate(passages(160, TEXTS * 2)):
        yield {
            "content": text,
            "url": f"https://example.org/{number}",
            "timestamp": "2023-01-01T00:00:00Z",
            "dump": "CC-MAIN-2023-06",
            "segment": "0",
            "image_urls": [],
        }


def swe_bench_rows(_split: str) -> Iterator[Row]:
    """Yield bugs of SWE-bench Lite."""
    for number in range(BUGS):
        yield {
            "repo": "django/django",
            "instance_id": f"django__django-{number}",
            "base_commit": f"{number:040x}",
            "patch": patch_of("python", number, reverse=True),
            "test_patch": "",
            "problem_statement": f"Function {number} returns a wrong value.",
            "hints_text": "",
            "created_at": "2023-01-01T00:00:00Z",
            "version": "4.2",
            "FAIL_TO_PASS": "[]",
            "PASS_TO_PASS": "[]",
            "environment_setup_commit": f"{number:040x}",
        }


LENGTHS = tuple(map("WikiMIA_length{}".format, (32, 64, 128, 256)))
TABLES: Mapping[str, HubTable] = {
    "codeparrot/apps": HubTable(apps_rows, ("train", "test"), "all"),
    "openai/openai_humaneval": HubTable(humaneval_rows, ("test",), "openai_humaneval"),
    "google-research-datasets/mbpp": HubTable(mbpp_rows, ("train", "test", "validation", "prompt"), "full"),
    "bigcode/bigcodebench": HubTable(bigcodebench_rows, ("v0.1.4",)),
    "swj0419/WikiMIA": HubTable(wikimia_rows, LENGTHS),
    "swj0419/BookMIA": HubTable(bookmia_rows),
    "avduarte333/arXivTection": HubTable(arxivtection_rows),
    "tiiuae/falcon-refinedweb": HubTable(refinedweb_rows),
    "princeton-nlp/SWE-bench_Lite": HubTable(swe_bench_rows, ("test",)),
}


def lay_tables(cache: Path) -> None:
    """Write the tables of the hub into the cache of `datasets`, which then opens them by their ids."""
    from datasets.packaged_modules.json.json import Json  # noqa: PLC0415  slow to import, and it reads the variables
    from datasets.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    logging.getLogger("datasets").setLevel(logging.ERROR)
    for name, table in TABLES.items():
        owner, _, title = name.partition("/")
        with TemporaryDirectory(prefix="assay-lab-") as temporary:
            files = {}
            for split in table.splits:
                files[split] = [str(Path(temporary) / f"{split}.jsonl")]
                write_lines(Path(files[split][0]), table.rows(split))
            builder = Json(
                cache_dir=temporary,
                dataset_name=title,
                config_name=table.config,
                config_id=table.config,
                hash="stand-in",
                data_files=files,
            )
            builder.download_and_prepare()
            place = mark(cache / f"{owner}___{builder.dataset_name}")
            shutil.copytree(Path(temporary) / builder.dataset_name, place, dirs_exist_ok=True)


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def patch_of(language: str, number: int, *, reverse: bool) -> str:
    """Return a patch between an invented function and the same with a wrong line.

    Args:
        language: of the function.
        number: of the bug.
        reverse: True from the bug to the fix, False from the fix to the bug.
    """
    fixed = invented(language, number, 11).splitlines(keepends=True)
    # the condition of the templates is the line with the remainder
    place = next(at for at, line in enumerate(fixed) if "%" in line)
    buggy = [*fixed[:place], fixed[place].replace("==", "!="), *fixed[place + 1 :]]
    sides = (buggy, fixed) if reverse else (fixed, buggy)
    path = f"src/file_{number}.{SUFFIX[language]}"
    return "".join(difflib.unified_diff(*sides, f"a/{path}", f"b/{path}"))


def lay_folders(data: Path) -> None:
    """Write what is not on the hub in its official layout: bug benchmarks, lists, new files, DECo, the Pile."""
    for name, (place, language) in PROJECTS.items():
        for number in range(1, BUGS + 1):
            path = mark(data / name) / place.format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            # patches of BugsInPy lead to the fix, those of the others to the bug
            write_text(path, patch_of(language, number, reverse=name == "bugsinpy"))
    bugs = mark(data / "gitbug-java") / "data" / "bugs"
    for number in range(BUGS):
        row = {
            "repository": "example/project",
            "language": "java",
            "commit_hash": f"{number:x}".ljust(40, "f"),
            "commit_message": "Correct a condition",
            "bug_patch": patch_of("java", number, reverse=True),
        }
        write_lines(bugs / f"example-project-{number}.json", [row])
    mark(data / "lists")
    for version in paper("bugs").tables["table-3"].columns:
        write_text(data / "lists" / f"the-stack-{version}.txt", "apache/commons-lang\nexample/project\ndjango/django\n")
    mark(data / "new")
    for language in ("java", "python"):
        rows = [{"id": str(number), "text": invented(language, number, 12)} for number in range(BUGS)]
        write_lines(data / "new" / f"new-{language}.jsonl", rows)
    write_lines(mark(data / "issues") / "tasks.jsonl", swe_bench_rows("test"))
    lay_deco(mark(data / "deco"))
    mark(data / "pile")
    for at, title in enumerate(paper("kds").tables["table-6"].values):
        if title != "Average":
            labelled: list[Row] = [
                {"text": text, "label": n % 2} for n, text in enumerate(passages(48 + 8 * at, TEXTS))
            ]
            write_lines(data / "pile" / f"{title}.jsonl", labelled)


def lay_deco(folder: Path) -> None:
    """Write a folder as `assay lab build-authorship` does: both data sets, and the numbers of Table 1."""
    rows = list(deco_rows())
    authors = ("human", *paper("deco").models)
    table = {"authors": authors, "languages": {language: [TEXTS] * len(authors) for language in LANGUAGES}}
    for name in DATA_SETS:
        write_lines(folder / name / "test.jsonl", rows)
    write_json(folder / MANIFEST, {"schema": 1, "table_1": dict.fromkeys(DATA_SETS, table)})


def deco_rows() -> Iterator[Row]:
    """Yield code of people and of each generator of DECo, by language and task."""
    authors: Sequence[str] = ("human", *paper("deco").models)
    for language, task in product(LANGUAGES, range(TEXTS)):
        for at, author in enumerate(authors):
            text = invented(language, task, at)
            group = f"{language}-{task}"
            row = {"id": f"{group}-{author}", "text": text, "language": language, "label": author, "group": group}
            yield row


def lay_down(home: Path) -> None:
    """Write all stand-ins: models, tables of the hub, and folders. What is there already is written again."""
    from assay_lab.stand_ins.models import lay_models  # noqa: PLC0415  slow to import

    lay_models(mark(home / "hub"))
    lay_tables(mark(home / "datasets"))
    lay_folders(mark(home / DATA))
    # the last: a home that has it is complete
    mark(home)
