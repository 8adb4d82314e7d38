"""How often does the licence gate accuse the innocent, and which copies does it find?

The index holds Python's standard library, files and functions, by fingerprints, all of it under a denied licence. The
innocent are the functions of packages that have nothing to do with it: every denial is an alarm, and the result lists
each for the reader to judge. `COPIES` names those that are copies all the same: code of the library that a package took
over, by its own comments or by its text. Functions of the library are then planted between own functions: verbatim,
renamed, edited, within a longer function, and paraphrased (other names, statements of the same meaning in another
form). A plant is found if a denial lies on its lines.
"""

import ast
import random
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from operator import itemgetter
from pathlib import Path

from assay.corpora import CorpusSettings, Document, Origin, SourceText, code_lines, pieces, source_texts
from assay.licences import read_rules
from assay.provenance import CodeIndex, Thresholds, TracedFile, TraceSettings, judge, trace_file
from assay.provenance.findings import Denial
from assay_lab.clones import edit_lines, rename_all
from assay_lab.columns import having
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.packages import PACKAGES, archives

RULES = read_rules(["copyleft"])
LICENCE = "GPL-3.0-only"
NOT_CORPUS = ("site-packages", "test", "tests", "idle_test", "lib2to3")
SETTINGS = TraceSettings(Thresholds(), candidates=1000)
# a line break leaves one space of its indentation, so that "; " separates there too
COPIES = frozenset(
    """absl_py _sorted_list_difference; absl_py file; boltons _args2cmd; boltons args2cmd; boltons copy_tree;
    boltons mbox_readonlydir.flush; boltons file; boltons _format_final_exc_line; boltons unquote_to_bytes;
    click TextWrapper._wrap_chunks; httpx remainder; isort File._open; isort file; jinja2 file; markdown file;
    requests proxy_bypass_registry; tornado file; urllib3 file; urllib3 create_connection; urllib3 match_hostname;
    urllib3 SSLTransport.makefile; jinja2 SandboxedFormatter.get_field; markdown code_escape; markdown escape_cdata;
    mutagen read_float; structlog _format_exception; tornado _parse_header; tornado Event.set;
    urllib3 WrappedSocket._decref_socketios; urllib3 SSLTransport.sendall; CherryPy _cherrypy_pydoc_resolve;
    CherryPy file; CherryPy _parse_param; CherryPy _parse_qs; babel NullTranslations.pgettext; babel get_close_matches;
    babel read_mo; mako file; mako inspect_getargspec; more_itertools always_iterable; more_itertools unique_everseen;
    peewee convert_timestamp; pygments commonprefix; absl_py warn; dnspython file; tornado Queue.task_done;
    trio run_repl; babel CommandMixin.__init__""".replace("\n   ", "").split("; ")
)
"""Package and part of the alarms that are copies of the library, read by a person."""
OWN = 12
"""Own functions around a plant."""
SEED = 20
DONOR = "count += 1\nlogger.debug('seen %s', name)\nif not name:\n    raise ValueError(name)\nresult.append(name)\n"
LINES = (8, 60)
"""Lines with code of a function that is planted."""


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Yield files and functions of Python's library."""
    filters = CorpusSettings(language=("python",), exclude=NOT_CORPUS)
    for file in source_texts(list(map(str, paths)), filters):
        origin = Origin("stdlib", file.path, licence=LICENCE)
        for piece in pieces(file.text, file.language).pieces:
            place = replace(origin, first_line=piece.first_line)
            yield Document(piece.text, language=file.language, kind=piece.kind, name=piece.name, origins=(place,))


def traced(file: SourceText, index: CodeIndex) -> TracedFile:
    """Trace a file as the command does with rules."""
    return trace_file(file, index, top=5, settings=SETTINGS, also=lambda _: True)


