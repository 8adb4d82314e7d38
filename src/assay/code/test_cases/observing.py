"""Answers of solutions to inputs, from two runs of the solutions in the sandbox.

The two runs take the inputs in opposite order and have different hash seeds. An answer on which both agree depends
neither on earlier calls nor on the order of a set, nor on time or chance.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

from assay.code.sandbox.execution import MIB, Limits, run_python
from assay.files import parse_json
from assay.python_parser import REFUSALS, python_literal

_BATCH = 16
_SECONDS_EACH = 0.25  # of processor time, an input
_SECONDS_ALL = 10  # of processor time, a solution
_SECONDS_WALL = 120  # a busy machine must not change the answers
_SLOW = 6  # inputs that take too long, after which a solution gets no more
_LONGEST = 2_000

RAISES = "the original fails on it"
SLOW = "the original takes too long"
NO_LITERAL = "its output is not a literal"
DIFFERS = "two runs gave different outputs"

# Python reads its hash seed when it starts (PYTHONHASHSEED), so the sandbox starts it once more
_LAUNCH = """
import os, sys
environment = {**os.environ, "PYTHONHASHSEED": sys.argv[1]}
os.execve(sys.executable, [sys.executable, "-s", "-S", "-B", "observe.py"], environment)
"""
# ITIMER_PROF counts processor time, so a busy machine ends nothing; the timer repeats, for code that catches the first
# exception; each solution has a process of its own, and the answers a descriptor that it does not know
_DRIVER = """
import ast, json, os, signal, sys

SECONDS_EACH, SECONDS_WALL, SLOW, LONGEST = @limits
EMPTY = os.open(os.devnull, os.O_RDWR)

class Slow(BaseException):
    pass

def slow(*_):
    raise Slow

def literal(value):
    written = repr(value)
    if len(written) > LONGEST:
        return ["no literal", ""]
    try:
        read = ast.literal_eval(written)
    except Exception:
        return ["no literal", ""]
    return ["value", written] if type(read) is type(value) and read == value else ["no literal", ""]

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
            answer = literal(eval(compile(expression, "call", "eval", dont_inherit=True), space))
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield answer
        except Slow:
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield ["slow", ""]
        except BaseException:
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield ["raises", ""]

def printed(code, inputs):
    for place, text in enumerate(inputs):
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
            written = file.read(LONGEST + 1)
        if ended:
            yield ["slow" if os.WIFSIGNALED(ended) else "raises", ""]
        else:
            yield ["value", written] if len(written) <= LONGEST else ["no literal", ""]

with open("questions.json") as file:
    questions = json.load(file)
for place, question in enumerate(questions):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        answers = os.dup(1)
        for stream in range(3):
            os.dup2(EMPTY, stream)
        signal.alarm(SECONDS_WALL)
        answers_of = printed if question["is_program"] else evaluated
        inputs = [question["inputs"][at] for at in question["order"]]
        slow_ones = 0
        try:
            for number, answer in zip(question["order"], answers_of(question["code"], inputs)):
                os.write(answers, (json.dumps([place, number, *answer]) + "\\n").encode())
                slow_ones += answer[0] == "slow"
                if slow_ones == SLOW:
                    break
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


@dataclass(frozen=True, slots=True)
class SolutionInputs:
    """A solution with its inputs: expressions, or standard inputs of a program."""

    code: str
    inputs: tuple[str, ...]
    is_program: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one input: a value (of a program: its standard output), or the reason why there is none."""

    value: object = None
    reason: str | None = None


def answers_to(questions: Sequence[SolutionInputs]) -> tuple[tuple[Outcome, ...], ...]:
    """Return the answers of each solution to its inputs, as far as two runs agree.

    Many solutions share a sandbox; each has a process of its own there. They are guarded against accidents, not against
    each other: a hostile program can write the answers of those after it.

    Raises:
        SandboxUnavailable: see `run_python`.
    """
    # one sandbox for many solutions, as its start costs more than most of them
    batches = (questions[start : start + _BATCH] for start in range(0, len(questions), _BATCH))
    return tuple(chain.from_iterable(map(_agreed, batches)))


def _agreed(questions: Sequence[SolutionInputs]) -> Iterator[tuple[Outcome, ...]]:
    # in the other order each input meets another state of the process: what depends on earlier calls then differs
    forward, backward = (_run(questions, backward=backward) for backward in (False, True))
    for place, question in enumerate(questions):
        yield tuple(
            _both(forward.get((place, at)), backward.get((place, at)), is_program=question.is_program)
            for at in range(len(question.inputs))
        )


def _both(first: tuple[str, str] | None, second: tuple[str, str] | None, *, is_program: bool) -> Outcome:
    if first is None or second is None:  # the whole process was ended
        return Outcome(reason=SLOW)
    # one slow run of two is slow, whatever the other one gave
    for kind, reason in (("slow", SLOW), ("raises", RAISES), ("no literal", NO_LITERAL)):
        if kind in (first[0], second[0]):
            return Outcome(reason=reason)
    value: object = first[1]
    other: object = second[1]
    if not is_program:
        try:
            value, other = python_literal(first[1]), python_literal(second[1])
        except REFUSALS:  # output of the sandbox is not trusted
            return Outcome(reason=NO_LITERAL)
    # 1, 1.0 and True are equal to Python, and different outputs to a reader
    return Outcome(value) if type(value) is type(other) and value == other else Outcome(reason=DIFFERS)


def _run(questions: Sequence[SolutionInputs], *, backward: bool) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the answers of one run: (solution, input) → kind of answer, and the answer."""
    content = [
        asdict(question) | {"order": list(range(len(question.inputs)))[:: -1 if backward else 1]}
        for question in questions
    ]
    driver = _DRIVER.replace("@limits", repr((_SECONDS_EACH, _SECONDS_WALL, _SLOW, _LONGEST)))
    execution = run_python(
        _LAUNCH,
        files={"observe.py": driver, "questions.json": json.dumps(content)},
        arguments=["2" if backward else "1"],
        limits=Limits(wall_seconds=_SECONDS_WALL * len(questions), cpu_seconds=_SECONDS_ALL, output=16 * MIB),
    )
    answers: dict[tuple[int, int], tuple[str, str]] = {}
    for line in execution.stdout.splitlines():
        try:
            place, number, kind, answer = parse_json(line)
            answers[int(place), int(number)] = (str(kind), str(answer))
        except (ValueError, TypeError, OverflowError):  # cut off, or written by a solution
            continue
    return answers
