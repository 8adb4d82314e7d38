"""Is the language of pasted code found, where no name of a file tells it?

SOURCES holds folders of source files, any number of projects of eight languages. Functions of 4 to 80 lines are taken
by chance, the same number of each language, and each is given alone. The truth is the suffix of its file. A function is
`first` if the first language that the product names is its own, `among` if its own is one of those that it names: short
functions of C, C++, Java and JavaScript are valid in several.
"""

import random
from collections import Counter
from itertools import chain
from pathlib import Path

from assay.code import languages_of_text
from assay.corpora import SourceText, parts_of
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result

SUFFIXES = {
    "python": (".py",),
    "java": (".java",),
    "go": (".go",),
    "rust": (".rs",),
    "c": (".c",),
    "cpp": (".cc", ".cpp"),
    "javascript": (".js", ".mjs"),
    "typescript": (".ts",),
}
LINES = range(4, 81)
MOST_FILES = 400


def functions_of(folder: Path, language: str, most: int, seed: int) -> list[str]:
    """Return different functions of one language, drawn by chance."""
    chance = random.Random(f"{seed} {language}")  # noqa: S311  a draw that repeats
    of_suffixes = chain.from_iterable(folder.rglob(f"*{suffix}") for suffix in SUFFIXES[language])
    files = sorted(filter(Path.is_file, of_suffixes))
    texts = set()
    for path in chance.sample(files, min(len(files), MOST_FILES)):
        for part in parts_of(SourceText(path.name, path.read_text("utf-8", errors="replace"), language)):
            if part.kind == "function" and len(part.text.splitlines()) in LINES:
                texts.add(part.text)
    found = sorted(texts)
    return chance.sample(found, min(len(found), most))


def run(scale: int, seed: int, data: Data) -> Result:
    """How often the language of pasted code is found."""
    rows: list[dict[str, object]] = []
    sums = Counter(functions=0, first=0, among=0)
    for language in SUFFIXES:
        counts = Counter(functions=0, first=0, among=0)
        for text in functions_of(data["sources"], language, most=scale, seed=seed):
            names = languages_of_text(text)
            counts.update(functions=1, first=names[:1] == (language,), among=language in names)
        rows.append({"language": language, **counts})
        sums.update(counts)
    rows.append({"language": "all", **sums})
    share = wilson(sums["among"], sums["functions"])
    ends = f"{share.low:.3f} to {share.high:.3f}"
    return Result(rows, [f"Of all functions {share.value:.3f} are `among`, with the 95 % interval {ends}."])


EXPERIMENTS = (
    Experiment(
        name="provenance/pasted_language",
        run=run,
        scales={"smoke": 8, "full": 63},
        needs={"sources": "a folder of projects in Python, Java, Go, Rust, C, C++, JavaScript and TypeScript"},
    ),
)