def innocent(archives: Sequence[Path], index: CodeIndex) -> dict[str, object]:
    """Return the false alarms among the functions of unrelated packages, a run for each package."""
    functions, alarms = 0, []
    for archive in archives:
        files = list(map(traced, source_texts([str(archive)], CorpusSettings(language=("python",))), repeat(index)))
        functions += sum(map(functions_in, files))
        judgement = judge(files, RULES)
        alarms += [alarm(archive.name.partition("-")[0], denial) for denial in judgement.denials]
    return {"kind": "innocent", "packages": len(archives), "functions": functions, **rates(alarms, functions)}


def functions_in(file: TracedFile) -> int:
    """Return the number of functions of a traced file."""
    return len(having(map(itemgetter(0), file.parts), kind="function"))


def rates(alarms: list[dict[str, object]], functions: int) -> dict[str, object]:
    """Return the alarms of a thousand functions: all of them, and those that are no copies."""
    false = [alarm for alarm in alarms if f"{alarm['package']} {alarm['part']}" not in COPIES]
    every, share = wilson(len(alarms), functions), wilson(len(false), functions)
    return {
        "alarms_per_1000": 1000 * every.value,
        "alarms_per_1000_interval": [1000 * every.low, 1000 * every.high],
        "false_alarms": len(false),
        "false_per_1000": 1000 * share.value,
        "false_per_1000_interval": [1000 * share.low, 1000 * share.high],
        "alarms": alarms,
    }


def alarm(package: str, denial: Denial) -> dict[str, object]:
    """Return the facts of a denial."""
    evidence = denial.evidence
    return {
        "package": package,
        "path": denial.finding.path,
        "part": evidence.part.name or evidence.part.kind,
        "source": f"{denial.place.origin.path} {denial.place.name or ''}".strip(),
        "by": evidence.match.channel,
        "matched": evidence.matched,
        "of": evidence.total,
        "run": evidence.run,
        "confidence": evidence.match.confidence,
    }


def planted(index: CodeIndex, count: int) -> list[str]:
    """Return functions of the library to plant."""
    draw = random.Random(SEED)  # noqa: S311  no secret
    # ids of documents begin at 1
    numbers = list(range(1, len(index) + 1))
    draw.shuffle(numbers)
    chosen: list[str] = []
    for number in numbers:
        (document,) = index.documents([number])
        if document.kind == "function" and LINES[0] <= len(code_lines(document.text, "python")) <= LINES[1]:
            chosen.append(document.text)
        if len(chosen) == count:
            break
    return chosen


def own_functions(archives: Sequence[Path]) -> list[str]:
    """Return functions of the innocent packages, to lie around the plants."""
    functions: list[str] = []
    for file in source_texts([str(archives[0])], CorpusSettings(language=("python",))):
        functions += [piece.text for piece in pieces(file.text, "python", "function").pieces if piece.name]
    return functions


def is_denied(files: Sequence[TracedFile], lines: range) -> bool:
    """Return True if a denial lies on these lines of the last file."""
    for denial in judge(files, RULES).denials:
        if denial.finding.path == files[-1].file.path:
            for place in denial.finding.lines:
                if place.first < lines.stop and lines.start <= place.last:
                    return True
    return False


