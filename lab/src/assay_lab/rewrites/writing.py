"""The folder of a data set: tables that `assay authorship` reads, every reply with its outcome, and the manifest."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError
from assay.files import check_target_folder, parse_json, write_json, write_text
from assay.types import Sample
from assay_lab.classifiers.labelled import HUMAN
from assay_lab.columns import attributes, label_column
from assay_lab.mappings import map_values
from assay_lab.rewrites.building import DATA_SETS, DataSetName, ReplyOutcome, RewriteSets
from assay_lab.rewrites.collecting import Collected
from assay_lab.rewrites.rules import RemovalRule

MANIFEST = "manifest.json"
STORE = "replies.sqlite"
REPLIES = "replies.jsonl"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SetCounts:
    """The number of samples of a data set, as Table 1 prints them.

    Attributes:
        authors: "human", then the generators.
        by_language: language → one number for each author.
    """

    authors: tuple[str, ...]
    by_language: Mapping[str, tuple[int, ...]]

    @property
    def total(self) -> tuple[int, ...]:
        """One number for each author, over all languages."""
        columns = zip(*self.by_language.values(), strict=True)
        return tuple(map(sum, columns)) if self.by_language else (0,) * len(self.authors)


def counts_of(sets: RewriteSets, name: DataSetName) -> SetCounts:
    """Return the numbers of a data set; a language without a text of a person has no row."""
    authors = (HUMAN, *sets.generators)
    languages = sorted(set(map(str, attributes(sets.binary, "language"))))
    counts = sets.counts(name)
    by_language = {}
    for language in languages:
        by_language[language] = tuple(counts[language, author] for author in authors)
    return SetCounts(authors, by_language)


def check_folder_of_set(folder: Path) -> None:
    """Check that a folder is new, empty, or one that a build wrote.

    Raises:
        DataError: it holds other files, or cannot be written.
    """
    check_target_folder(folder, (MANIFEST, STORE), "assay lab build-authorship")


def check_settings_of_set(folder: Path, settings: Mapping[str, object]) -> None:
    """Check that a folder holds no finished data set of other settings; further generators are none.

    Raises:
        DataError: it does; the line names the settings that differ.
    """
    try:
        before = parse_json((folder / MANIFEST).read_text("utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        # nothing finished here
        return
    # through JSON, where a tuple becomes the list that the file gives back
    expected = parse_json(json.dumps(settings))
    differing = sorted(name for name in expected if not isinstance(before, dict) or before.get(name) != expected[name])
    if differing:
        raise DataError(
            f"{folder} holds a data set with other settings ({', '.join(differing)}); expected the same settings, "
            "another folder, or --force to replace it (its replies are kept)"
        )


def write_sets(folder: Path, collected: Collected, sets: RewriteSets, facts: Mapping[str, object]) -> dict[str, object]:
    """Write the tables, the replies and, last, the manifest; return the manifest.

    Args:
        folder: of the data set; it may be there.
        collected: texts of people.
        sets: both data sets.
        facts: of the run: command, corpora, models, settings.

    Raises:
        DataError: a file cannot be written.
    """
    files: dict[str, str] = {}
    for name in DATA_SETS:
        for part, samples in sets.parts(name).items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            files[f"{name}/{part}.jsonl"] = _json_lines(map(_row, samples))
    files[REPLIES] = _json_lines(map(_outcome_row, sets.outcomes))
    for path, text in files.items():
        write_text(folder / path, text)
    digests = {path: hashlib.sha256(text.encode("utf-8")).hexdigest() for path, text in files.items()}
    manifest = {"schema": SCHEMA, **facts, **described_counts(collected, sets), "files": digests}
    # the manifest is the last file: a folder without one is not finished
    write_json(folder / MANIFEST, manifest)
    return manifest


def described_counts(collected: Collected, sets: RewriteSets) -> dict[str, object]:
    """Return the numbers of texts at each step, and what every rule removed, for JSON."""
    kept = Counter(map(str, label_column(sets.binary)))
    generators, parts, tables = {}, {}, {}
    for name in sets.generators:
        removed = _by_rule(sets.removed(name))
        generators[name] = {"replies": sets.replies(name), "removed": removed, "kept": kept[name]}
    for data_set in DATA_SETS:
        parts[data_set] = map_values(len, sets.parts(data_set))
        counts = counts_of(sets, data_set)
        languages = dict(counts.by_language)
        tables[data_set] = {"authors": counts.authors, "languages": languages, "total": counts.total}
    return {
        "skipped": dict(collected.skipped),
        HUMAN: {"read": collected.read, "removed": _by_rule(collected.removed), "kept": kept[HUMAN]},
        "generators": generators,
        "anonymised": dict(sets.anonymised),
        "split": sets.split,
        "parts": parts,
        "table_1": tables,
    }


def read_counts(folder: Path) -> dict[str, SetCounts]:
    """Return the numbers of both data sets of a folder.

    Raises:
        DataError: the folder holds no data set.
    """
    path = folder / MANIFEST
    try:
        table = parse_json(path.read_text("utf-8"))["table_1"]
        counts: dict[str, SetCounts] = {}
        for name in DATA_SETS:
            by_language = map_values(tuple, table[name]["languages"])
            counts[name] = SetCounts(tuple(table[name]["authors"]), by_language)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: expected the manifest of a folder of `assay lab build-authorship`") from error
    return counts


def _by_rule(removed: Mapping[RemovalRule, int]) -> dict[str, int]:
    """Return rule → number in the order in which rules apply; rules that removed nothing are left out."""
    return {rule.value: removed[rule] for rule in RemovalRule if removed.get(rule)}


def _row(sample: Sample) -> dict[str, object]:
    return {
        "id": sample.id,
        "text": sample.text,
        "language": sample.language,
        "label": sample.label,
        "group": sample.group,
        **sample.metadata,
    }


def _outcome_row(outcome: ReplyOutcome) -> dict[str, object]:
    return {
        "source": outcome.source,
        "generator": outcome.generator,
        "removed_by": outcome.rule,
        "detail": outcome.detail,
        "reply": outcome.reply,
    }


def _json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
