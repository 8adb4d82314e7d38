"""The copies of one task: new names at all places of the old ones, consistent over all cells of its row.

Code and tests are renamed as one program, so that the engine of variants sees every use. Prose and further code follow:
a function's name wherever it stands, another name where it stands like code.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse, islice
from operator import attrgetter, itemgetter

from assay.code import NO_IDENTIFIERS, Renamable, Variant, analysis, docstring_lines, prose_mentions, variants
from assay.datasets import CellAddress, SourceRow, TaskLayout, cells_of, with_cells
from assay.languages import LANGUAGES
from assay.release.families import evened, name_families, partly_changed, singular
from assay.release.naming import NameSources
from assay.release.secret_values import CutCell, TaskContent

_WORD = re.compile(r"[^\W\d]\w*")
_JSON_KEY = re.compile(r'"(\w+)": ')
_GLUE = "\n\n"
NO_NAMES = "no name can change: none has a synonym, or prose may mean them"


@dataclass(frozen=True, slots=True)
class CopyDraft:
    """One task before its copies are verified by tests.

    Attributes:
        names: that change, in the order of `words`.
        words: candidates of each name.
        copies: the candidates that each copy has.
        content: the cells with their names cut out.
        fitting: names that change wherever prose has them as a word.
    """

    names: tuple[Renamable, ...]
    words: tuple[tuple[str, ...], ...]
    copies: tuple[tuple[int, ...], ...]
    content: TaskContent
    fitting: frozenset[str]


@dataclass(frozen=True, slots=True)
class _CutRow:
    """The cells of a row, cut at its names; names that prose mentions, and those of which a mention is not clear."""

    content: TaskContent
    mentioned: frozenset[str]
    unclear: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Program:
    """The cells of code and tests, one behind the other.

    Attributes:
        text: of all.
        starts: where each cell begins.
        code: the part that is no test: from, to.
    """

    text: str
    starts: Mapping[CellAddress, int]
    code: tuple[int, int]

    @classmethod
    def of(cls, row: SourceRow, layout: TaskLayout, *, tests: bool) -> "_Program":
        text, starts = "", {}
        for cell, part in cells_of(row, layout.before if tests else ()):
            starts[cell] = len(text)
            text += f"{part}{_GLUE}"
        begin = len(text)
        for cell, part in cells_of(row, layout.code):
            starts[cell] = len(text)
            text += part
        end = len(text)
        text += layout.end
        for cell, part in cells_of(row, layout.tests if tests else ()):
            text += _GLUE
            starts[cell] = len(text)
            text += part
        return cls(text, starts, (begin, end))


def drafted(
    row: SourceRow,
    layout: TaskLayout,
    language: str,
    *,
    seed: int,
    most: int,
    least: int = 0,
    naming: NameSources | None = None,
    task: str = "",
) -> CopyDraft | str:
    """Return the copies of a task, or why there are none.

    Args:
        row: of the task.
        layout: its format.
        language: of its code.
        seed: of the names; the same seed gives the same copies.
        most: number of copies.
        least: where fewer can change all names, others change some of them.
        naming: where names come from; None for unrelated words.
        task: id of the task, for the author's lists.
    """
    if LANGUAGES[language].renaming is None:
        return f"no variants in {LANGUAGES[language].title}"
    naming = naming or NameSources(unrelated=True)
    readable = _readable(row, layout, language)
    if isinstance(readable, str):
        return readable
    program, keep = readable
    names = analysis(program.text, keep=keep, language=language).names
    in_signatures = frozenset(_names_in_signatures(program.text, names))
    fitting = naming.fitting(task, in_signatures)
    # a name stays where a word of the row may be a mention of it and may be plain English
    cut = _cut(row, layout=layout, program=program, names=names, fitting=fitting)
    keep |= cut.unclear | naming.fixed(task, cut.mentioned)
    text_words, alone = _words_of(row), naming.alone(task, names)
    keep |= _in_other_number(cut.mentioned - alone, text_words.difference(map(attrgetter("name"), names)))
    # a statement shows calls, and no parameters
    shown = {name.name for name in names if name.kind == "function"} if layout.statement else in_signatures
    public = cut.mentioned.union(shown)
    keep |= _in_other_columns(row, layout, names)
    groups = map(partial(_names_at, names), name_families(names, alone))
    # where one name of a family stays, the whole family stays
    keep = keep.union(*filterfalse(keep.isdisjoint, groups))
    naming.check(task, changing=set(map(attrgetter("name"), names)) - keep)
    drawn = variants(
        program.text,
        most,
        language=language,
        seed=seed,
        keep=keep,
        pool=naming.pool(task, public, cut.mentioned, words=text_words),
    )
    if not drawn.variants:
        return NO_NAMES if drawn.reason == NO_IDENTIFIERS else drawn.reason or NO_NAMES
    # once more, since `keep` has grown
    names = analysis(program.text, keep=keep, language=language).names
    old, families = tuple(map(attrgetter("name"), names)), name_families(names, alone)
    rows = [tuple(map(partial(_new_name, variant), names)) for variant in drawn.variants]
    drafts = dict.fromkeys(rows)
    if not naming.unrelated:
        candidates = list(map(dict.fromkeys, zip(*rows, strict=True)))
        drafts = dict.fromkeys(map(partial(evened, old, candidates=candidates, families=families), rows))
    # the original itself is never a copy
    drafts.pop(old, None)
    if len(drafts) < least:
        drafts |= dict.fromkeys(islice(partly_changed(old, list(drafts), families, seed=seed), most))
    # the candidates of a name are numbered in the order in which the copies bring them
    words: list[dict[str, int]] = [{} for _ in names]
    copies = [tuple(map(_number_in, words, draft)) for draft in islice(drafts, most)]
    return CopyDraft(
        names=names,
        words=tuple(map(tuple, words)),
        copies=tuple(copies),
        content=_cut(row, layout=layout, program=program, names=names, fitting=fitting).content,
        fitting=fitting,
    )


def _words_of(row: SourceRow) -> frozenset[str]:
    """Return the words of a row in lower case; an attribute behind a dot is none."""
    texts = map(itemgetter(1), cells_of(row, list(row)))
    return frozenset(map(str.lower, re.findall(r"(?<![\w.])[^\W\d]\w*", "\n".join(texts))))


def _in_other_number(mentioned: frozenset[str], words: frozenset[str]) -> frozenset[str]:
    """Return the names in prose whose singular or plural is a word there too: beside "each item" no `items` changes."""
    singulars = Counter(map(singular, words.union(mentioned)))
    return frozenset(name for name in mentioned if singulars[singular(name)] > 1)


def _number_in(numbered: dict[str, int], word: str) -> int:
    return numbered.setdefault(word, len(numbered))


def _names_at(names: Sequence[Renamable], places: Sequence[int]) -> frozenset[str]:
    return frozenset(map(attrgetter("name"), map(names.__getitem__, places)))


def _names_in_signatures(text: str, names: Sequence[Renamable]) -> Iterator[str]:
    """Yield the names of functions and their parameters: prose speaks of these, and never of a local variable."""
    spans = []
    for name in names:
        if name.kind == "function":
            yield name.name
            begin = name.places[0]
            spans.append(range(begin, _closing(text, begin)))
    for name in names:
        if name.kind != "function" and any(name.places[0] in span for span in spans):
            yield name.name


def _closing(text: str, begin: int) -> int:
    """Return where the first bracket behind a place is closed; the end of the text where it never is."""
    depth = 0
    for match in re.finditer(r"[()]", text[begin:]):
        depth += 1 if match[0] == "(" else -1
        if depth <= 0:
            return begin + match.start()
    return len(text)


def _in_other_columns(row: SourceRow, layout: TaskLayout, names: Sequence[Renamable]) -> frozenset[str]:
    """Return the names that stand in columns which a copy leaves as they are: there they would be the old ones."""
    changed = {*layout.before, *layout.code, *layout.tests, *layout.mentions, *layout.statement, *layout.prose}
    texts = map(itemgetter(1), cells_of(row, [column for column in row if column not in changed]))
    words = set(_WORD.findall("\n".join(texts)))
    for _, text in cells_of(row, layout.prose):
        # of a docstring as JSON, as BigCodeBench has it, only the values are prose
        words.update(_JSON_KEY.findall(text))
    return frozenset(words.intersection(map(attrgetter("name"), names)))


def _readable(row: SourceRow, layout: TaskLayout, language: str) -> tuple[_Program, frozenset[str]] | str:
    """Return the program of a task and the names in it that stay, or why its names cannot be changed."""
    program, keep = _Program.of(row, layout, tests=True), frozenset[str]()
    renamable = analysis(program.text, language=language)
    if renamable.refused:
        # tests of some languages do not parse behind the code: then every name that they use stays
        tests = " ".join(map(itemgetter(1), cells_of(row, layout.tests)))
        program, keep = _Program.of(row, layout, tests=False), frozenset(_WORD.findall(tests))
        renamable = analysis(program.text, keep=keep, language=language)
    if renamable.refused:
        return renamable.refused
    begin, end = program.code
    # names of the tests alone stay: harnesses call `check`, and a model is not asked about the tests
    in_code = range(begin, end)
    of_tests = [name.name for name in renamable.names if not any(map(in_code.__contains__, name.places))]
    return program, keep.union(of_tests)


def same_names(draft: CopyDraft, row: SourceRow, layout: TaskLayout, language: str) -> TaskContent | None:
    """Return another content of a task, cut at the same names; None where its names are others."""
    program = _Program.of(row, layout, tests=True)
    changing = set(map(attrgetter("name"), draft.names))
    keep = [name.name for name in analysis(program.text, language=language).names if name.name not in changing]
    names = {_key(name): name for name in analysis(program.text, keep=frozenset(keep), language=language).names}
    order = list(map(_key, draft.names))
    if names.keys() != set(order):
        return None
    ordered = list(map(names.__getitem__, order))
    return _cut(row, layout=layout, program=program, names=ordered, fitting=draft.fitting).content


def _key(name: Renamable) -> tuple[str, str]:
    # functions and variables are renamed apart, so a name may occur as both
    return name.name, name.kind


def _new_name(variant: Variant, name: Renamable) -> str:
    renamed = variant.functions if name.kind == "function" else variant.variables
    return renamed.get(name.name, name.name)


def _cut(
    row: SourceRow, layout: TaskLayout, program: _Program, names: Sequence[Renamable], fitting: frozenset[str]
) -> _CutRow:
    """Return the cells of a row, cut at all places of the names."""
    cells: list[CutCell] = []
    in_prose: set[int] = set()
    unclear: set[str] = set()
    mentioned = partial(prose_mentions, names=names, fitting=fitting)
    for cell, text in cells_of(row, (*layout.before, *layout.code, *layout.tests)):
        start = program.starts.get(cell)
        places: dict[int, int] = {}
        if start is not None:
            places = _places_in_code(start, len(text), names)
            for first, last in docstring_lines(program.text, start, len(text)):
                docstring = mentioned(text, first=first, last=last, places=places)
                places |= docstring.mentions
                in_prose.update(docstring.mentions.values())
                unclear |= docstring.unclear
        cells.append(_cut_cell(cell, text=text, places=places, names=names))
    for cell, text in cells_of(row, layout.mentions):
        places = {}
        for index, name in enumerate(names):
            places |= dict.fromkeys(map(re.Match.start, _whole(text, name.name)), index)
        cells.append(_cut_cell(cell, text=text, places=places, names=names))
    for cell, text in cells_of(row, (*layout.statement, *layout.prose)):
        prose = mentioned(text, first=0, last=len(text), places={})
        in_prose.update(prose.mentions.values())
        unclear |= prose.unclear
        cells.append(_cut_cell(cell, text=text, places=prose.mentions, names=names))
    in_words = frozenset(map(attrgetter("name"), map(names.__getitem__, in_prose)))
    return _CutRow(TaskContent(tuple(cells)), mentioned=in_words, unclear=frozenset(unclear))


def _places_in_code(start: int, length: int, names: Sequence[Renamable]) -> dict[int, int]:
    """Return place in a cell of code → the name that stands there.

    Args:
        start: where the cell begins in the program.
        length: of its text.
        names: that change.
    """
    places = {}
    for index, name in enumerate(names):
        for place in name.places:
            if start <= place < start + length:
                places[place - start] = index
    return places


def _cut_cell(cell: CellAddress, text: str, places: Mapping[int, int], names: Sequence[Renamable]) -> CutCell:
    pieces, order, end = [], [], 0
    for place, index in sorted(places.items()):
        # a mention inside of another one, as `f` in `f_x`, was cut out with it
        if place >= end:
            pieces.append(text[end:place])
            order.append(index)
            end = place + len(names[index].name)
    return CutCell(*cell, (*pieces, text[end:]), tuple(order))


def _whole(text: str, name: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def other_content(row: SourceRow, layout: TaskLayout, code: str) -> SourceRow:
    """Return the row with other code, which differs from the old in front of the last cell alone, or in it."""
    cells = list(cells_of(row, layout.code))
    ends = "".join(map(itemgetter(1), cells[1:]))
    if len(cells) > 1 and code.endswith(ends):
        return with_cells(row, {cells[0][0]: code.removesuffix(ends)})
    return with_cells(row, {cells[0][0]: code}) if len(cells) == 1 else dict(row)