def recall(kind: str, originals: Sequence[str], *, own: Sequence[str], index: CodeIndex) -> dict[str, object]:
    """Return the share of planted functions that are denied, each in a file of own functions."""
    found, tried = 0, 0
    for number, original in enumerate(originals):
        plant = KINDS[kind](original, number)
        if not plant:
            continue
        tried += 1
        around = random.Random(number).sample(own, min(OWN, len(own)))  # noqa: S311  no secret
        before, after = "\n\n".join(around[: OWN // 2]), "\n\n".join(around[OWN // 2 :])
        # two line ends of the empty line, and lines are counted from 1
        first = before.count("\n") + 3
        file = traced(SourceText("own.py", f"{before}\n\n{plant}\n\n{after}\n", "python"), index)
        found += is_denied([file], range(first, first + plant.count("\n")))
    share = wilson(found, tried)
    return {"kind": kind, "planted": tried, "found": found, "recall": share.value, "interval": [share.low, share.high]}


def within(text: str, number: int) -> str:
    """Return at most thirty lines of a function, twelve with code at least, inside another of about a hundred."""
    body = text.splitlines()[1:31]
    filler = [f"    value_{number}_{at} = compute_{at % 7}(state, {at * number % 97})" for at in range(70)]
    joined = "\n".join(["def own(state):", *filler[:35], *body, *filler[35:]]) + "\n"
    return joined if len(code_lines("\n".join(body), "python")) >= 12 and parses(joined) else ""


def paraphrased(text: str, number: int) -> str:
    """Return another form of the same statements under other names; "" where nothing but names could be changed."""
    tree = ast.parse(text)
    changer = Paraphrase()
    tree = ast.fix_missing_locations(changer.visit(tree))
    return rename_all(ast.unparse(tree) + "\n", "python", seed=number) if changer.changes else ""


def with_edits(text: str, number: int) -> str:
    """Return a function with a quarter of its lines added, removed or swapped that is still valid; "" if none is."""
    tries = (edit_lines(text, [DONOR], seed=1000 * number + attempt) for attempt in range(200))
    return next(filter(parses, tries), "")


class Paraphrase(ast.NodeTransformer):
    """Rewrites conditions, comparisons, augmented assignments, returns and conditional expressions."""

    def __init__(self) -> None:
        self.changes = 0

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if a: x else: y` becomes `if not a: y else: x`."""
        self.generic_visit(node)
        # an `elif` is an `if` alone in the else: it has no two sides to exchange
        if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            self.changes += 1
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a < b` becomes `b > a`."""
        self.generic_visit(node)
        mirrored = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
        kind = mirrored.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if kind is None:
            return node
        self.changes += 1
        return ast.Compare(node.comparators[0], [kind()], [node.left])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a += b` becomes `a = a + b`."""
        self.generic_visit(node)
        # a target that is no plain name would be read twice
        if not isinstance(node.target, ast.Name):
            return node
        self.changes += 1
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], value, lineno=node.lineno)

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        """`return f(x)` becomes `result = f(x)` and `return result`."""
        self.generic_visit(node)
        if not isinstance(node.value, ast.Call):
            return node
        self.changes += 1
        name = ast.Name("result", ast.Store())
        return [ast.Assign([name], node.value, lineno=node.lineno), ast.Return(ast.Name("result", ast.Load()))]


def parses(text: str) -> bool:
    """Return True if a text is valid Python."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


KINDS: dict[str, Callable[[str, int], str]] = {
    "verbatim": lambda text, _: text,
    "renamed": lambda text, number: rename_all(text, "python", seed=number),
    "edited": with_edits,
    "within a longer function": within,
    "paraphrased": paraphrased,
}


def run(scale: tuple[tuple[str, ...], int | None, int], seed: int, data: Data) -> Result:
    """How often does the licence gate accuse the innocent, and which copies does it find?"""
    parts, most, plants = scale
    with (
        archives(data) as packages,
        tempfile.TemporaryDirectory() as folder,
        CodeIndex.create(Path(folder) / "index", encoder=None) as index,
    ):
        root = Path(sysconfig.get_paths()["stdlib"])
        index.add(documents(list(map(root.joinpath, parts))))
        index.commit()
        unrelated = packages[:most]
        rows = [innocent(unrelated, index)]
        originals, own = planted(index, plants), own_functions(unrelated)
        rows += [recall(kind, originals, own=own, index=index) for kind in KINDS]
    return Result(rows)


_GATE = Experiment(
    name="provenance/licence_gate",
    run=run,
    scales={"smoke": (("email", "json"), 1, 5), "full": (("",), None, 60)},
    columns=("kind", "planted", "found", "recall", "functions", "alarms_per_1000", "false_per_1000"),
    needs={"packages": PACKAGES.format("gate_packages.txt")},
    smoke_does_without=True,
)
_OTHER = {"packages": PACKAGES.format("gate_packages_other.txt")}
EXPERIMENTS = (
    _GATE,
    replace(_GATE, name="provenance/licence_gate_other", needs=_OTHER, stored="provenance/licence_gate_other"),
)
