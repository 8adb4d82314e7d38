"""`assay serve` under load on loopback: answers a second, how long they take, errors, memory.

The index holds the functions of the standard library of the Python that runs this. Clients ask without pause, each its
next question when the last is answered: 60 lines at most of some function's middle, a tenth of them code that is in no
document. Large questions are whole functions, one behind the other, up to a size. A client that is turned away comes
back when `Retry-After` says. The clients share the machine's cores with the service, and one more asks for `/health`
all the while. Memory is the resident set of the service's process, before the load and at its end.
"""

import asyncio
import collections
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from assay.provenance import CodeIndex
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import MEBIBYTE, percentiles

LINES = 60
UNKNOWN = 0.1
BETWEEN_CHECKS = 0.2
"""Seconds between two questions for `/health`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What comes at once.

    Attributes:
        clients: that ask without pause.
        kilobytes: of one question; 0 is a part of one function.
        seconds: of the whole.
    """

    clients: int
    kilobytes: int = 0
    seconds: float


@dataclass(slots=True)
class Answers:
    """What came back.

    Attributes:
        taken: seconds of every good answer.
        statuses: how often each came.
        health: seconds of every answer of `/health`.
        seconds: until the last answer.
    """

    taken: list[float] = field(default_factory=list)
    statuses: collections.Counter[int] = field(default_factory=collections.Counter)
    health: list[float] = field(default_factory=list)
    seconds: float = 0.0


def indexed(folder: Path, part: str) -> tuple[int, list[str]]:
    """Documents of a new index of the standard library, and some of its functions."""
    corpus = Path(sysconfig.get_paths()["stdlib"]) / part
    command = [sys.executable, "-m", "assay", "index", "build", str(corpus), "--index", str(folder)]
    options = ["--granularity", "function", "--exclude", "site-packages/", "--exclude", "test/"]
    subprocess.run([*command, *options], check=True, capture_output=True)  # noqa: S603  our own program
    chance = random.Random(0)  # noqa: S311  a draw, no secret
    with CodeIndex.open(folder) as index:
        numbers = index.ids()
        chosen = index.documents(chance.sample(numbers, min(2000, len(numbers))))
        return len(numbers), [one.text for one in chosen]


def questions_of(functions: Sequence[str], kilobytes: int) -> list[str]:
    """Parts of functions, or whole ones joined up to a size."""
    chance = random.Random(0)  # noqa: S311  a draw, no secret
    if not kilobytes:
        return [question(text, chance) for text in functions]
    large, parts, size = [], [], 0
    for text in functions:
        parts.append(text)
        size += len(text)
        if size >= 1000 * kilobytes:
            large.append("\n\n".join(parts)[: 1000 * kilobytes])
            parts, size = [], 0
    return large


def question(text: str, chance: random.Random) -> str:
    """Some lines of a function; one in ten with every line turned round, so that it stands nowhere."""
    lines = text.splitlines()
    first = chance.randrange(max(1, len(lines) - LINES))
    part = lines[first : first + LINES]
    if chance.random() < UNKNOWN:
        # as long as a question with an answer, and in no document
        part = [line[::-1] for line in part]
    return "\n".join(part)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """`assay serve` in a process of its own."""
    command = [sys.executable, "-m", "assay", "serve", "--index", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own program
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with httpx.Client() as client:
                until_healthy(client, address)
            yield address, psutil.Process(process.pid)
        finally:
            process.terminate()


def until_healthy(client: httpx.Client, address: str) -> None:
    """Wait until the service answers."""
    for _ in range(600):
        try:
            if client.get(f"{address}health").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise TimeoutError(address)


async def answers_under(load: Load, address: str, questions: Sequence[str]) -> Answers:
    """Ask until the time of the load is over, and wait for what was asked."""
    answers = Answers()
    start = time.perf_counter()
    end = start + load.seconds

    async def ask(number: int) -> None:
        chance = random.Random(number)  # noqa: S311  a draw, no secret
        async with httpx.AsyncClient(timeout=120) as client:
            while (began := time.perf_counter()) < end:
                body = {"code": chance.choice(questions), "language": "python"}
                answer = await client.post(f"{address}api/trace", json=body)
                answers.statuses[answer.status_code] += 1
                if answer.status_code == httpx.codes.OK:
                    answers.taken.append(time.perf_counter() - began)
                elif answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                    await asyncio.sleep(float(answer.headers["Retry-After"]))

    async def check() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            while (began := time.perf_counter()) < end:
                (await client.get(f"{address}health")).raise_for_status()
                answers.health.append(time.perf_counter() - began)
                await asyncio.sleep(BETWEEN_CHECKS)

    await asyncio.gather(check(), *map(ask, range(load.clients)))
    # what is answered after the end was asked before it, so the time goes on
    answers.seconds = time.perf_counter() - start
    return answers


def row_of(load: Load, answers: Answers) -> dict[str, float]:
    """A row of the table, without documents and memory."""
    turned_away = answers.statuses[httpx.codes.SERVICE_UNAVAILABLE]
    good = len(answers.taken)
    return {
        "clients": load.clients,
        "kilobytes": load.kilobytes,
        "seconds": answers.seconds,
        "answers": good,
        "answers_per_second": good / answers.seconds,
        "turned_away": turned_away,
        "errors": answers.statuses.total() - good - turned_away,
        "health_longest_ms": 1e3 * max(answers.health),
    }


def run(scale: tuple[str, tuple[Load, ...]], seed: int, data: Data) -> Result:
    """`assay serve` under load on loopback: answers a second, how long they take, errors, memory."""
    part, loads = scale
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        documents, functions = indexed(index, part)
        with serving(index) as (address, process):
            for load in loads:
                before = process.memory_info().rss
                questions = questions_of(functions, load.kilobytes)
                answers = asyncio.run(answers_under(load, address, questions))
                assert answers.taken, f"no answer at all: {answers.statuses}"
                row = row_of(load, answers) | {
                    "documents": documents,
                    "memory_before_mib": before / MEBIBYTE,
                    "memory_after_mib": process.memory_info().rss / MEBIBYTE,
                }
                row |= {f"{name}_ms": value for name, value in percentiles(answers.taken, factor=1e3).items()}
                rows.append(row)
    return Result(rows)


SMOKE = (Load(clients=1, seconds=2.0), Load(clients=8, kilobytes=20, seconds=2.0))
FULL = (
    *(Load(clients=clients, seconds=30.0) for clients in (1, 8, 32)),
    *(Load(clients=clients, kilobytes=250, seconds=120.0) for clients in (2, 40)),
)
EXPERIMENTS = (Experiment(name="performance/service", run=run, scales={"smoke": ("json", SMOKE), "full": ("", FULL)}),)
