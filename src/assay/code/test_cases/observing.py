"""What solutions give for inputs: asked of the solutions themselves, in the sandbox, twice.

The two runs take the inputs in opposite order and have different hash seeds. What both agree on depends neither on what
was called before nor on the order of a set, nor on time or chance.
"""

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.code.sandbox.execution import MIB, Limits, run_python

_BATCH = 16
_SECONDS_EACH = 0.25  # of processor time, an input
_SECONDS_ALL = 10  # of processor time, a solution
_SECONDS_WALL = 120  # a busy machine must not change what is found
_SLOW = 6  # inputs that take too long, then a solution is asked no more
_LONGEST = 2_000

RAISES = "the original fails on it"
SLOW = "the original takes too long"
NO_LITERAL = "what it gives is no literal"
DIFFERS = "two runs gave different outputs"

_LAUNCH = """
import os, sys
environment = {**os.environ, "PYTHONHASHSEED": sys.argv[1]}
os.execve(sys.executable, [sys.executable, "-s", "-S", "-B", "observe.py"], environment)
"""
_DRIVER = """
import ast, json, os, signal, sys

SECONDS_EACH, SECONDS_WALL, SLOW, LONGEST = @limits
EMPTY = os.open(os.devnull, os.O_RDWR)

class Slow(BaseException):
    pass

def slow(*_):
    raise Slow

def literal(value):
    said = repr(value)
    if len(said) > LONGEST:
        return ["no literal", ""]
    try:
        read = ast.literal_eval(said)
    except Exception:
        return ["no literal", ""]
    return ["value", said] if type(read) is type(value) and read == value else ["no literal", ""]

def evaluated(code, expressions):
    space = {"__name__": "solution"}
    signal.signal(signal.SIGPROF, slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH, SECONDS_EACH / 2)
    try:
        exec(compile(code, "solution", "exec", dont_inherit=True), space)
    except BaseException as error:
        yield from ([["slow" if isinstance(error, Slow) else "raises", ""]] * len(expressions))
        return
    for expression in expressions:
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH, SECONDS_EACH / 2)
            found = literal(eval(compile(expression, "call", "eval", dont_inherit=True), space))
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield found
        except Slow:
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield ["slow", ""]
        except BaseException:
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield ["raises", ""]

def printed(code, given):
    for place, text in enumerate(given):
        with open("/tmp/input", "w") as file:
            file.write(text + "\\n")
        child = os.fork()
        if child == 0:
            os.dup2(os.open("/tmp/input", os.O_RDONLY), 0)
            os.dup2(os.open("/tmp/output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.dup2(EMPTY, 2)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
            try:
                exec(compile(code, "solution", "exec", dont_inherit=True), {"__name__": "__main__"})
                status = 0
            except SystemExit as ended:
                status = int(ended.code not in (None, 0))
            except BaseException:
                status = 1
            try:
                sys.stdout.flush()
            finally:
                os._exit(status)
        ended = os.waitpid(child, 0)[1]
        with open("/tmp/output", errors="replace") as file:
            said = file.read(LONGEST + 1)
        if ended:
            yield ["slow" if os.WIFSIGNALED(ended) else "raises", ""]
        else:
            yield ["value", said] if len(said) <= LONGEST else ["no literal", ""]

with open("asked.json") as file:
    asked = json.load(file)
for place, one in enumerate(asked):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        answers = os.dup(1)
        for stream in range(3):
            os.dup2(EMPTY, stream)
        signal.alarm(SECONDS_WALL)
        ask = printed if one["is_program"] else evaluated
        slow_ones = 0
        try:
            for number, found in zip(one["order"], ask(one["code"], [one["inputs"][at] for at in one["order"]])):
                os.write(answers, (json.dumps([place, number, *found]) + "\\n").encode())
                slow_ones += found[0] == "slow"
                if slow_ones == SLOW:
                    break
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A solution, and what it is asked: expressions, or standard inputs of a program."""

    code: str
    inputs: tuple[str, ...]
    is_program: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of one input: a value (of a program: what it printed), or the reason why there is none."""

    value: object = None
    reason: str | None = None


def observed(asked: Sequence[Asked]) -> tuple[tuple[Observed, ...], ...]:
    """What each solution gives for each of its inputs, where two runs agree.

    Many share a sandbox; each has a process of its own there. They are guarded against accidents, not against each
    other: a program that means to can write the answers of those after it.

    Raises:
        SandboxUnavailable: see `run_python`.
    """
    return tuple(found for start in range(0, len(asked), _BATCH) for found in _agreed(asked[start : start + _BATCH]))


def _agreed(asked: Sequence[Asked]) -> Iterator[tuple[Observed, ...]]:
    forward, backward = (_run(asked, backward=one) for one in (False, True))
    for place, one in enumerate(asked):
        yield tuple(
            _both(forward.get((place, at)), backward.get((place, at)), is_program=one.is_program)
            for at in range(len(one.inputs))
        )


def _both(one: tuple[str, str] | None, other: tuple[str, str] | None, *, is_program: bool) -> Observed:
    if one is None or other is None:  # the whole process was ended
        return Observed(reason=SLOW)
    for kind, reason in (("slow", SLOW), ("raises", RAISES), ("no literal", NO_LITERAL)):
        if kind in (one[0], other[0]):
            return Observed(reason=reason)
    if is_program:
        return Observed(one[1]) if one[1] == other[1] else Observed(reason=DIFFERS)
    try:
        values = [ast.literal_eval(said) for _, said in (one, other)]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the sandbox is not believed
        return Observed(reason=NO_LITERAL)
    alike = type(values[0]) is type(values[1]) and values[0] == values[1]
    return Observed(values[0]) if alike else Observed(reason=DIFFERS)


def _run(asked: Sequence[Asked], *, backward: bool) -> dict[tuple[int, int], tuple[str, str]]:
    """(solution, input) → what kind of answer, and the answer."""
    content = [
        {
            "code": one.code,
            "inputs": one.inputs,
            "is_program": one.is_program,
            "order": list(range(len(one.inputs)))[:: -1 if backward else 1],
        }
        for one in asked
    ]
    driver = _DRIVER.replace("@limits", repr((_SECONDS_EACH, _SECONDS_WALL, _SLOW, _LONGEST)))
    done = run_python(
        _LAUNCH,
        files={"observe.py": driver, "asked.json": json.dumps(content)},
        arguments=["2" if backward else "1"],
        limits=Limits(wall_seconds=_SECONDS_WALL * len(asked), cpu_seconds=_SECONDS_ALL, output=16 * MIB),
    )
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for line in done.stdout.splitlines():
        try:
            place, number, kind, said = json.loads(line)
            found[int(place), int(number)] = (str(kind), str(said))
        except (ValueError, TypeError):  # cut off, or written by a solution
            continue
    return found
