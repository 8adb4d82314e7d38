"""`assay serve` under load on loopback: answers a second, how long they take, errors, memory.

The index holds the functions of the standard library of the Python that runs this. Clients ask without pause, each its
next question when the last is answered: 60 lines at most of some function's middle, a tenth of them code that is in no
document. The clients share the machine's cores with the service. Memory is the resident set of the service's process,
before the load and at its end.
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
from pathlib import Path

import httpx
import psutil

from assay.provenance import CodeIndex
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import MEBIBYTE, percentiles

LINES = 60
UNKNOWN = 0.1


def indexed(folder: Path, part: str) -> tuple[int, list[str]]:
    """Documents of a new index of the standard library, and questions to ask of it."""
    corpus = Path(sysconfig.get_paths()["stdlib"]) / part
    command = [sys.executable, "-m", "assay", "index", "build", str(corpus), "--index", str(folder)]
    options = ["--granularity", "function", "--exclude", "site-packages/", "--exclude", "test/"]
    subprocess.run([*command, *options], check=True, capture_output=True)  # noqa: S603  our own program
    chance = random.Random(0)  # noqa: S311  a draw, no secret
    with CodeIndex.open(folder) as index:
        numbers = index.ids()
        chosen = index.documents(chance.sample(numbers, min(2000, len(numbers))))
        return len(numbers), [question(one.text, chance) for one in chosen]


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


async def load(
    address: str, questions: Sequence[str], clients: int, seconds: float
) -> tuple[list[float], collections.Counter[int]]:
    """Seconds of every good answer, and how often each status came."""
    taken: list[float] = []
    statuses: collections.Counter[int] = collections.Counter()
    end = time.perf_counter() + seconds

    async def ask(number: int) -> None:
        chance = random.Random(number)  # noqa: S311  a draw, no secret
        async with httpx.AsyncClient(timeout=60) as client:
            while (began := time.perf_counter()) < end:
                body = {"code": chance.choice(questions), "language": "python"}
                answer = await client.post(f"{address}api/trace", json=body)
                statuses[answer.status_code] += 1
                if answer.status_code == httpx.codes.OK:
                    taken.append(time.perf_counter() - began)

    await asyncio.gather(*map(ask, range(clients)))
    return taken, statuses


def run(scale: tuple[str, tuple[int, ...], float], seed: int, data: Data) -> Result:
    """`assay serve` under load on loopback: answers a second, how long they take, errors, memory."""
    part, numbers_of_clients, seconds = scale
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        documents, questions = indexed(index, part)
        with serving(index) as (address, process):
            for clients in numbers_of_clients:
                before = process.memory_info().rss
                taken, statuses = asyncio.run(load(address, questions, clients=clients, seconds=seconds))
                assert taken, f"no answer at all: {statuses}"
                row = {
                    "documents": documents,
                    "clients": clients,
                    "seconds": seconds,
                    "answers": len(taken),
                    "answers_per_second": len(taken) / seconds,
                    "errors": sum(count for status, count in statuses.items() if status != 200),
                    "memory_before_mib": before / MEBIBYTE,
                    "memory_after_mib": process.memory_info().rss / MEBIBYTE,
                }
                rows.append(row | {f"{name}_ms": value for name, value in percentiles(taken, factor=1e3).items()})
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="performance/service", run=run, scales={"smoke": ("json", (1, 8), 2.0), "full": ("", (1, 8, 32), 30.0)}
    ),
)
